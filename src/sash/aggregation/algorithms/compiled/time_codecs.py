"""Times as 64-bit integers in the same order, for trees that keep them in arrays.

    int        as it is
    float      its bits, which sort as the numbers do once those of negative ones are turned around
    datetime   microseconds since 1970; of one window, all with a time zone or all without

Other types of times (dates, decimals, text) have no code, and their windows are interpreted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil, isinf
from typing import Any

import numpy as np

from sash.aggregation.algorithms.protocol import Time, is_numeric
from sash.arrays import Ints
from sash.errors import ArgumentError
from sash.semantics.time_format import EPOCH

_LEAST, _GREATEST = -(2**63), 2**63 - 1


class TimeCodec(ABC):
    """From the times of one type to their codes. Codes of events lie above the least integer."""

    @abstractmethod
    def code(self, time: Time) -> int: ...

    def codes(self, times: Sequence[Time]) -> Ints:
        return np.array([self.code(time) for time in times], np.int64)

    def last_before(self, until: Time) -> int:
        """The greatest code of a time < until."""
        return max(self.code(until) - 1, _LEAST)


class IntegerTimes(TimeCodec):
    def code(self, time: Time) -> int:
        if isinstance(time, float | np.floating) and float(time).is_integer():
            time = int(time)
        if not isinstance(time, int | np.integer) or not _LEAST <= time <= _GREATEST:
            raise ArgumentError("time", time, "an integer of 64 bits, as the times before")
        return int(time)

    def codes(self, times: Sequence[Time]) -> Ints:
        if isinstance(times, range):
            return np.arange(times.start, times.stop, dtype=np.int64)
        if is_numeric(times) and times.dtype.kind == "i":  # type: ignore[attr-defined]
            return np.asarray(times).astype(np.int64)
        return super().codes(times)

    def last_before(self, until: Time) -> int:
        if isinstance(until, float) and isinf(until):
            return _GREATEST if until > 0 else _LEAST
        last: int = ceil(until) - 1
        return min(max(last, _LEAST), _GREATEST)


class FloatTimes(TimeCodec):
    def code(self, time: Time) -> int:
        if not isinstance(time, float | int | np.floating | np.integer):
            raise ArgumentError("time", time, "a float, as the times before")
        return int(self.codes([time])[0])

    def codes(self, times: Sequence[Time]) -> Ints:
        exact = np.asarray(times, np.float64)
        if any(float(time) != time for time in times if isinstance(time, int)):
            raise ArgumentError("times", "an integer that no float equals", "floats, as the times before")
        # Adding 0.0 makes both zeros the same.
        bits = (exact + 0.0).view(np.int64)
        return bits ^ ((bits >> 63) & np.int64(_GREATEST))


class DatetimeTimes(TimeCodec):
    def __init__(self, *, zoned: bool) -> None:
        self._epoch = EPOCH if zoned else EPOCH.replace(tzinfo=None)

    def code(self, time: Time) -> int:
        if not isinstance(time, datetime) or (time.tzinfo is None) != (self._epoch.tzinfo is None):
            kind = "without a time zone" if self._epoch.tzinfo is None else "with a time zone"
            raise ArgumentError("time", time, f"a datetime {kind}, as the times before")
        microseconds: int = (time - self._epoch) // timedelta(microseconds=1)
        return microseconds


def time_codec(time: Any) -> TimeCodec | None:
    """The clock for times such as this; None: they have no codes."""
    if isinstance(time, int | np.integer) and _LEAST <= time <= _GREATEST:
        return IntegerTimes()
    if isinstance(time, float | np.floating):
        return FloatTimes()
    if type(time) is datetime:
        return DatetimeTimes(zoned=time.tzinfo is not None)
    return None
