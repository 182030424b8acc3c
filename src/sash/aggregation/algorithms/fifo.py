"""What the first-in-first-out algorithms share: a window is a range [lo, hi) of positions in the stream.

Elements arrive with non-decreasing times and leave in the order in which they came, so that positions are
never renumbered and eviction is `lo += count`. Where an algorithm keeps its elements is its own business.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from sash.aggregation.algorithms.paged_queue import Pages
from sash.aggregation.algorithms.protocol import Algorithm, Time, is_numeric
from sash.aggregation.elements import Element
from sash.aggregation.monoid import Monoid
from sash.errors import OutOfOrder


class Fifo(Algorithm):
    """An algorithm over the positions [lo, hi) of a stream in time order."""

    def __init__(self, monoid: Monoid) -> None:
        super().__init__(monoid)
        self._lo = 0
        self._hi = 0
        self._newest: Time | None = None
        self._times = Pages()
        # Positions count from here: a window that took another one over began in the middle of the stream.
        self._first = 0

    def __len__(self) -> int:
        return self._hi - self._lo

    # What an algorithm provides.

    @abstractmethod
    def _append(self, element: Element) -> None:
        """Add the element at position `_hi`; the caller then moves `_hi`."""

    def _put_times(self, times: Sequence[Time]) -> None:
        self._times.extend(times)

    def _time_at(self, position: int) -> Time:
        return self._times[position]

    # What follows from it.

    def _insert_one(self, element: Element, time: Time) -> None:
        if self._timed:
            self._require_order(self._newest, time)
            self._put_times((time,))
            self._newest = time
        self._append(element)
        self._hi += 1

    def _insert_batch(self, elements: Any, times: Sequence[Time]) -> None:
        self._take_times(times)
        for element in elements:
            self._append(element)
            self._hi += 1

    def _take_times(self, times: Sequence[Time]) -> None:
        """Check and keep the times of a batch; positions, a range, are in order and need no place."""
        if not isinstance(times, range):
            self._require_all_in_order(times)
            self._put_times(times)
            self._newest = plain(times[-1])

    def _held_times(self) -> Sequence[Time]:
        return [self._time_at(position) for position in range(self._lo, self._hi)]

    def _continue(self, nulls: Algorithm) -> None:
        assert isinstance(nulls, Fifo)
        self._first, self._newest = nulls._first + nulls._lo, nulls._newest

    def _older_than(self, until: Time) -> int:
        """Gallop from the head, then bisect: O(log k) times are read to find that k elements are older."""
        size = len(self)
        if not self._timed:
            older: int = ceil(until) - self._first - self._lo
            return min(max(older, 0), size)
        bound = 1
        while bound <= size and self._time_at(self._lo + bound - 1) < until:
            bound *= 2
        known, limit = bound // 2, min(bound - 1, size)
        unknown = range(self._lo + known, self._lo + limit)
        return known + bisect_left(unknown, until, key=self._time_at)

    def _require_order(self, newest: Time | None, time: Time) -> None:
        if newest is not None and time < newest:
            raise OutOfOrder(
                f"time must be at least {newest!r}, the newest so far; got {time!r}. "
                "FiBA takes elements in any order"
            )

    def _require_all_in_order(self, times: Any) -> None:
        self._require_order(self._newest, plain(times[0]))
        if is_numeric(times) and bool((times[1:] >= times[:-1]).all()):
            return
        for before, after in pairwise(times):
            if after < before:
                self._require_order(before, after)


def plain(value: Any) -> Any:
    """Python's own number: numpy's would wrap around silently where elements are combined later on."""
    return value.item() if isinstance(value, np.generic) else value
