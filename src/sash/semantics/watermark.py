"""Watermarks and lateness.

    watermark = max τ seen − delay          no event with τ below it is expected any more

On Spark `epochs/epoch_watermark.py` advances it for `start()`, `streaming/heartbeat.py` where nothing
comes. An event that arrives is judged by the watermark that stood before its batch:

    watermark ≤ τ                               on time
    watermark − allowed_lateness ≤ τ            late, but it re-opens its windows
    otherwise                                   too late: it goes to the late output and is counted

Some engines judge by windows instead (`LateBy`): an event behind the watermark counts in those of its
windows that the watermark has not closed, and is too late when there is none.

The watermark also moves when a source moves it (`advance_to`), and it never moves back.

This is the definition, and what streams in process use. On Spark the same rule is in
`runtimes/spark/epochs/epoch_watermark.py` for `start()`, and Spark's own (`withWatermark` in
`runtimes/spark/streaming/upstream_watermark.py`) where a query needs Spark's state store.

>>> mark = Watermark(delay=5, allowed_lateness=10)
>>> mark.observe([100, 90]); mark.value
95
>>> [mark.judge(time).name for time in (95, 94, 85, 84)]
['ON_TIME', 'REOPENS', 'REOPENS', 'TOO_LATE']
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, StrEnum


class LateBy(StrEnum):
    """What makes an event late."""

    TIME = "time"
    """The watermark has passed its time."""
    WINDOWS = "windows"
    """The watermark has passed the end of every window that would hold it."""
    OWN_WINDOWS = "own windows"
    """The same for the windows that it would have alone: a session that is open does not save it."""


class Lateness(Enum):
    """What an arriving event may still do."""

    ON_TIME = "on time"
    REOPENS = "late, but within the allowed lateness"
    TOO_LATE = "behind the watermark"


class Watermark:
    """How far event time has come. Everything is open before the first event: `value` is None."""

    def __init__(self, *, delay: int = 0, allowed_lateness: int = 0) -> None:
        self._delay, self._allowed_lateness = delay, allowed_lateness
        self.value: int | None = None
        self.horizon: int | None = None
        """How far the stream is known to have come: the greatest time seen or declared."""

    def observe(self, times: Iterable[int]) -> None:
        """Events with these times have arrived."""
        for time in times:
            self.see(time)
            self.advance_to(time - self._delay)

    def see(self, time: int) -> None:
        """The stream has come as far as `time`; what is expected does not change by that."""
        self.horizon = _later(self.horizon, time)

    def advance_to(self, time: int) -> None:
        """No event before `time` is expected any more."""
        self.value = _later(self.value, time)
        self.see(time)

    def has_reached(self, time: int) -> bool:
        return self.value is not None and self.value >= time

    def judge(self, time: int) -> Lateness:
        """Whether an event with this time, arriving now, is on time."""
        if self.value is None or time >= self.value:
            return Lateness.ON_TIME
        if time >= self.value - self._allowed_lateness:
            return Lateness.REOPENS
        return Lateness.TOO_LATE


def _later(known: int | None, time: int) -> int:
    return time if known is None else max(known, time)
