"""The rows of a side of an outer join that have not met any row yet.

    follow    rows that were stored, in the order of time: their places go on where the last ones ended
    meet      the places of rows that are in a pair
    leave     those that no row can meet any more, and have met none

Rows are followed from the time they are stored until they leave, so that what is held is one bit and one
time for each row of the window.

>>> rows = UnmatchedRows()
>>> rows.follow(np.array([3, 5, 9])); rows.meet(np.array([1])); rows.earliest
3
>>> rows.leave(before=9).tolist(), rows.earliest
([0], 9)
"""

from __future__ import annotations

import numpy as np

from sash.arrays import Ints
from sash.operators.joins.state import row_bits


class UnmatchedRows:
    """One side."""

    def __init__(self) -> None:
        self._first = 0
        """The place of the first row that is followed."""
        self._time = np.empty(0, np.int64)
        self._met = np.empty(0, np.bool_)

    def follow(self, times: Ints) -> None:
        """Rows at the next places."""
        self._time = np.concatenate([self._time, times])
        self._met = np.concatenate([self._met, np.zeros(len(times), np.bool_)])

    def meet(self, places: Ints) -> None:
        self._met[places - self._first] = True

    def leave(self, before: int) -> Ints:
        """Follow no row of before this time any more; returns the places of those that met none."""
        gone = int(np.searchsorted(self._time, before))
        unmatched = np.flatnonzero(~self._met[:gone]) + self._first
        self._time, self._met = self._time[gone:], self._met[gone:]
        self._first += gone
        return unmatched

    @property
    def earliest(self) -> int | None:
        """The time of the first row that has met none."""
        unmatched = np.flatnonzero(~self._met)
        return int(self._time[unmatched[0]]) if len(unmatched) else None

    def to_text(self) -> str:
        """Which rows have met one, for a header: their times are known from the rows themselves."""
        return row_bits.to_text(self._met)

    def restore(self, text: str) -> None:
        """Of the rows that are followed, the same ones as then."""
        self._met = row_bits.from_text(text, len(self._time))
