"""The tree of the finger B-tree kernel: nodes are stretches of flat arrays, two fingers, folds by place.

A leaf is a position p: its times are times[p], …, its elements lie at the same positions of `leaves`, and
times[p + LEAF] counts them. An inner node is a position q: children[q], … are its children, firsts[q], …
the earliest time each may hold, `folds` (off the edges) the fold of each, children[q + FAN] their number.
The left and the right edge of the tree, from root to leaf, are the fingers: edges[LEFT + level] and
edges[RIGHT + level], level 0 being the leaf; edges[HEADS + level] is the first slot in use on the left.

    value      =  left leaf ⊕ lefts[1] ⊕ rights[1] ⊕ right leaf
    lefts[l]   =  left[l] without its first child ⊕ lefts[l + 1]               (nothing from the root on)
    rights[l]  =  rights[l + 1] ⊕ right[l] without its last child             (the root: its inner children)

So a change at distance d from an end of the window touches O(log d) nodes and as many of these partial
folds. (Tangwongsan, Hirzel, Schneider: Optimal and General Out-of-Order Sliding-Window Aggregation, VLDB
2019.) Nodes are wider than the paper's because folding 16 neighbours in an array is cheaper than one more
level. Nodes on the edges may be short: only there do children come and go one by one, so every node in
between is at least half full, and height and memory stay within the bounds of a B-tree without merges.
"""

from __future__ import annotations

from sash.aggregation.kernels.compiler.template_words import (
    Columns,
    Element,
    combine,
    identity,
    load,
    store,
)
from sash.arrays import Ints

LEAF = 31
LEAF_SIZE = 32
FAN = 15
FAN_SIZE = 16
HALF_LEAF, HALF_FAN = 16, 8
FILLED_LEAF, FILLED_FAN = 24, 12
"""In-order growth stops here: the rest is for late events, or the first of them would split every leaf."""
MAX_LEVELS = 24
LEFT, RIGHT, HEADS, PATH, TOP = 0, 24, 48, 72, 96
SPARE_LEAF, NEXT_LEAF, SPARE_NODE, NEXT_NODE = 97, 98, 99, 100
LATEST, BOUNDARY = 101, 102
"""The newest time, and where the suffix folds of the left leaf end."""
EDGES_SIZE = 103
EARLIEST = -(2**63)


def take(edges: Ints, cells: Ints, spare: int, size: int) -> int:
    """An empty leaf or node: one that was given back (they are chained by their count), or a new one."""
    taken = edges[spare]
    if taken >= 0:
        edges[spare] = cells[taken + size - 1]
    else:
        taken = edges[spare + 1]
        edges[spare + 1] = taken + size
    cells[taken + size - 1] = 0
    return taken  # type: ignore[no-any-return]


def give_back(edges: Ints, cells: Ints, spare: int, size: int, unused: int) -> None:
    cells[unused + size - 1] = edges[spare]
    edges[spare] = unused


def fold_between(columns: Columns, lo: int, hi: int) -> Element:
    total = identity()
    for i in range(lo, hi):
        total = combine(total, load(columns, i))
    return total


def refresh_right(edges: Ints, children: Ints, folds: Columns, rights: Columns, level: int) -> None:
    """Compute rights[level] … rights[1] again."""
    top = edges[TOP]
    for at in range(level, 0, -1):
        node = edges[RIGHT + at]
        begin = edges[HEADS + at] + 1 if at == top else 0
        inside = fold_between(folds, node + begin, node + children[node + FAN] - 1)
        store(rights, at, inside if at == top else combine(load(rights, at + 1), inside))


def refresh_left(edges: Ints, children: Ints, folds: Columns, lefts: Columns, level: int) -> None:
    """Compute lefts[level] … lefts[1] again."""
    for at in range(level, 0, -1):
        if at == edges[TOP]:
            store(lefts, at, identity())
        else:
            node = edges[LEFT + at]
            inside = fold_between(folds, node + edges[HEADS + at] + 1, node + children[node + FAN])
            store(lefts, at, combine(inside, load(lefts, at + 1)))


def place_in_leaf(times: Ints, leaves: Columns, leaf: int, begin: int, t: int, newest: Element) -> None:
    """Insert by time, after its equals, into a leaf that has room; its slots before `begin` are dead."""
    slot = leaf + times[leaf + LEAF]
    while slot > leaf + begin and times[slot - 1] > t:
        times[slot] = times[slot - 1]
        store(leaves, slot, load(leaves, slot - 1))
        slot -= 1
    times[slot] = t
    store(leaves, slot, newest)
    times[leaf + LEAF] += 1


def move_elements(times: Ints, leaves: Columns, leaf: int, begin: int, target: int) -> None:
    """Move slots from `begin` on out of a leaf, to the start of `target` (another leaf, or itself)."""
    count = times[leaf + LEAF] - begin
    for k in range(count):
        times[target + k] = times[leaf + begin + k]
        store(leaves, target + k, load(leaves, leaf + begin + k))
    times[leaf + LEAF] = begin
    times[target + LEAF] = count


def move_children(children: Ints, firsts: Ints, folds: Columns, node: int, begin: int, target: int) -> None:
    """Move slots from `begin` on out of a node, to the start of `target` (another node, or itself)."""
    count = children[node + FAN] - begin
    for k in range(count):
        children[target + k] = children[node + begin + k]
        firsts[target + k] = firsts[node + begin + k]
        store(folds, target + k, load(folds, node + begin + k))
    children[node + FAN] = begin
    children[target + FAN] = count


def put_child(
    children: Ints, firsts: Ints, folds: Columns, node: int, slot: int, new: int, t: int, total: Element
) -> None:
    """Insert a child at a slot of a node that has room."""
    at = node + children[node + FAN]
    while at > node + slot:
        children[at] = children[at - 1]
        firsts[at] = firsts[at - 1]
        store(folds, at, load(folds, at - 1))
        at -= 1
    children[at] = new
    firsts[at] = t
    store(folds, at, total)
    children[node + FAN] += 1


def new_root(
    edges: Ints, children: Ints, firsts: Ints, folds: Columns, old: int, old_first: int, new: int, t: int
) -> None:
    """Both children are on an edge, so that neither needs its fold."""
    root = take(edges, children, SPARE_NODE, FAN_SIZE)
    put_child(children, firsts, folds, root, 0, old, old_first, identity())
    put_child(children, firsts, folds, root, 1, new, t, identity())
    edges[TOP] += 1
    edges[LEFT + edges[TOP]] = root
    edges[RIGHT + edges[TOP]] = root
    edges[HEADS + edges[TOP]] = 0
