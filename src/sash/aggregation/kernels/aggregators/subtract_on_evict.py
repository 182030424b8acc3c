"""Subtract on evict as kernel templates: total ← inverse(total ⊕ new, oldest).

Two combines per event, for monoids that declare an inverse. Floating-point sums must not come here (the
error of each subtraction stays in the total for ever); the wrapper's caller decides that, the algebra only
states that an inverse exists. A loop over a whole stream needs no memory beyond its input. A queue that
lives on keeps its elements in a ring, the total in `edge`, and head and end in its header.
"""

from __future__ import annotations

from sash.aggregation.kernels.aggregators.ring import END, HEAD, append
from sash.aggregation.kernels.compiler.template_words import (
    Columns,
    Element,
    combine,
    identity,
    inverse,
    load,
    store,
)
from sash.arrays import Ints

EDGE_SIZE, HEADER_SIZE = 1, 2


def subtract_on_evict(columns: Columns, window: int, out: Columns) -> None:
    """out[i] = the fold of the last `window` elements up to i."""
    total = identity()
    for i in range(len(out[0])):
        total = combine(total, load(columns, i))
        if i >= window:
            total = inverse(total, load(columns, i - window))
        store(out, i, total)


def subtract_on_evict_insert(columns: Columns, ring: Columns, edge: Columns, header: Ints) -> None:
    """Insert all of `columns`; the ring has room for them."""
    append(columns, ring, edge, header)


def subtract_on_evict_evict(ring: Columns, edge: Columns, header: Ints, k: int) -> None:
    """Evict the k oldest. An empty window starts from the identity again."""
    mask = len(ring[0]) - 1
    head = header[HEAD] + k
    total = identity()
    if head < header[END]:
        total = load(edge, 0)
        for i in range(header[HEAD], head):
            total = inverse(total, load(ring, i & mask))
    store(edge, 0, total)
    header[HEAD] = head


def subtract_on_evict_query(ring: Columns, edge: Columns, header: Ints) -> Element:
    """The fold of the window."""
    return load(edge, 0)
