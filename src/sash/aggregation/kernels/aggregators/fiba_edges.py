"""What changes the finger B-tree: growing at the right edge, shrinking at the left, inserting in between.

See `fiba_tree` for the layout. Functions answer with the level up to which they changed the tree, so that
the caller knows which folds along the edges to compute again.
"""

from __future__ import annotations

from sash.aggregation.kernels.aggregators.fiba_tree import (
    FAN,
    FAN_SIZE,
    FILLED_FAN,
    HALF_FAN,
    HALF_LEAF,
    HEADS,
    LEAF,
    LEAF_SIZE,
    LEFT,
    PATH,
    RIGHT,
    SPARE_LEAF,
    SPARE_NODE,
    TOP,
    fold_between,
    give_back,
    move_children,
    move_elements,
    new_root,
    place_in_leaf,
    put_child,
    take,
)
from sash.aggregation.kernels.compiler.template_words import (
    Columns,
    Element,
    combine,
    commutes,
    identity,
    load,
    store,
)
from sash.arrays import Ints


def grow_right(
    edges: Ints, times: Ints, children: Ints, firsts: Ints, folds: Columns, t: int, total: Element
) -> int:
    """Append an empty leaf for times from t on; `total` is the fold of the leaf that was last so far."""
    old = edges[RIGHT]
    old_first = times[old + edges[HEADS]]
    new = take(edges, times, SPARE_LEAF, LEAF_SIZE)
    edges[RIGHT] = new
    level = 1
    while level <= edges[TOP]:
        node = edges[RIGHT + level]
        width = children[node + FAN]
        store(folds, node + width - 1, total)
        if width < FILLED_FAN:
            put_child(children, firsts, folds, node, width, new, t, identity())
            return level
        if level == edges[TOP]:
            # A root's fold is never needed, and cannot be had: its first child is on the edge.
            total, old_first = identity(), firsts[node + edges[HEADS + level]]
        else:
            total, old_first = fold_between(folds, node, node + width), firsts[node]
        old = node
        lonely = take(edges, children, SPARE_NODE, FAN_SIZE)
        put_child(children, firsts, folds, lonely, 0, new, t, identity())
        edges[RIGHT + level] = lonely
        new = lonely
        level += 1
    new_root(edges, children, firsts, folds, old, old_first, new, t)
    return level


def make_room_right(
    edges: Ints, times: Ints, leaves: Columns, children: Ints, firsts: Ints, folds: Columns
) -> None:
    """The right leaf is full: close the gap that evictions left in it, or else move its upper half out."""
    leaf = edges[RIGHT]
    if edges[TOP] == 0 and edges[HEADS] > 0:
        move_elements(times, leaves, leaf, edges[HEADS], leaf)
        edges[HEADS] = 0
    else:
        total = fold_between(leaves, leaf, leaf + HALF_LEAF)
        grow_right(edges, times, children, firsts, folds, times[leaf + HALF_LEAF], total)
        move_elements(times, leaves, leaf, HALF_LEAF, edges[RIGHT])


def drop_left_leaf(edges: Ints, times: Ints, children: Ints) -> int:
    """Remove the left leaf, whose elements are used up; the root loses its place when it has one child."""
    give_back(edges, times, SPARE_LEAF, LEAF_SIZE, edges[LEFT])
    level = 1
    edges[HEADS + 1] += 1
    while edges[HEADS + level] == children[edges[LEFT + level] + FAN]:
        give_back(edges, children, SPARE_NODE, FAN_SIZE, edges[LEFT + level])
        level += 1
        edges[HEADS + level] += 1
    for below in range(level - 1, -1, -1):
        edges[LEFT + below] = children[edges[LEFT + below + 1] + edges[HEADS + below + 1]]
        edges[HEADS + below] = 0
    top = edges[TOP]
    while top > 0 and edges[HEADS + top] + 1 == children[edges[LEFT + top] + FAN]:
        give_back(edges, children, SPARE_NODE, FAN_SIZE, edges[LEFT + top])
        top -= 1
        level = top
    edges[TOP] = top
    return level


