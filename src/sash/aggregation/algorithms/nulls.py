"""Where the nulls of a window are: the structures fold them as the identity and do not see them.

A window that holds nothing but nulls has no value (`nothing`), even if its fold is the identity.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort_right

import numpy as np

from sash.arrays import Ints, Mask


class Nulls:
    """The positions of nulls in a first-in-first-out window, which only grow.

    >>> nulls = Nulls()
    >>> nulls.extend(np.array([3, 4, 7]))
    >>> nulls.cover(3, 5), nulls.cover(3, 6), nulls.cover(5, 5)
    (True, False, True)
    """

    def __init__(self) -> None:
        self._positions: list[int] = []
        self._dead = 0

    def append(self, position: int) -> None:
        self._positions.append(position)

    def extend(self, positions: Ints) -> None:
        self._positions += positions.tolist()

    def cover(self, lo: int, hi: int) -> bool:
        """Whether all of [lo, hi) are nulls."""
        if len(self._positions) - self._dead < hi - lo:
            return False
        first = bisect_left(self._positions, lo, lo=self._dead)
        return bisect_left(self._positions, hi, lo=first) - first == hi - lo

    def delete_before(self, position: int) -> None:
        if self._positions:
            self._dead = bisect_left(self._positions, position, lo=self._dead)
            if 2 * self._dead >= len(self._positions):
                del self._positions[: self._dead]
                self._dead = 0


class TrailingNulls:
    """The times of the nulls after the newest value of a window in time order.

    Elements leave oldest first: values are left as long as more is held than these. `newest` is the time of
    the newest value; None when there is none, and then all that is held are nulls.
    """

    def __init__(self) -> None:
        self.newest: int | None = None
        self._times: list[int] = []

    def __len__(self) -> int:
        return len(self._times)

    def insert(self, time: int, known: bool) -> None:
        if self.newest is not None and time < self.newest:
            return
        if known:
            self.newest = time
            del self._times[: bisect_right(self._times, time)]
        else:
            insort_right(self._times, time)

    def insert_batch(self, times: Ints, known: Mask | None) -> None:
        """The same for events in this order of arrival."""
        values = times if known is None else times[known]
        arrivals = np.arange(len(times)) if known is None else np.flatnonzero(known)
        nulls = times[:0] if known is None else times[~known]
        if len(values):
            newest = int(values.max())
            if self.newest is None or newest >= self.newest:
                del self._times[: bisect_right(self._times, newest)]
                self.newest = newest
                last = arrivals[np.flatnonzero(values == newest)[-1]]
                after = np.flatnonzero(~known) > last if known is not None else np.empty(0, np.bool_)
                nulls = nulls[(nulls > newest) | ((nulls == newest) & after)]
        if self.newest is not None:
            nulls = nulls[nulls >= self.newest]
        self._times = sorted(self._times + nulls.tolist())

    def keep(self, left: int) -> None:
        """The oldest have gone and so many are left."""
        if left <= len(self._times):
            self.newest = None
            del self._times[: len(self._times) - left]
