"""Two stacks lite: a front of suffix folds and a back of plain elements, in one queue.

    position   lo          mid          hi
               |--- front ---|--- back ---|      slot[i] = eᵢ ⊕ … ⊕ e(mid−1)   for lo ≤ i < mid
                                                 slot[i] = eᵢ                  for mid ≤ i < hi
    fold  =  slot[lo] ⊕ back                     back    = e(mid) ⊕ … ⊕ e(hi−1)

An eviction drops slot[lo], and slot[lo + 1] is the fold of what is left. When the front is used up, a
*flip* turns the back into a front, from its newest element to its oldest: one combine for each element,
paid once in its life.

The two-stack queue is folklore; the lite form, which keeps one fold or element per slot, is from
Tangwongsan, Hirzel and Schneider, 'In-order sliding-window aggregation in worst-case constant time'.
"""

from __future__ import annotations

from sash.aggregation.algorithms.elements import ABSENT, Element
from sash.aggregation.algorithms.fifo import Fifo
from sash.aggregation.algorithms.pages import Pages
from sash.aggregation.monoid import Monoid


class TwoStacks(Fifo):
    """FIFO, any monoid; insert + evict + query ≤ 3 combines amortised, one eviction O(n) at worst.

    >>> biggest = Monoid("max", ("x",), lambda: float("-inf"), lambda x: x, max, lambda m: m)
    >>> window = TwoStacks(biggest)
    >>> window.insert_many([5, 1, 3])
    >>> window.evict()
    >>> window.query()
    3
    """

    def __init__(self, monoid: Monoid) -> None:
        super().__init__(monoid)
        self._mid = 0
        self._slots = Pages()
        self._back: Element = ABSENT

    def _append(self, element: Element) -> None:
        self._slots.append(element)
        self._back = self._join(self._back, element)

    def _evict(self, count: int) -> None:
        self._lo += count
        # With lo = mid the front is just empty and `back` still stands: the flip can wait, and is then
        # smaller by what has been evicted.
        if self._lo > self._mid:
            self._flip()
        self._slots.delete_before(self._lo)
        self._times.delete_before(self._lo)

    def _flip(self) -> None:
        suffix: Element = ABSENT
        for position in range(self._hi - 1, self._lo - 1, -1):
            suffix = self._join(self._slots[position], suffix)
            self._slots[position] = suffix
        self._mid = self._hi
        self._back = ABSENT

    def _fold(self) -> Element:
        front = self._slots[self._lo] if self._lo < self._mid else ABSENT
        return self._join(front, self._back)
