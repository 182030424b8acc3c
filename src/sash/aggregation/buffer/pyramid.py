"""Elements with the folds of their aligned groups, so that any range and any search is O(log n) combines.

    floor 0      e₀ e₁ e₂ …                        the elements
    floor f+1    the folds of R consecutive entries of floor f,  R = 8

Only complete groups have a fold, and a complete group never changes: a pyramid grows by appending on each
floor. All floors above the first together hold a seventh of what the first one holds, and cost one combine
for each element. A range is cut into at most 2·(R − 1) entries of each floor; a search for the first prefix
that fails a test climbs from where it starts and then comes down, with as many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sash.aggregation.buffer.folding import Columns, Element, Folding

RADIX = 8
_SMALLEST = 64


class Pyramid:
    """A growing or a full run of elements. `floors[0]` may be longer than `len(self)`: room to grow.

    >>> from sash.aggregation.buffer.folding import Interpreted
    >>> from sash.aggregation.monoid import Monoid
    >>> total = Monoid("sum", ("x",), lambda: 0, lambda x: x, lambda a, b: a + b, lambda a: a)
    >>> pyramid = Pyramid(Interpreted(total, [np.dtype(np.int64)]))
    >>> pyramid.extend((np.arange(100),))
    >>> pyramid.fold(10, 90), len(pyramid.floors)
    (3960, 3)
    >>> pyramid.search(0, 0, lambda prefix: prefix <= 45)
    (10, 45)
    """

    __slots__ = ("_folding", "_length", "floors")

    def __init__(self, folding: Folding) -> None:
        self._folding = folding
        self._length = 0
        self.floors: list[Columns] = [_room(folding, 0)]

    @classmethod
    def of(cls, folding: Folding, length: int, floors: list[Columns]) -> Pyramid:
        """A pyramid from its floors, as they were stored."""
        pyramid = cls.__new__(cls)
        pyramid._folding, pyramid._length, pyramid.floors = folding, length, floors
        return pyramid

    def __len__(self) -> int:
        return self._length

    def extend(self, elements: Columns) -> None:
        old, new = self._length, self._length + len(elements[0])
        length, floor = new, 0
        self.floors[0] = _written(self._folding, self.floors[0], old, elements)
        while (new := new // RADIX) > 0:
            if floor + 1 == len(self.floors):
                self.floors.append(_room(self._folding, 0))
            old //= RADIX
            if new > old:
                groups = np.arange(old, new) * RADIX
                folds = self._folding.fold_ranges(self.floors[floor], groups, groups + RADIX)
                self.floors[floor + 1] = _written(self._folding, self.floors[floor + 1], old, folds)
            floor += 1
        # Last, so that a combine that raises leaves the pyramid as it was: what lies behind the end of a
        # floor is room to grow.
        self._length = length

    def trim(self) -> None:
        """Give back the room to grow."""
        self.floors = [
            tuple(column[:count].copy() if len(column) > count else column for column in columns)
            for columns, count in zip(self.floors, self.counts(), strict=False)
        ]

    def counts(self) -> list[int]:
        """How many entries each floor has."""
        counts = [self._length]
        while counts[-1] >= RADIX:
            counts.append(counts[-1] // RADIX)
        return counts

    def elements(self) -> Columns:
        """The elements as views: the first floor without its room to grow."""
        return tuple(column[: self._length] for column in self.floors[0])

    def fold(self, lo: int, hi: int) -> Element:
        """e_lo ⊕ … ⊕ e_{hi−1}; the identity when there is none."""
        fold, combine = self._folding.fold, self._folding.monoid.combine
        if hi - lo <= 2 * RADIX:
            return fold(self.floors[0], lo, hi)
        left: list[Element] = []
        right: list[Element] = []
        for columns in self.floors:
            if hi - lo <= 2 * RADIX:
                left.append(fold(columns, lo, hi))
                break
            start, stop = -(-lo // RADIX), hi // RADIX
            if lo < start * RADIX:
                left.append(fold(columns, lo, start * RADIX))
            if stop * RADIX < hi:
                right.append(fold(columns, stop * RADIX, hi))
            lo, hi = start, stop
        total, *parts = left + right[::-1]
        for part in parts:
            total = combine(total, part)
        return total

    def search(self, i: int, prefix: Element, passes: Callable[[Element], bool]) -> tuple[int, Element]:
        """The first position j ≥ i where `prefix ⊕ e_i ⊕ … ⊕ e_j` fails the test, and the fold before j.

        The test is monotone: once it fails it fails for every longer prefix. len(self) when it never does.
        """
        combine, load = self._folding.monoid.combine, self._folding.load
        counts = self.counts()
        floor, ceiling, width = 0, len(counts) - 1, 1
        while True:
            group = i // (width * RADIX)
            if floor < ceiling and i == group * width * RADIX and group < counts[floor + 1]:
                floor, width = floor + 1, width * RADIX
            elif i // width >= counts[floor]:
                if floor == 0:
                    return i, prefix
                # Past the last complete group: what remains lies lower, and it must not be climbed again.
                floor, width, ceiling = floor - 1, width // RADIX, floor - 1
            else:
                longer = combine(prefix, load(self.floors[floor], i // width))
                if passes(longer):
                    prefix, i = longer, i + width
                elif floor == 0:
                    return i, prefix
                else:
                    floor, width, ceiling = floor - 1, width // RADIX, floor - 1


def _room(folding: Folding, capacity: int) -> Columns:
    return tuple(np.empty(capacity, dtype) for dtype in folding.dtypes)


def _written(folding: Folding, columns: Columns, at: int, entries: Columns) -> Columns:
    """`columns` with `entries` from position `at` on; moved to a larger place when they do not fit."""
    end = at + len(entries[0])
    if end > len(columns[0]):
        larger = _room(folding, max(end, 2 * len(columns[0]), _SMALLEST))
        for old, new in zip(columns, larger, strict=True):
            new[:at] = old[:at]
        columns = larger
    for column, values in zip(columns, entries, strict=True):
        column[at:end] = values
    return columns


def grown(array: Any, at: int, values: Any) -> Any:
    """The same for a single array of integers: times and positions."""
    end = at + len(values)
    if end > len(array):
        larger = np.empty(max(end, 2 * len(array), _SMALLEST), array.dtype)
        larger[:at] = array[:at]
        array = larger
    array[at:end] = values
    return array
