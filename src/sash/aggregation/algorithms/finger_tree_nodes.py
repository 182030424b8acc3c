"""The nodes of a finger B-tree, and what each of them folds, by its place in the tree.

    place     fold of a leaf                        fold of an inner node with children c₁ … cₘ
    INSIDE    e₁ ⊕ … ⊕ eₖ                           c₁ ⊕ … ⊕ cₘ
    LEFT      e₁ ⊕ … ⊕ eₖ ⊕ parent's fold           c₂ ⊕ … ⊕ cₘ ⊕ parent's fold
    RIGHT     parent's fold ⊕ e₁ ⊕ … ⊕ eₖ           parent's fold ⊕ c₁ ⊕ … ⊕ c(m−1)
    ROOT      e₁ ⊕ … ⊕ eₖ                           c₂ ⊕ … ⊕ c(m−1)

where a parent that is the root counts as nothing. So on the two edges (*spines*) of the tree folds flow
down, and the outermost leaves know everything below the root's outermost children:

    fold of the window  =  leftmost leaf ⊕ root ⊕ rightmost leaf

and a change near an edge is repaired near that edge, without a walk up to the root. This placement of
partial folds is the idea of Tangwongsan, Hirzel, Schneider: 'Optimal and general out-of-order
sliding-window aggregation' (PVLDB 2019).
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise

from sash.aggregation.algorithms.protocol import Time
from sash.aggregation.elements import ABSENT, Combine, Element, fold_all


class NodePlace(Enum):
    INSIDE = "inside"
    LEFT = "left spine"
    RIGHT = "right spine"
    ROOT = "root"


class Node:
    """A leaf holds `keys` (the times) and `items` (the elements), as many of the one as of the other.

    An inner node holds children as `items`, and `keys[i]` separates children i and i + 1: no time in the
    former is above it, none in the latter below.
    """

    __slots__ = ("fold", "is_leaf", "items", "keys", "parent", "place", "size")

    def __init__(self, is_leaf: bool, keys: list[Time], items: list[Element], place: NodePlace) -> None:
        self.is_leaf = is_leaf
        self.keys = keys
        self.items = items
        self.place = place
        self.parent: Node | None = None
        self.fold: Element = ABSENT
        self.size = 0  # Number of elements; kept for INSIDE nodes only, as their fold is.
        self.adopt()

    def adopt(self) -> None:
        if not self.is_leaf:
            for child in self.items:
                child.parent = self

    def refresh(self, join: Combine) -> None:
        """Fold again, from the items and (on a spine) the parent's fold."""
        if self.is_leaf:
            own = fold_all(join, self.items)
        else:
            skip_first = self.place in (NodePlace.LEFT, NodePlace.ROOT)
            skip_last = self.place in (NodePlace.RIGHT, NodePlace.ROOT)
            inside = self.items[skip_first : len(self.items) - skip_last]
            own = fold_all(join, (child.fold for child in inside))
        if self.place is NodePlace.INSIDE:
            self.size = len(self.items) if self.is_leaf else sum(child.size for child in self.items)
        above = self.parent
        if above is None or above.place is NodePlace.ROOT:
            self.fold = own
        elif self.place is NodePlace.LEFT:
            self.fold = join(own, above.fold)
        elif self.place is NodePlace.RIGHT:
            self.fold = join(above.fold, own)
        else:
            self.fold = own

    def split(self, capacity: int, join: Combine) -> list[tuple[Time, Node]]:
        """Cut off what is above capacity, as new right siblings of even sizes, each with its lower bound.

        The places follow: the outermost pieces of a spine node stay on the spine, the root's first and
        last piece become the tops of the two spines, and everything else is INSIDE and folded at once.
        """
        count = len(self.items)
        pieces = -(-count // capacity)
        cuts = [count * i // pieces for i in range(pieces + 1)]
        siblings = []
        for begin, end in pairwise(cuts[1:]):
            keys = self.keys[begin:end] if self.is_leaf else self.keys[begin : end - 1]
            siblings.append((self.keys[begin if self.is_leaf else begin - 1], keys, self.items[begin:end]))
        del self.items[cuts[1] :]
        del self.keys[cuts[1] if self.is_leaf else cuts[1] - 1 :]

        was = self.place
        right = NodePlace.RIGHT if was in (NodePlace.RIGHT, NodePlace.ROOT) else NodePlace.INSIDE
        self.place = NodePlace.LEFT if was in (NodePlace.LEFT, NodePlace.ROOT) else NodePlace.INSIDE
        made = [
            (low, Node(self.is_leaf, keys, items, right if i == len(siblings) - 1 else NodePlace.INSIDE))
            for i, (low, keys, items) in enumerate(siblings)
        ]
        for node in (self, *(node for _, node in made)):
            if node.place is NodePlace.INSIDE:
                node.refresh(join)
        return made
