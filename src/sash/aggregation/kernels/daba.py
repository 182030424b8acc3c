"""DABA Lite over a count window, as a kernel template: a constant number of combines for every event.

The de-amortised bankers' aggregator (Tangwongsan, Hirzel, Schneider, VLDB J. 2021) does the flip of two
stacks in small steps ahead of time. One value is kept per element, at its place in a ring:

    F        L        R        A        B        E
    | done   | left   | right  | accum  | back   |        F ≤ L ≤ R ≤ A ≤ B ≤ E
    [F, L)   fold of v[i] … v[B − 1]                the front, ready for eviction
    [L, R)   fold of v[i] … v[R − 1]                the old front, still without what came after it
    [R, A)   v[i]                                   the old back, not yet folded
    [A, B)   fold of v[i] … v[B − 1]                the old back, folded from the right
    [B, E)   v[i]                                   the back

and two scalars: middle = v[R] ⊕ … ⊕ v[B − 1] and back = v[B] ⊕ … ⊕ v[E − 1]. Each insertion and each
eviction moves the borders by one step, so that the front is ready exactly when the old one is used up.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sash.aggregation.kernels.vocabulary import (
    Columns,
    Element,
    combine,
    identity,
    load,
    scratch,
    store,
)

Borders: TypeAlias = tuple[int, int, int, int, Element, Element]
"""L, R, A, B, middle, back."""


def _step(ring: Columns, mask: int, F: int, E: int, borders: Borders) -> Borders:
    """One step after an insertion or an eviction: at most two combines."""
    L, R, A, B, middle, back = borders
    if F == B:
        return E, E, E, E, identity(), identity()
    if L == B:
        L, R, A, B, middle, back = F, B, E, E, back, identity()
    if L == R:
        return L + 1, R + 1, A + 1, B, middle, back
    store(ring, L & mask, combine(load(ring, L & mask), middle))
    if A < B:
        store(ring, (A - 1) & mask, combine(load(ring, (A - 1) & mask), load(ring, A & mask)))
    return L + 1, R, A - 1, B, middle, back


def daba(columns: Columns, window: int, out: Columns) -> None:
    """out[i] = the fold of the last `window` elements up to i."""
    capacity = 1
    while capacity <= window + 1:
        capacity *= 2
    mask = capacity - 1
    ring = scratch(capacity)
    F = 0
    L, R, A, B, middle, back = 0, 0, 0, 0, identity(), identity()
    for i in range(len(out[0])):
        newest = load(columns, i)
        store(ring, i & mask, newest)
        L, R, A, B, middle, back = _step(ring, mask, F, i + 1, (L, R, A, B, middle, combine(back, newest)))
        if i - F == window:
            F += 1
            L, R, A, B, middle, back = _step(ring, mask, F, i + 1, (L, R, A, B, middle, back))
        if F < B:
            store(out, i, combine(load(ring, F & mask), back))
        else:
            store(out, i, back)


def daba_fill(columns: Columns, ring: Columns, scalars: Columns, borders: npt.NDArray[np.int64]) -> None:
    """Insert all of `columns` into an empty ring, whose capacity is a power of two and large enough."""
    mask = len(ring[0]) - 1
    n = len(columns[0])
    L, R, A, B, middle, back = 0, 0, 0, 0, identity(), identity()
    for i in range(n):
        newest = load(columns, i)
        store(ring, i & mask, newest)
        L, R, A, B, middle, back = _step(ring, mask, 0, i + 1, (L, R, A, B, middle, combine(back, newest)))
    borders[0], borders[1], borders[2], borders[3], borders[4], borders[5] = 0, L, R, A, B, n
    store(scalars, 0, middle)
    store(scalars, 1, back)


def daba_bulk_evict(ring: Columns, scalars: Columns, borders: npt.NDArray[np.int64], k: int) -> Element:
    """Evict the k oldest, one by one (DABA has no shorter way), and answer with the fold of the rest."""
    mask = len(ring[0]) - 1
    F, E = borders[0], borders[5]
    L, R, A, B = borders[1], borders[2], borders[3], borders[4]
    middle, back = load(scalars, 0), load(scalars, 1)
    for _ in range(k):
        F += 1
        L, R, A, B, middle, back = _step(ring, mask, F, E, (L, R, A, B, middle, back))
    borders[0], borders[1], borders[2], borders[3], borders[4] = F, L, R, A, B
    store(scalars, 0, middle)
    store(scalars, 1, back)
    return combine(load(ring, F & mask), back) if F < B else back
