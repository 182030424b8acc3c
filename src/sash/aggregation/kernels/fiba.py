"""Finger B-tree over a count window of events that may come out of order, as a kernel template.

    value after event i  =  the fold, in time order, of the `window` latest of the events so far

Equal times keep their order of arrival. An event d places late costs O(log d), one in order O(1) amortised:
it goes to the right leaf, whose fold is kept running; the suffix folds of the left leaf make an eviction a
step to the right; and everything between the two leaves is one fold, which changes once a leaf. "Latest of
the events so far" forgets what was evicted: a late event older than the whole window leaves it at once.
"""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.fiba_edges import drop_left_leaf, grow_right, insert_late, make_room_right
from sash.aggregation.kernels.fiba_tree import (
    EDGES_SIZE,
    FAN,
    FAN_SIZE,
    FILLED_LEAF,
    HALF_FAN,
    HALF_LEAF,
    HEADS,
    LEAF,
    LEAF_SIZE,
    LEFT,
    MAX_LEVELS,
    NEXT_LEAF,
    RIGHT,
    SPARE_LEAF,
    SPARE_NODE,
    TOP,
    Ints,
    fold_between,
    place_in_leaf,
    refresh_left,
    refresh_right,
)
from sash.aggregation.kernels.vocabulary import Columns, Element, combine, identity, load, scratch, store


def _suffixes(leaves: Columns, suffixes: Columns, leaf: int, begin: int, end: int) -> None:
    """suffixes[slot] = the fold of the leaf's slots from there on."""
    total = identity()
    for slot in range(end - 1, begin - 1, -1):
        total = combine(load(leaves, leaf + slot), total)
        store(suffixes, slot, total)


def _settle(
    edges: Ints,
    times: Ints,
    leaves: Columns,
    children: Ints,
    folds: Columns,
    lefts: Columns,
    rights: Columns,
    suffixes: Columns,
) -> tuple[Element, Element]:
    """Compute all folds along the edges again: (between the leaves, of the right leaf)."""
    refresh_left(edges, children, folds, lefts, edges[TOP])
    refresh_right(edges, children, folds, rights, edges[TOP])
    leaf, last = edges[LEFT], edges[RIGHT]
    _suffixes(leaves, suffixes, leaf, edges[HEADS], times[leaf + LEAF])
    if edges[TOP] == 0:
        return identity(), identity()
    return combine(load(lefts, 1), load(rights, 1)), fold_between(leaves, last, last + times[last + LEAF])


def _right_leaf_takes(edges: Ints, children: Ints, firsts: Ints, t: int) -> bool:
    node = edges[RIGHT + 1]
    return bool(edges[TOP] == 0 or t >= firsts[node + children[node + FAN] - 1])


def fiba(columns: Columns, event_times: Ints, window: int, out: Columns) -> None:
    """out[i] = the fold of the window after event i came and, if it overflowed, its oldest event left."""
    # Every leaf but those on the edges is half full; memory that is never touched costs nothing.
    most_leaves = window // HALF_LEAF + 8
    most_nodes = most_leaves // (HALF_FAN - 1) + 2 * MAX_LEVELS
    times = np.zeros(most_leaves * LEAF_SIZE, np.int64)
    children = np.empty(most_nodes * FAN_SIZE, np.int64)
    firsts = np.empty(most_nodes * FAN_SIZE, np.int64)
    leaves, folds = scratch(len(times)), scratch(len(children))
    lefts, rights, suffixes = scratch(MAX_LEVELS), scratch(MAX_LEVELS), scratch(LEAF_SIZE)
    edges = np.zeros(EDGES_SIZE, np.int64)
    # The leaf at 0 is the root of the empty tree.
    edges[SPARE_LEAF], edges[NEXT_LEAF], edges[SPARE_NODE] = -1, LEAF_SIZE, -1
    middle, back = identity(), identity()
    boundary = 0
    latest = event_times[0] if len(event_times) > 0 else 0
    for i in range(len(out[0])):
        t = event_times[i]
        newest = load(columns, i)
        stale = False
        in_order = t >= latest
        leaf = edges[RIGHT]
        room = (FILLED_LEAF if in_order else LEAF) - times[leaf + LEAF]
        if room <= 0 and (in_order or _right_leaf_takes(edges, children, firsts, t)):
            if not in_order or edges[TOP] == 0:
                make_room_right(edges, times, leaves, children, firsts, folds)
                stale = True
            elif grow_right(edges, times, children, firsts, folds, t, back) == 1:
                store(rights, 1, combine(load(rights, 1), back))
                middle = combine(middle, back)
                back = identity()
            else:
                stale = True
            leaf = edges[RIGHT]
        if in_order:
            count = times[leaf + LEAF]
            times[leaf + count] = t
            store(leaves, leaf + count, newest)
            times[leaf + LEAF] = count + 1
            back = combine(back, newest)
            latest = t
        elif _right_leaf_takes(edges, children, firsts, t):
            place_in_leaf(times, leaves, leaf, edges[HEADS] if edges[TOP] == 0 else 0, t, newest)
            if edges[TOP] == 0:
                stale = True
            else:
                back = fold_between(leaves, leaf, leaf + times[leaf + LEAF])
        else:
            level, refolded = insert_late(edges, times, leaves, children, firsts, folds, t, newest)
            if level >= edges[TOP]:
                stale = True
            elif not refolded and not stale:
                for at in range(1, level + 1):
                    store(rights, at, combine(load(rights, at), newest))
                middle = combine(middle, newest)
            elif not stale:
                refresh_right(edges, children, folds, rights, level)
                middle = combine(load(lefts, 1), load(rights, 1))
        if i >= window:
            edges[HEADS] += 1
            leaf = edges[LEFT]
            if edges[TOP] == 0:
                stale = stale or edges[HEADS] > boundary
            elif edges[HEADS] == times[leaf + LEAF]:
                level = drop_left_leaf(edges, times, children)
                if level >= edges[TOP]:
                    stale = True
                elif not stale:
                    leaf = edges[LEFT]
                    boundary = times[leaf + LEAF]
                    refresh_left(edges, children, folds, lefts, level)
                    middle = combine(load(lefts, 1), load(rights, 1))
                    _suffixes(leaves, suffixes, leaf, 0, boundary)
        if stale:
            middle, back = _settle(edges, times, leaves, children, folds, lefts, rights, suffixes)
            boundary = times[edges[LEFT] + LEAF]
        if edges[HEADS] < boundary:
            store(out, i, combine(combine(load(suffixes, edges[HEADS]), middle), back))
        else:
            store(out, i, back)
