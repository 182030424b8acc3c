"""The monoid tree in arrays, as kernel templates: a forest of aligned blocks without pointers.

A block of level l is the fold of positions [j·2^l, (j + 1)·2^l). Two facts make an array enough:

- a block with odd j is known by its start alone (2^l is the lowest set bit of the start), so the odd blocks
  of n positions need n cells: `nodes[start]`;
- the even blocks that still matter lie on the right edge, one per set bit of the number of insertions
  (a binary counter): `tails[l]`.

The window is cut at `middle`, as in two stacks. What lies before it is covered by at most 2·log₂ n blocks,
kept on a stack with their folds up to `middle`; evicting into a block replaces it by its right halves. What
lies after it is one running fold. An insertion costs one combine amortised (the carries of the counter)
and one for the running fold, an eviction one amortised, a query one; a bulk eviction of any size costs
O(log n), because whole blocks are dropped unread. (Villalba, Berral, Carrera: Constant-Time Sliding Window
Framework with Reduced Memory Footprint and Efficient Bulk Evictions, TPDS 2019; tails, stack and forest are
its terms, the pointer-free layout is ours.) `log_mta` keeps neither stack nor running fold: each query puts
the fold together from the blocks that cover the window.

A forest that lives on (`…_insert`, `…_evict`, `…_query`) is two sets of columns and a header:

    ring     nodes[start & mask], then as many cells for the even blocks, by their end: lefts[end & mask]
    edge     tails · folds of the stack · the running fold
    header   head · end · middle · top of the stack · the levels of its blocks

The even blocks are what a descent to a slide policy's turning point reads on its way to the left; a loop
over a whole stream does without them.
"""

from __future__ import annotations

import numpy as np

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

MAX_BLOCKS = 128
"""Twice the bits of a position: no stack is deeper."""
MIDDLE, TOP, LEVELS = 2, 3, 4
HEADER_SIZE = LEVELS + MAX_BLOCKS
TAILS, FOLDS, BACK = 0, 64, 64 + MAX_BLOCKS
EDGE_SIZE = BACK + 1


def _append(nodes: Columns, mask: int, edge: Columns, i: int, newest: Element) -> Element:
    """Insert position i: complete the blocks that end here, from small to large; the last one is even."""
    block = newest
    level = 0
    while (i >> level) & 1:
        store(nodes, ((i >> level) << level) & mask, block)
        block = combine(load(edge, TAILS + level), block)
        level += 1
    store(edge, TAILS + level, block)
    return block


def _expand(
    nodes: Columns, mask: int, edge: Columns, header: Ints, top: int, start: int, level: int, head: int
) -> int:
    """Push the blocks of [head, end), for start < head < end = start + 2^level; answers the new top."""
    total = load(edge, FOLDS + top - 1) if top > 0 else identity()
    while start < head:
        level -= 1
        half = start + (1 << level)
        if half < head:
            start = half
        else:
            total = combine(load(nodes, half & mask), total)
            store(edge, FOLDS + top, total)
            header[LEVELS + top] = level
            top += 1
            if half == head:
                start = half
    return top


def _turn(nodes: Columns, mask: int, edge: Columns, header: Ints, head: int, end: int) -> int:
    """Cover [head, end) with blocks, from the right edge leftwards; answers the top of the stack."""
    top = 0
    total = identity()
    right = end
    level = 0
    while right > head:
        while not (right >> level) & 1:
            level += 1
        start = right - (1 << level)
        if start < head:
            return _expand(nodes, mask, edge, header, top, start, level, head)
        total = combine(load(edge, TAILS + level), total)
        store(edge, FOLDS + top, total)
        header[LEVELS + top] = level
        top += 1
        right = start
    return top


def _cover(nodes: Columns, mask: int, edge: Columns, head: int, end: int) -> Element:
    """The fold of [head, end), put together from the blocks that cover it, newest first."""
    total = identity()
    start = end
    level = 0
    while start > head:
        while not (start >> level) & 1:
            level += 1
        start -= 1 << level
        if start >= head:
            total = combine(load(edge, TAILS + level), total)
    # The last block began before the window: of it, the right halves that lie inside.
    while start < head:
        level -= 1
        half = start + (1 << level)
        if half < head:
            start = half
        else:
            total = combine(load(nodes, half & mask), total)
            if half == head:
                start = half
    return total


