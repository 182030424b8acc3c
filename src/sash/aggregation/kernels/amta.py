"""Amortized MTA over a count window, as kernel templates: a forest of aligned blocks without pointers.

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
its terms, the pointer-free layout is ours.)
"""

from __future__ import annotations

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

MAX_BLOCKS = 128
"""Twice the bits of a position: no stack is deeper."""


def _append(nodes: Columns, mask: int, tails: Columns, i: int, newest: Element) -> None:
    """Insert position i: complete the blocks that end here, from small to large."""
    block = newest
    level = 0
    while (i >> level) & 1:
        store(nodes, ((i >> level) << level) & mask, block)
        block = combine(load(tails, level), block)
        level += 1
    store(tails, level, block)


def _expand(
    nodes: Columns,
    mask: int,
    folds: Columns,
    levels: npt.NDArray[np.int64],
    top: int,
    start: int,
    level: int,
    head: int,
) -> int:
    """Push the blocks of [head, end), for start < head < end = start + 2^level; answers the new top."""
    total = load(folds, top - 1) if top > 0 else identity()
    while start < head:
        level -= 1
        half = start + (1 << level)
        if half < head:
            start = half
        else:
            total = combine(load(nodes, half & mask), total)
            store(folds, top, total)
            levels[top] = level
            top += 1
            if half == head:
                start = half
    return top


def _turn(
    nodes: Columns,
    mask: int,
    tails: Columns,
    folds: Columns,
    levels: npt.NDArray[np.int64],
    head: int,
    end: int,
) -> int:
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
            return _expand(nodes, mask, folds, levels, top, start, level, head)
        total = combine(load(tails, level), total)
        store(folds, top, total)
        levels[top] = level
        top += 1
        right = start
    return top


def amta(columns: Columns, window: int, out: Columns) -> None:
    """out[i] = the fold of the last `window` elements up to i."""
    capacity = 1
    while capacity <= window + 1:
        capacity *= 2
    mask = capacity - 1
    nodes = scratch(capacity)
    tails = scratch(64)
    folds = scratch(MAX_BLOCKS)
    levels = np.empty(MAX_BLOCKS, np.int64)
    head, middle, top = 0, 0, 0
    front, back = identity(), identity()
    for i in range(len(out[0])):
        newest = load(columns, i)
        _append(nodes, mask, tails, i, newest)
        back = combine(back, newest)
        if i - head == window:
            head += 1
            if head > middle:
                top = _turn(nodes, mask, tails, folds, levels, head, i + 1)
                middle = i + 1
                front = load(folds, top - 1) if top > 0 else identity()
                back = identity()
            else:
                # `_expand` for a head that moves by one, which never turns right.
                top -= 1
                front = load(folds, top - 1) if top > 0 else identity()
                for level in range(levels[top] - 1, -1, -1):
                    front = combine(load(nodes, (head - 1 + (1 << level)) & mask), front)
                    store(folds, top, front)
                    levels[top] = level
                    top += 1
        store(out, i, combine(front, back))


def amta_fill(columns: Columns, nodes: Columns, tails: Columns) -> Element:
    """Insert all of `columns` into an empty forest (a ring of nodes, its capacity a power of two)."""
    mask = len(nodes[0]) - 1
    back = identity()
    for i in range(len(columns[0])):
        newest = load(columns, i)
        _append(nodes, mask, tails, i, newest)
        back = combine(back, newest)
    return back


def amta_bulk_evict(
    nodes: Columns,
    tails: Columns,
    folds: Columns,
    levels: npt.NDArray[np.int64],
    spans: npt.NDArray[np.int64],
    k: int,
) -> bool:
    """Evict the k oldest. `spans` is [head, middle, end, top]; True: the running fold starts again."""
    mask = len(nodes[0]) - 1
    start, head = spans[0], spans[0] + k
    spans[0] = head
    if head >= spans[1]:
        spans[3] = _turn(nodes, mask, tails, folds, levels, head, spans[2])
        spans[1] = spans[2]
        return True
    top = spans[3]
    # The topmost block begins at the old head; those below it follow to the right.
    while start + (1 << levels[top - 1]) <= head:
        start += 1 << levels[top - 1]
        top -= 1
    if start < head:
        top = _expand(nodes, mask, folds, levels, top - 1, start, levels[top - 1], head)
    spans[3] = top
    return False
