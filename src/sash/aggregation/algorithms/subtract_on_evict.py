"""Subtract on evict: one running total; an eviction takes the oldest element out of it.

    insert(e):  total ← total ⊕ e              evict:  total ← total ⊖ oldest

The fastest algorithm there is, for monoids with an inverse: counts, exact integer sums. Sums of floats
declare none, because what subtraction rounds away never comes back; they are refused here.
"""

from __future__ import annotations

from sash.aggregation.algorithms.elements import ABSENT, Element
from sash.aggregation.algorithms.fifo import Fifo
from sash.aggregation.algorithms.pages import Pages
from sash.aggregation.monoid import Monoid


class SubtractOnEvict(Fifo):
    """FIFO, invertible monoids only; insert and evict O(1) worst case, bulk eviction O(k).

    >>> total = Monoid("sum", ("x",), lambda: 0, lambda x: x, lambda a, b: a + b, lambda s: s,
    ...                inverse=lambda s, old: s - old)
    >>> window = SubtractOnEvict(total)
    >>> window.insert_many([1, 2, 3])
    >>> window.evict()
    >>> window.query()
    5
    """

    def __init__(self, monoid: Monoid) -> None:
        self._inverse = monoid.require_inverse("SubtractOnEvict")
        super().__init__(monoid)
        self._elements = Pages()
        self._total: Element = ABSENT
        # Subtracting the last element leaves the identity, not ABSENT: only a count shows 'nothing left'.
        self._present = 0

    def _append(self, element: Element) -> None:
        self._elements.append(element)
        self._total = self._join(self._total, element)
        self._present += element is not ABSENT

    def _evict(self, count: int) -> None:
        for position in range(self._lo, self._lo + count):
            oldest = self._elements[position]
            if oldest is ABSENT:
                continue
            self._present -= 1
            self._total = self._inverse(self._total, oldest) if self._present else ABSENT
        self._lo += count
        self._elements.delete_before(self._lo)
        self._times.delete_before(self._lo)

    def _fold(self) -> Element:
        return self._total
