"""Finger B-tree over a count window of events that may come out of order, as a kernel template.

    value after event i  =  the fold, in time order, of the `window` latest of the events so far

Equal times keep their order of arrival. An event d places late costs O(log d), one in order O(1) amortised:
it goes to the right leaf, whose fold is kept running; the suffix folds of the left leaf make an eviction a
step to the right; and everything between the two leaves is one fold, which changes once a leaf. "Latest of
the events so far" forgets what was evicted: a late event older than the whole window leaves it at once.
"""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.aggregators.fiba_edges import (
    drop_left_leaf,
    grow_right,
    insert_late,
    make_room_right,
)
from sash.aggregation.kernels.aggregators.fiba_tree import (
    BOUNDARY,
    EARLIEST,
    EDGES_SIZE,
    FAN,
    FAN_SIZE,
    FILLED_LEAF,
    HALF_FAN,
    HALF_LEAF,
    HEADS,
    LATEST,
    LEAF,
    LEAF_SIZE,
    LEFT,
    MAX_LEVELS,
    NEXT_LEAF,
    RIGHT,
    SPARE_LEAF,
    SPARE_NODE,
    TOP,
    fold_between,
    place_in_leaf,
    refresh_left,
    refresh_right,
)
from sash.aggregation.kernels.aggregators.ring import suffix_folds
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


def settle(
    edges: Ints, times: Ints, leaves: Columns, children: Ints, folds: Columns, lefts: Columns,
    rights: Columns, suffixes: Columns,
) -> tuple[Element, Element]:  # fmt: skip
    """Compute all folds along the edges again: (between the leaves, of the right leaf)."""
    refresh_left(edges, children, folds, lefts, edges[TOP])
    refresh_right(edges, children, folds, rights, edges[TOP])
    leaf, last = edges[LEFT], edges[RIGHT]
    edges[BOUNDARY] = times[leaf + LEAF]
    suffix_folds(leaves, leaf + edges[HEADS], leaf + times[leaf + LEAF], identity(), suffixes, leaf)
    if edges[TOP] == 0:
        return identity(), identity()
    return combine(load(lefts, 1), load(rights, 1)), fold_between(leaves, last, last + times[last + LEAF])


def _right_leaf_takes(edges: Ints, children: Ints, firsts: Ints, t: int) -> bool:
    node = edges[RIGHT + 1]
    return bool(edges[TOP] == 0 or t >= firsts[node + children[node + FAN] - 1])


def appends(edges: Ints, times: Ints, leaves: Columns, t: int, newest: Element) -> bool:
    """Put an event in order into the right leaf, if that has room; the caller adds it to its fold."""
    if t < edges[LATEST] or times[edges[RIGHT] + LEAF] >= FILLED_LEAF:
        return False
    _append(edges, times, leaves, t, newest)
    return True


def _append(edges: Ints, times: Ints, leaves: Columns, t: int, newest: Element) -> None:
    leaf = edges[RIGHT]
    count = times[leaf + LEAF]
    times[leaf + count] = t
    store(leaves, leaf + count, newest)
    times[leaf + LEAF] = count + 1
    edges[LATEST] = t


def insert(
    edges: Ints, times: Ints, leaves: Columns, children: Ints, firsts: Ints, folds: Columns,
    lefts: Columns, rights: Columns, t: int, newest: Element, middle: Element, back: Element,
) -> tuple[Element, Element, bool]:  # fmt: skip
    """What `appends` refuses: the new folds of the middle and of the right leaf; True: all are stale."""
    stale = False
    in_order = t >= edges[LATEST]
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
    if in_order:
        # Closing a gap may leave the leaf filled beyond where growth in order stops; it still has room.
        _append(edges, times, leaves, t, newest)
        back = combine(back, newest)
    elif _right_leaf_takes(edges, children, firsts, t):
        leaf = edges[RIGHT]
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
    return middle, back, stale


def steps(edges: Ints, times: Ints) -> bool:
    """The oldest event leaves; False when its leaf, or the suffix folds of it, are used up by that."""
    edges[HEADS] += 1
    if edges[TOP] == 0:
        return bool(edges[HEADS] <= edges[BOUNDARY])
    return bool(edges[HEADS] < times[edges[LEFT] + LEAF])


def drop(
    edges: Ints, times: Ints, leaves: Columns, children: Ints, folds: Columns, lefts: Columns,
    rights: Columns, suffixes: Columns, middle: Element, stale: bool,
) -> tuple[Element, bool]:  # fmt: skip
    """What `steps` leaves to be done: the new fold of the middle; True: all folds are stale."""
    if edges[TOP] == 0:
        return middle, True
    level = drop_left_leaf(edges, times, children)
    if stale or level >= edges[TOP]:
        return middle, True
    leaf = edges[LEFT]
    edges[BOUNDARY] = times[leaf + LEAF]
    refresh_left(edges, children, folds, lefts, level)
    suffix_folds(leaves, leaf, leaf + edges[BOUNDARY], identity(), suffixes, leaf)
    return combine(load(lefts, 1), load(rights, 1)), False


def value(edges: Ints, suffixes: Columns, middle: Element, back: Element) -> Element:
    if edges[HEADS] < edges[BOUNDARY]:
        return combine(combine(load(suffixes, edges[HEADS]), middle), back)
    return back


def clear(edges: Ints, times: Ints) -> None:
    """The empty tree: its root is the leaf at 0."""
    for i in range(EDGES_SIZE):
        edges[i] = 0
    edges[SPARE_LEAF], edges[NEXT_LEAF], edges[SPARE_NODE] = -1, LEAF_SIZE, -1
    edges[LATEST] = EARLIEST
    times[LEAF] = 0


def most_leaves(window: int) -> int:
    """How many leaves so many events need at most: all but those on the edges are half full."""
    return window // HALF_LEAF + 8


def most_nodes(leaves: int) -> int:
    return leaves // (HALF_FAN - 1) + 2 * MAX_LEVELS


def fiba(columns: Columns, event_times: Ints, window: int, out: Columns) -> None:
    """out[i] = the fold of the window after event i came and, if it overflowed, its oldest event left."""
    # Memory that is never touched costs nothing.
    times = np.empty(most_leaves(window) * LEAF_SIZE, np.int64)
    children = np.empty(most_nodes(most_leaves(window)) * FAN_SIZE, np.int64)
    firsts = np.empty(len(children), np.int64)
    leaves, folds = scratch(len(times)), scratch(len(children))
    lefts, rights, suffixes = scratch(MAX_LEVELS), scratch(MAX_LEVELS), scratch(LEAF_SIZE)
    edges = np.empty(EDGES_SIZE, np.int64)
    clear(edges, times)
    middle, back = identity(), identity()
    for i in range(len(out[0])):
        t, newest = event_times[i], load(columns, i)
        stale = False
        if appends(edges, times, leaves, t, newest):
            back = combine(back, newest)
        else:
            middle, back, stale = insert(
                edges, times, leaves, children, firsts, folds, lefts, rights, t, newest, middle, back
            )
        if i >= window and not steps(edges, times):
            middle, stale = drop(
                edges, times, leaves, children, folds, lefts, rights, suffixes, middle, stale
            )
        if stale:
            middle, back = settle(edges, times, leaves, children, folds, lefts, rights, suffixes)
        store(out, i, value(edges, suffixes, middle, back))
