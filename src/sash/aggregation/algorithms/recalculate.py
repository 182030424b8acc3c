"""Recalculate: keep the elements, fold them all at every query.

    fold  =  e₁ ⊕ e₂ ⊕ … ⊕ eₙ      n − 1 combines, every time

It takes elements in any order of time and has no cleverness at all: it is the oracle that the other
algorithms are tested against, and for a handful of elements it is also the fastest of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from sash.aggregation.algorithms.protocol import Algorithm, Time
from sash.aggregation.algorithms.slide_policy import PolicyQuestion, SlidePolicy
from sash.aggregation.elements import ABSENT, Element, fold_all
from sash.aggregation.monoid import Monoid


class RecalculatedWindow(Algorithm):
    """Any order; insert and evict O(n) moves, query n − 1 combines.

    >>> total = Monoid("sum", ("x",), lambda: 0, lambda x: x, lambda a, b: a + b, lambda s: s)
    >>> window = RecalculatedWindow(total)
    >>> window.insert_many([30, 10, 20], times=[3, 1, 2])
    >>> window.bulk_evict(until=2), window.query()
    (1, 50)
    """

    def __init__(self, monoid: Monoid) -> None:
        super().__init__(monoid)
        self._times: list[Time] = []
        self._elements: list[Element] = []

    def __len__(self) -> int:
        return len(self._elements)

    def _insert_one(self, element: Element, time: Time) -> None:
        at = bisect_right(self._times, time)
        self._times.insert(at, time)
        self._elements.insert(at, element)

    def _evict(self, count: int) -> None:
        del self._times[:count]
        del self._elements[:count]

    def _older_than(self, until: Time) -> int:
        return bisect_left(self._times, until)

    def _held_times(self) -> Sequence[Time]:
        return list(self._times)

    def _held(self) -> Iterable[Element]:
        return self._elements

    def _fold(self) -> Element:
        return fold_all(self._join, self._elements)

    def evict_by_policy(self, policy: SlidePolicy) -> int:
        """Evict the longest prefix that leaves, by a scan from the head; give back its length."""
        question = PolicyQuestion(policy, self.monoid, self._fold())
        prefix: Element = ABSENT
        count = 0
        for element in self._held():
            prefix = self._join(prefix, element)
            if not question.leaves(prefix):
                break
            count += 1
        self._evict(count)
        return count
