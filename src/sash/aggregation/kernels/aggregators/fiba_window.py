"""The finger B-tree that lives on between calls: insertions in any order of time, evictions of any size.

The arrays are those of `fiba`, which slides a window over a whole stream; `sums` has the two folds that its
loop keeps in registers, of the middle and of the right leaf. The tree is changed in place; the caller gives
it larger arrays before it needs them (`most_leaves`, `most_nodes`).
"""

from __future__ import annotations

from sash.aggregation.kernels.aggregators.fiba import appends, clear, drop, insert, settle, steps, value
from sash.aggregation.kernels.aggregators.fiba_edges import drop_left_leaf
from sash.aggregation.kernels.aggregators.fiba_tree import BOUNDARY, HEADS, LEAF, LEFT, TOP
from sash.aggregation.kernels.compiler.template_words import (
    Columns,
    Element,
    combine,
    identity,
    load,
    store,
)
from sash.arrays import Ints

MIDDLE, BACK, SUMS_SIZE = 0, 1, 2
EVER = 2**63 - 1


def fiba_clear(edges: Ints, times: Ints, sums: Columns) -> None:
    """Empty the tree."""
    clear(edges, times)
    store(sums, MIDDLE, identity())
    store(sums, BACK, identity())


def fiba_insert(
    columns: Columns, event_times: Ints, edges: Ints, times: Ints, leaves: Columns, children: Ints,
    firsts: Ints, folds: Columns, lefts: Columns, rights: Columns, suffixes: Columns, sums: Columns,
) -> None:  # fmt: skip
    """Insert all of `columns`, one after the other; equal times keep that order."""
    middle, back = load(sums, MIDDLE), load(sums, BACK)
    for i in range(len(columns[0])):
        t, newest = event_times[i], load(columns, i)
        if appends(edges, times, leaves, t, newest):
            back = combine(back, newest)
        else:
            middle, back, stale = insert(
                edges, times, leaves, children, firsts, folds, lefts, rights, t, newest, middle, back
            )
            if stale:
                middle, back = settle(edges, times, leaves, children, folds, lefts, rights, suffixes)
    store(sums, MIDDLE, middle)
    store(sums, BACK, back)


def fiba_evict(
    k: int, last: int, edges: Ints, times: Ints, leaves: Columns, children: Ints, firsts: Ints,
    folds: Columns, lefts: Columns, rights: Columns, suffixes: Columns, sums: Columns,
) -> int:  # fmt: skip
    """Evict the oldest with time ≤ `last`, at most k of them; at least one must stay. How many left.

    Leaves that leave whole are given back unread: k / 16 steps at most, and O(log n) combines.
    """
    if k == 1 and last == EVER:
        if not steps(edges, times):
            middle, stale = drop(
                edges, times, leaves, children, folds, lefts, rights, suffixes, load(sums, MIDDLE), False
            )
            store(sums, MIDDLE, middle)
            if stale:
                _resettle(edges, times, leaves, children, folds, lefts, rights, suffixes, sums)
        return 1
    gone, dropped = 0, False
    while gone < k:
        leaf, begin = edges[LEFT], edges[HEADS]
        count = times[leaf + LEAF]
        stop = min(count, begin + k - gone)
        slot = stop if times[leaf + stop - 1] <= last else begin
        while slot < stop and times[leaf + slot] <= last:
            slot += 1
        gone += slot - begin
        edges[HEADS] = slot
        if slot < count:
            break
        drop_left_leaf(edges, times, children)
        dropped = True
    if dropped or (edges[TOP] == 0 and edges[HEADS] > edges[BOUNDARY]):
        _resettle(edges, times, leaves, children, folds, lefts, rights, suffixes, sums)
    return gone


def _resettle(
    edges: Ints, times: Ints, leaves: Columns, children: Ints, folds: Columns, lefts: Columns,
    rights: Columns, suffixes: Columns, sums: Columns,
) -> None:  # fmt: skip
    middle, back = settle(edges, times, leaves, children, folds, lefts, rights, suffixes)
    store(sums, MIDDLE, middle)
    store(sums, BACK, back)


def fiba_query(edges: Ints, suffixes: Columns, sums: Columns) -> Element:
    """The fold of the window, in time order."""
    return value(edges, suffixes, load(sums, MIDDLE), load(sums, BACK))