def find_leaf(edges: Ints, children: Ints, firsts: Ints, t: int) -> int:
    """Climb the right edge until t is covered, then descend; the path is the slot taken at each level."""
    level = 1
    while level < edges[TOP]:
        above = edges[RIGHT + level + 1]
        if t >= firsts[above + children[above + FAN] - 1]:
            break
        level += 1
    node = edges[RIGHT + level]
    for at in range(level, 0, -1):
        begin = node + (edges[HEADS + at] if node == edges[LEFT + at] else 0)
        slot = node + children[node + FAN] - 1
        while slot > begin and firsts[slot] > t:
            slot -= 1
        firsts[slot] = min(firsts[slot], t)
        edges[PATH + at] = slot
        node = children[slot]
    return level


def add_child(
    edges: Ints, children: Ints, firsts: Ints, folds: Columns, new: int, t: int, total: Element
) -> int:
    """Insert a leaf right of the path, splitting full nodes upwards."""
    level = 1
    while True:
        node = edges[PATH + level] // FAN_SIZE * FAN_SIZE
        slot = edges[PATH + level] - node + 1
        if children[node + FAN] == FAN and node == edges[LEFT + level] and edges[HEADS + level] > 0:
            slot -= edges[HEADS + level]
            move_children(children, firsts, folds, node, edges[HEADS + level], node)
            edges[HEADS + level] = 0
        if children[node + FAN] < FAN:
            put_child(children, firsts, folds, node, slot, new, t, total)
            return level
        other = take(edges, children, SPARE_NODE, FAN_SIZE)
        move_children(children, firsts, folds, node, HALF_FAN, other)
        if slot > HALF_FAN:
            put_child(children, firsts, folds, other, slot - HALF_FAN, new, t, total)
        else:
            put_child(children, firsts, folds, node, slot, new, t, total)
        if node == edges[RIGHT + level]:
            edges[RIGHT + level] = other
        if level == edges[TOP]:
            new_root(edges, children, firsts, folds, node, firsts[node], other, firsts[other])
            return level + 1
        if node != edges[LEFT + level]:
            whole = fold_between(folds, node, node + children[node + FAN])
            store(folds, edges[PATH + level + 1], whole)
        if other == edges[RIGHT + level]:
            total = identity()
        else:
            total = fold_between(folds, other, other + children[other + FAN])
        new, t = other, firsts[other]
        level += 1


def insert_late(
    edges: Ints, times: Ints, leaves: Columns, children: Ints, firsts: Ints, folds: Columns, t: int,
    newest: Element,
) -> tuple[int, bool]:  # fmt: skip
    """Insert an event that is earlier than all of the right leaf; the bool: whether folds were refolded."""
    level = find_leaf(edges, children, firsts, t)
    leaf = children[edges[PATH + 1]]
    begin = edges[HEADS] if leaf == edges[LEFT] else 0
    if times[leaf + LEAF] == LEAF and begin > 0:
        move_elements(times, leaves, leaf, begin, leaf)
        edges[HEADS], begin = 0, 0
    refolded, highest = 1, level
    if times[leaf + LEAF] == LEAF:
        for above in range(level + 1, edges[TOP] + 1):
            node = edges[RIGHT + above]
            edges[PATH + above] = node + children[node + FAN] - 1
        other = take(edges, times, SPARE_LEAF, LEAF_SIZE)
        move_elements(times, leaves, leaf, HALF_LEAF, other)
        place_in_leaf(times, leaves, other if t >= times[other] else leaf, 0, t, newest)
        store(folds, edges[PATH + 1], fold_between(leaves, leaf, leaf + times[leaf + LEAF]))
        total = fold_between(leaves, other, other + times[other + LEAF])
        refolded = add_child(edges, children, firsts, folds, other, times[other], total)
        highest = max(level, refolded)
    elif commutes():
        # Folds that cover the event's place take it in as if it were their last: no neighbour is read.
        place_in_leaf(times, leaves, leaf, begin, t, newest)
        for at in range(1, level + 1):
            store(folds, edges[PATH + at], combine(load(folds, edges[PATH + at]), newest))
        return level, False
    else:
        place_in_leaf(times, leaves, leaf, begin, t, newest)
        store(folds, edges[PATH + 1], fold_between(leaves, leaf + begin, leaf + times[leaf + LEAF]))
    for at in range(refolded + 1, level + 1):
        node = children[edges[PATH + at]]
        if node != edges[LEFT + at - 1]:
            store(folds, edges[PATH + at], fold_between(folds, node, node + children[node + FAN]))
    return highest, True
