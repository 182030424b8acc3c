"""DABA lite: two stacks whose flip is spread over the operations that follow it, two combines each.

    position  F         L         R         A         B         E
              |---------|---------|---------|---------|---------|
    slot[i]   i … B−1   i … R−1   element   i … B−1   element            ('i … j' is the fold eᵢ ⊕ … ⊕ eⱼ)

    middle = R … B−1       back = B … E−1       fold = slot[F] ⊕ back

A *flip* happens when the front [F, B) is all final (L = B) and as long as the back: the front becomes
[L, R), the back becomes [R, A). Then each insertion or eviction does one step:

- while L < R, *shrink*: finish slot[L] with `middle`, and take one element more into the suffix folds
  that grow down from B. Both intervals have s slots, so s steps empty them;
- then *shift*: L, R and A move up one together, over slots that are final already, s times.

After these 2 s operations front and back are equally long again, whatever the mix of insertions and
evictions was, and F never overtakes L. No operation combines more than three times.

Tangwongsan, Hirzel, Schneider: 'In-order sliding-window aggregation in worst-case constant time' (2021).
"""

from __future__ import annotations

from sash.aggregation.algorithms.elements import ABSENT, Element
from sash.aggregation.algorithms.fifo import Fifo
from sash.aggregation.algorithms.pages import Pages
from sash.aggregation.monoid import Monoid


class DABALite(Fifo):
    """FIFO, any monoid; insert ≤ 3, evict ≤ 2, query ≤ 1 combines, always. Bulk eviction O(k).

    >>> biggest = Monoid("max", ("x",), lambda: float("-inf"), lambda x: x, max, lambda m: m)
    >>> window = DABALite(biggest)
    >>> window.insert_many([5, 1, 3])
    >>> window.evict()
    >>> window.query()
    3
    """

    def __init__(self, monoid: Monoid) -> None:
        super().__init__(monoid)
        self._slots = Pages()
        # F is `_lo`; E is the end of the slots, one ahead of `_hi` while an element is being appended.
        self._L = self._R = self._A = self._B = 0
        self._middle: Element = ABSENT
        self._back: Element = ABSENT

    def _append(self, element: Element) -> None:
        self._slots.append(element)
        self._back = self._join(self._back, element)
        self._step()

    def _evict(self, count: int) -> None:
        if count == len(self):
            self._lo = self._hi
            self._start_over()
        else:
            for _ in range(count):
                self._lo += 1
                self._step()
        self._slots.delete_before(self._lo)
        self._times.delete_before(self._lo)

    def _fold(self) -> Element:
        front = self._slots[self._lo] if self._lo < self._B else ABSENT
        return self._join(front, self._back)

    def _step(self) -> None:
        if self._lo == self._B:
            self._start_over()
            return
        if self._L == self._B:
            self._flip()
        if self._L == self._R:
            self._shift()
        else:
            self._shrink()

    def _start_over(self) -> None:
        # The front ran out: at most one element is left, and it is its own fold.
        self._L = self._R = self._A = self._B = self._slots.stop
        self._middle = self._back = ABSENT

    def _flip(self) -> None:
        self._L, self._R = self._lo, self._B
        self._A = self._B = self._slots.stop
        self._middle, self._back = self._back, ABSENT

    def _shrink(self) -> None:
        slots = self._slots
        slots[self._L] = self._join(slots[self._L], self._middle)
        self._L += 1
        suffix = slots[self._A] if self._A < self._B else ABSENT
        self._A -= 1
        slots[self._A] = self._join(slots[self._A], suffix)

    def _shift(self) -> None:
        self._L += 1
        self._R += 1
        self._A += 1
