"""DABA Lite as kernel templates: a constant number of combines for every event.

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
A ring that lives on has these two in `edge`, and F, E, L, R, A, B in its header.
"""

from __future__ import annotations

from typing import TypeAlias

from sash.aggregation.kernels.aggregators.ring import END, HEAD, capacity_for
from sash.aggregation.kernels.compiler.template_words import (
    Columns,
    Element,
    combine,
    identity,
    load,
    scratch,
    store,
)
from sash.arrays import Ints

Borders: TypeAlias = tuple[int, int, int, int, Element, Element]
"""L, R, A, B, middle, back."""
EDGE_SIZE, HEADER_SIZE = 2, 6


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
    capacity = capacity_for(window)
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


def daba_insert(columns: Columns, ring: Columns, edge: Columns, header: Ints) -> None:
    """Insert all of `columns`; the ring has room for them."""
    mask = len(ring[0]) - 1
    F, E = header[HEAD], header[END]
    L, R, A, B = header[2], header[3], header[4], header[5]
    middle, back = load(edge, 0), load(edge, 1)
    for i in range(len(columns[0])):
        newest = load(columns, i)
        store(ring, E & mask, newest)
        E += 1
        L, R, A, B, middle, back = _step(ring, mask, F, E, (L, R, A, B, middle, combine(back, newest)))
    _save(edge, header, F, E, (L, R, A, B, middle, back))


def daba_evict(ring: Columns, edge: Columns, header: Ints, k: int) -> None:
    """Evict the k oldest, one by one: DABA has no shorter way, unless all leave."""
    mask = len(ring[0]) - 1
    F, E = header[HEAD], header[END]
    L, R, A, B = header[2], header[3], header[4], header[5]
    middle, back = load(edge, 0), load(edge, 1)
    if F + k == E:
        F = E
        L, R, A, B, middle, back = E, E, E, E, identity(), identity()
    else:
        for _ in range(k):
            F += 1
            L, R, A, B, middle, back = _step(ring, mask, F, E, (L, R, A, B, middle, back))
    _save(edge, header, F, E, (L, R, A, B, middle, back))


def daba_query(ring: Columns, edge: Columns, header: Ints) -> Element:
    """The fold of the window."""
    F = header[HEAD]
    if header[5] > F:
        return combine(load(ring, F & (len(ring[0]) - 1)), load(edge, 1))
    return load(edge, 1)


def _save(edge: Columns, header: Ints, F: int, E: int, borders: Borders) -> None:
    L, R, A, B, middle, back = borders
    header[HEAD], header[END] = F, E
    header[2], header[3], header[4], header[5] = L, R, A, B
    store(edge, 0, middle)
    store(edge, 1, back)
