"""FiBA, the finger B-tree aggregator: elements in any order of time.

    insert(e, time)   climbs from the newest leaf until a node covers `time`, then down: O(log d) steps,
                      where d is the number of elements that are newer (0 for an element in order)
    bulk insertion    merges a sorted batch into the lowest node that covers it, in one pass
    bulk_evict        climbs from the oldest leaf until a node holds the cut, then down along it: O(log n)

Every node has between `arity` and 2 · `arity` items, except on the left spine, where eviction may leave
fewer (at least one, and the root two). That is enough: a node on the right of the root's first child is
full to at least a half, so the height stays O(log n), and evictions never need to borrow or merge.

Insertion, and which folds a node keeps: `finger_tree_nodes`, after 'Optimal and general out-of-order
sliding-window aggregation' (PVLDB 2019). Bulk operations after 'Out-of-order sliding-window aggregation
with efficient bulk evictions and insertions' (PVLDB 2023), both by Tangwongsan, Hirzel and Schneider; the
relaxed left spine, in place of their rebalancing, is ours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from sash.aggregation.algorithms.finger_tree_nodes import Node, NodePlace
from sash.aggregation.algorithms.protocol import Algorithm, Time
from sash.aggregation.elements import Element
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError


class FingerTree(Algorithm):
    """Any order, any monoid; in-order insert and evict O(1) amortised, out of order O(log d), query O(1).

    >>> joined = Monoid("collect", ("x",), str, str, lambda a, b: a + b, lambda s: s)
    >>> window = FingerTree(joined)
    >>> window.insert_many("ACD", times=[1, 3, 4])
    >>> window.insert("B", time=2)
    >>> window.query(), window.bulk_evict(until=3), window.query()
    ('ABCD', 2, 'CD')
    """

    def __init__(self, monoid: Monoid, *, arity: int = 4) -> None:
        if arity < 2:
            raise ArgumentError("arity", arity, "at least 2")
        super().__init__(monoid)
        self._capacity = 2 * arity
        self._clear()

    def _clear(self) -> None:
        self._root = self._oldest = self._newest = Node(True, [], [], NodePlace.ROOT)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def _fold(self) -> Element:
        if self._root.is_leaf:
            return self._root.fold
        return self._join(self._join(self._oldest.fold, self._root.fold), self._newest.fold)

    # Insertion.

    def _insert_one(self, element: Element, time: Time) -> None:
        leaf = self._newest
        if len(leaf.items) < self._capacity and leaf.keys and leaf.keys[-1] <= time:
            leaf.keys.append(time)
            leaf.items.append(element)
            leaf.fold = self._join(leaf.fold, element)
            self._size += 1
        else:
            self._insert_sorted([time], [element])

    def _insert_batch(self, elements: Any, times: Sequence[Time]) -> None:
        pairs = sorted(zip(times, elements, strict=True), key=itemgetter(0))
        self._insert_sorted([time for time, _ in pairs], [element for _, element in pairs])

    def _insert_sorted(self, times: list[Time], elements: list[Element]) -> None:
        node = self._newest
        while node.parent is not None and times[0] < node.parent.keys[-1]:
            node = node.parent
        siblings = self._merge(node, times, elements)
        while siblings:
            parent = node.parent
            if parent is None:
                parent = self._root = Node(False, [], [node], NodePlace.ROOT)
            _place_after(parent, len(parent.items) - 1, siblings)
            node, siblings = parent, self._split(parent)
        self._settle(node)
        self._size += len(times)

    def _merge(self, node: Node, times: list[Time], elements: list[Element]) -> list[tuple[Time, Node]]:
        """Put a sorted batch below `node`; give back the right siblings that it had to be split into."""
        if node.is_leaf:
            pairs = zip(node.keys + times, node.items + elements, strict=True)
            merged = sorted(pairs, key=itemgetter(0))
            node.keys[:] = [time for time, _ in merged]
            node.items[:] = [element for _, element in merged]
        else:
            end = len(times)
            # From the newest child to the oldest, so that new siblings do not move those still to come.
            for i in reversed(range(len(node.items))):
                begin = bisect_left(times, node.keys[i - 1]) if i else 0
                if begin < end:
                    _place_after(node, i, self._merge(node.items[i], times[begin:end], elements[begin:end]))
                    end = begin
        return self._split(node)

    def _split(self, node: Node) -> list[tuple[Time, Node]]:
        if len(node.items) > self._capacity:
            return node.split(self._capacity, self._join)
        if node.place is NodePlace.INSIDE:
            node.refresh(self._join)
        return []

    def _settle(self, top: Node) -> None:
        """Fold again `top` and the spines below it; what is inside has been folded before."""
        is_root = top is self._root
        if is_root:
            top.place = NodePlace.ROOT
        top.refresh(self._join)
        if is_root or top.place is NodePlace.LEFT:
            self._oldest = self._refresh_below(top, NodePlace.LEFT)
        if is_root or top.place is NodePlace.RIGHT:
            self._newest = self._refresh_below(top, NodePlace.RIGHT)

    def _refresh_below(self, node: Node, place: NodePlace) -> Node:
        """Fold again the nodes on one edge below `node`; give back the outermost leaf."""
        while not node.is_leaf:
            node = node.items[0 if place is NodePlace.LEFT else -1]
            node.place = place
            node.refresh(self._join)
        return node

    def _held_times(self) -> Sequence[Time]:
        return [time for leaf in self._leaves(self._root) for time in leaf.keys]

    def _leaves(self, node: Node) -> Iterator[Node]:
        if node.is_leaf:
            yield node
        else:
            for child in node.items:
                yield from self._leaves(child)

    # Eviction.

    def _older_than(self, until: Time) -> int:
        node, count = self._oldest, 0
        while (above := _next_fork(node)) is not None and until > above.keys[0]:
            count += len(node.items) if node.is_leaf else sum(child.size for child in node.items[1:])
            node = above
        climbed = node is not self._oldest
        while not node.is_leaf:
            i = bisect_left(node.keys, until)
            # The first child of a node that was climbed to is counted already.
            count += sum(child.size for child in node.items[climbed:i])
            node, climbed = node.items[i], False
        return count + bisect_left(node.keys, until)

    def _evict(self, count: int) -> None:
        self._size -= count
        if not self._size:
            self._clear()
            return
        top = self._cut(count)
        if top is self._root:
            while not self._root.is_leaf and len(self._root.items) == 1:
                self._root = self._root.items[0]
            self._root.parent = None
            top = self._root
        self._settle(top)

    def _cut(self, count: int) -> Node:
        """Remove the `count` oldest; give back the node below which the left spine is new."""
        node = self._oldest
        gone = len(node.items)
        while count >= gone and node.parent is not None:
            count -= gone
            node = node.parent
            gone = sum(child.size for child in node.items[1:])
        top = node
        i = 0 if node.is_leaf else 1
        while not node.is_leaf:
            # The last child of the root or a right-spine node keeps no size; what is left must be in it.
            while i < len(node.items) - 1 and count >= node.items[i].size:
                count -= node.items[i].size
                i += 1
            del node.items[:i], node.keys[:i]
            node, i = node.items[0], 0
        del node.items[:count], node.keys[:count]
        return top


def _next_fork(node: Node) -> Node | None:
    """The nearest node above with more than one child: those between hold the same elements as `node`."""
    above = node.parent
    while above is not None and not above.keys:
        above = above.parent
    return above


def _place_after(parent: Node, i: int, siblings: list[tuple[Time, Node]]) -> None:
    """New siblings of the parent's child i go right behind it."""
    parent.items[i + 1 : i + 1] = [node for _, node in siblings]
    parent.keys[i:i] = [low for low, _ in siblings]
    for _, node in siblings:
        node.parent = parent
