"""Two stacks lite as kernel templates.

    value of event i  =  x[i − W + 1] ⊕ … ⊕ x[i]          (fewer at the start)

The window is cut at `boundary`. Before it every position has its suffix fold up to the boundary, so that
an eviction is a step to the right; after it one running fold takes the insertions. When the front is used
up, the suffix folds of the whole window are computed at once: 3 combines per event amortised, O(W) worst.
(A queue made of two stacks is folklore; its lite form is in Tangwongsan, Hirzel, Schneider, VLDB J. 2021.)

A loop over a whole stream reads the elements behind the boundary where they are. A queue that lives on
keeps them in the same ring as the suffix folds, the running fold in `edge`, and head, end and boundary in
its header.
"""

from __future__ import annotations

from sash.aggregation.kernels.aggregators.ring import END, HEAD, append, suffix_folds
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

BOUNDARY = 2
EDGE_SIZE, HEADER_SIZE = 1, 3


def two_stacks(columns: Columns, window: int, out: Columns) -> None:
    """out[i] = the fold of the last `window` elements up to i."""
    suffixes = scratch(window)
    back = identity()
    head = 0
    boundary = 0
    # Positions are kept relative to the last flip: a small window then stays inside the cache.
    base = 0
    for i in range(len(out[0])):
        back = combine(back, load(columns, i))
        if i - head == window:
            if head == boundary:
                base = head + 1
                suffix_folds(columns, base, i + 1, identity(), suffixes, base)
                boundary = i + 1
                back = identity()
            head += 1
        if head < boundary:
            store(out, i, combine(load(suffixes, head - base), back))
        else:
            store(out, i, back)


def two_stacks_insert(columns: Columns, ring: Columns, edge: Columns, header: Ints) -> None:
    """Insert all of `columns`; the ring has room for them."""
    append(columns, ring, edge, header)


def two_stacks_evict(ring: Columns, edge: Columns, header: Ints, k: int) -> None:
    """Evict the k oldest."""
    head = header[HEAD] + k
    header[HEAD] = head
    # With head = boundary the front is just empty and the running fold still stands: the flip can wait, and
    # is then smaller by what has been evicted.
    if head > header[BOUNDARY]:
        size, mask = header[END] - head, len(ring[0]) - 1
        first, total = head & mask, identity()
        # A ring that wraps around is two stretches, the newer one first.
        total = suffix_folds(ring, 0, first + size - mask - 1, total, ring, 0)
        suffix_folds(ring, first, min(first + size, mask + 1), total, ring, 0)
        header[BOUNDARY] = header[END]
        store(edge, 0, identity())


def two_stacks_query(ring: Columns, edge: Columns, header: Ints) -> Element:
    """The fold of the window."""
    head = header[HEAD]
    if head < header[BOUNDARY]:
        return combine(load(ring, head & (len(ring[0]) - 1)), load(edge, 0))
    return load(edge, 0)