def amta(columns: Columns, window: int, out: Columns) -> None:
    """out[i] = the fold of the last `window` elements up to i."""
    capacity = capacity_for(window)
    mask = capacity - 1
    nodes = scratch(capacity)
    edge = scratch(EDGE_SIZE)
    header = np.empty(HEADER_SIZE, np.int64)
    head, middle, top = 0, 0, 0
    front, back = identity(), identity()
    for i in range(len(out[0])):
        newest = load(columns, i)
        _append(nodes, mask, edge, i, newest)
        back = combine(back, newest)
        if i - head == window:
            head += 1
            if head > middle:
                top = _turn(nodes, mask, edge, header, head, i + 1)
                middle = i + 1
                front = load(edge, FOLDS + top - 1) if top > 0 else identity()
                back = identity()
            else:
                # `_expand` for a head that moves by one, which never turns right.
                top -= 1
                front = load(edge, FOLDS + top - 1) if top > 0 else identity()
                for level in range(header[LEVELS + top] - 1, -1, -1):
                    front = combine(load(nodes, (head - 1 + (1 << level)) & mask), front)
                    store(edge, FOLDS + top, front)
                    header[LEVELS + top] = level
                    top += 1
        store(out, i, combine(front, back))


def log_mta(columns: Columns, window: int, out: Columns) -> None:
    """out[i] = the fold of the last `window` elements up to i."""
    capacity = capacity_for(window)
    mask = capacity - 1
    nodes = scratch(capacity)
    edge = scratch(EDGE_SIZE)
    for i in range(len(out[0])):
        _append(nodes, mask, edge, i, load(columns, i))
        store(out, i, _cover(nodes, mask, edge, max(0, i + 1 - window), i + 1))


def log_mta_insert(columns: Columns, ring: Columns, edge: Columns, header: Ints) -> None:
    """Insert all of `columns`; the ring has room for them."""
    mask = len(ring[0]) // 2 - 1
    end = header[END]
    for i in range(end, end + len(columns[0])):
        block = _append(ring, mask, edge, i, load(columns, i - end))
        store(ring, mask + 1 + ((i + 1) & mask), block)
    header[END] = end + len(columns[0])


def log_mta_evict(ring: Columns, edge: Columns, header: Ints, k: int) -> None:
    """Evict the k oldest."""
    header[HEAD] += k


def log_mta_query(ring: Columns, edge: Columns, header: Ints) -> Element:
    """The fold of the window."""
    return _cover(ring, len(ring[0]) // 2 - 1, edge, header[HEAD], header[END])


def amta_insert(columns: Columns, ring: Columns, edge: Columns, header: Ints) -> None:
    """Insert all of `columns`; the ring has room for them."""
    log_mta_insert(columns, ring, edge, header)
    back = load(edge, BACK)
    for i in range(len(columns[0])):
        back = combine(back, load(columns, i))
    store(edge, BACK, back)


def amta_evict(ring: Columns, edge: Columns, header: Ints, k: int) -> None:
    """Evict the k oldest: blocks that leave whole are dropped unread, the one that is cut is replaced."""
    mask = len(ring[0]) // 2 - 1
    start, head = header[HEAD], header[HEAD] + k
    header[HEAD] = head
    if head > header[MIDDLE]:
        header[TOP] = _turn(ring, mask, edge, header, head, header[END])
        header[MIDDLE] = header[END]
        store(edge, BACK, identity())
    elif head == header[MIDDLE]:
        # The front is just empty, and the running fold still stands.
        header[TOP] = 0
    else:
        top = header[TOP]
        # The topmost block begins at the old head; those below it follow to the right.
        while start + (1 << header[LEVELS + top - 1]) <= head:
            start += 1 << header[LEVELS + top - 1]
            top -= 1
        if start < head:
            top = _expand(ring, mask, edge, header, top - 1, start, header[LEVELS + top - 1], head)
        header[TOP] = top


def amta_query(ring: Columns, edge: Columns, header: Ints) -> Element:
    """The fold of the window."""
    top = header[TOP]
    if top == 0:
        return load(edge, BACK)
    return combine(load(edge, FOLDS + top - 1), load(edge, BACK))
