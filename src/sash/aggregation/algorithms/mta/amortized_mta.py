"""Amortized MTA: a monoid tree whose left edge is kept unfolded, so that a query is one combine.

    position  lo                     mid            hi
              |-- blocks on the stack --|-- back --|
    fold  =   front ⊕ back                             (front, back): the *Result Pair*

The *Stack* holds the blocks that cover [lo, mid), oldest on top, each with the fold from its first
position to mid; so the top one's fold is `front`. An eviction to `lo`:

- inside [lo, mid): pops the blocks that left whole, and replaces the one that `lo` cuts by the blocks
  of its remaining part: the right siblings on the way from its root down to the leaf `lo`;
- beyond mid: stacks up the blocks of [lo, hi) again, and mid becomes hi.

Either way at most 2 · log₂ n nodes are read and combined, whatever the number of evicted elements. One
element at a time, every block is stacked once in its life: one combine an eviction, amortised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.aggregation.algorithms.mta.aligned_blocks import blocks, start
from sash.aggregation.algorithms.mta.monoid_forest import MonoidForest, Pairwise
from sash.aggregation.algorithms.mta.nodes import Nodes
from sash.aggregation.algorithms.protocol import Time
from sash.aggregation.elements import ABSENT, Element
from sash.aggregation.monoid import Monoid


class AmortizedForest(MonoidForest):
    """FIFO, any monoid; insert + evict + query ≤ 5 combines amortised; any eviction O(log n) at worst.

    >>> biggest = Monoid("max", ("x",), lambda: float("-inf"), lambda x: x, max, lambda m: m)
    >>> window = AmortizedForest(biggest)
    >>> window.insert_many([5, 1, 3, 2], times=[1, 2, 4, 7])
    >>> window.bulk_evict(until=4), window.query()
    (2, 3)
    """

    def __init__(
        self, monoid: Monoid, *, nodes: Nodes | None = None, pairwise: Pairwise | None = None
    ) -> None:
        super().__init__(monoid, nodes=nodes, pairwise=pairwise)
        self._mid = 0
        self._back: Element = ABSENT
        self._stack: list[tuple[int, Element]] = []

    def _append(self, element: Element) -> None:
        super()._append(element)
        self._back = self._join(self._back, element)

    def _insert_batch(self, elements: Any, times: Sequence[Time]) -> None:
        before = self._hi
        super()._insert_batch(elements, times)
        self._back = self._join(self._back, self._fold_range(before, self._hi))

    def _fold(self) -> Element:
        front = self._stack[-1][1] if self._stack else ABSENT
        return self._join(front, self._back)

    def _evict(self, count: int) -> None:
        lo = self._lo + count
        stack = self._stack
        if lo < self._mid:
            while len(stack) > 1 and stack[-2][0] <= lo:
                stack.pop()
            if stack[-1][0] < lo:
                stack.pop()
                self._stack_up(lo, stack[-1][0] if stack else self._mid)
        else:
            stack.clear()
            # With lo = mid the front is just empty and `back` still stands.
            if lo > self._mid:
                self._mid, self._back = self._hi, ABSENT
                self._stack_up(lo, self._hi)
        super()._evict(count)

    def _stack_up(self, lo: int, hi: int) -> None:
        """Push the blocks of [lo, hi), newest first, each with its fold up to mid."""
        suffix = self._stack[-1][1] if self._stack else ABSENT
        covering = list(blocks(lo, hi))[::-1]
        for block, node in zip(covering, self._read(covering), strict=True):
            suffix = self._join(node, suffix)
            self._stack.append((start(block), suffix))
