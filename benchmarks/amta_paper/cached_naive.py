"""Naive as the AMTA paper has it (its sections 5.1, 5.2 and 5.6): a queue, and a cached fold of all of it.

    insert    one combine with the cached fold
    evict     elements leave one by one; the next query folds all that are left

So a window from which little is evicted, as that of max, costs next to nothing, and any other n combines.
`sash.aggregators.Recalculate` folds at every query.

>>> biggest = Monoid("max", ("x",), lambda: 0, lambda x: x, max, lambda m: m)
>>> window = CachedNaive(biggest)
>>> window.insert_many([5, 1, 3])
>>> window.insert(4)
>>> window.evict_by_policy(lambda total, old: old < 2), window.query(), len(window)
(0, 5, 4)
>>> window.evict_by_policy(lambda total, old: old <= 5), window.query()
(4, 0)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from sash.aggregation.monoid import Monoid


class CachedNaive:
    def __init__(self, monoid: Monoid) -> None:
        self.monoid = monoid
        self._elements: deque[Any] = deque()
        self._cached: Any = monoid.identity()
        self._valid = True

    def __len__(self) -> int:
        return len(self._elements)

    def insert(self, *inputs: Any) -> None:
        element = self.monoid.lift(*inputs)
        self._elements.append(element)
        if self._valid:
            self._cached = self.monoid.combine(self._cached, element)

    def insert_many(self, *columns: Sequence[Any]) -> None:
        self._elements.extend(map(self.monoid.lift, *columns))
        self._valid = False

    def query(self) -> Any:
        return self.monoid.lower(self._total())

    def evict_by_policy(self, leaves: Callable[[Any, Any], bool]) -> int:
        """Evict the longest prefix that leaves, from the head on; give back its length."""
        total, prefix, count = self.query(), self.monoid.identity(), 0
        for element in self._elements:
            prefix = self.monoid.combine(prefix, element)
            if not leaves(total, self.monoid.lower(prefix)):
                break
            count += 1
        for _ in range(count):
            self._elements.popleft()
        self._valid = self._valid and not count
        return count

    def _total(self) -> Any:
        if not self._valid:
            self._cached = reduce(self.monoid.combine, self._elements, self.monoid.identity())
            self._valid = True
        return self._cached
