"""Times and lengths of time as an explanation writes them.

Timestamps are written as clock times, without the date where all of an answer lies on one day; integers
are written as they are, in the unit that only their owner knows.

>>> half_past = 1_767_609_000_000_000
>>> TimeFormat.of([half_past], calendar=True).time(half_past + 500_000)
'10:30:00.5'
>>> TimeFormat(calendar=False).time(7)
'7'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHORT = {"h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000, "ms": 1_000, "µs": 1}


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """How the times of one answer are written."""

    calendar: bool
    zone: tzinfo = UTC
    day: date | None = None
    """The day that is not repeated with every time."""

    @classmethod
    def of(cls, times: Iterable[int], *, calendar: bool, zone: tzinfo = UTC) -> TimeFormat:
        """For an answer with these times."""
        plain = cls(calendar, zone)
        moments = [plain._moment(time) for time in times] if calendar else []
        days = {moment.date() if moment else None for moment in moments}
        return cls(calendar, zone, days.pop() if len(days) == 1 else None)

    def time(self, time: int | None) -> str:
        moment = self._moment(time) if self.calendar and time is not None else None
        if moment is None:
            return "none" if time is None else str(time)
        fraction = f".{moment.microsecond:06}".rstrip("0") if moment.microsecond else ""
        clock = f"{moment:%H:%M:%S}{fraction}"
        return clock if moment.date() == self.day else f"{moment.date()} {clock}"

    def from_on(self, least: int) -> str:
        """'at or after' the least time; a microsecond later than a round clock time is 'after' that.

        >>> seconds = TimeFormat.of([0], calendar=True)
        >>> seconds.from_on(60_000_000), seconds.from_on(60_000_001), TimeFormat(False).from_on(100)
        ('at or after 00:01:00', 'after 00:01:00', 'at or after 100')
        """
        first, before = self.time(least), self.time(least - 1)
        return f"after {before}" if self.calendar and len(before) < len(first) else f"at or after {first}"

    def length(self, length: int) -> str:
        """A length of time.

        >>> TimeFormat(calendar=True).length(90_500_000), TimeFormat(calendar=True).length(0)
        ('1 min 30 s 500 ms', '0 s')
        """
        if not self.calendar:
            return str(length)
        words, rest = [], length
        for unit, size in _SHORT.items():
            count, rest = divmod(rest, size)
            if count:
                words.append(f"{count} {unit}")
        return " ".join(words) or "0 s"

    def _moment(self, time: int) -> datetime | None:
        """The moment of a timestamp; None for those that no calendar of Python's reaches."""
        try:
            return (EPOCH + timedelta(microseconds=time)).astimezone(self.zone)
        except OverflowError:
            return None


def runs(numbers: Sequence[int]) -> str:
    """Event numbers, with runs of neighbours written as their ends.

    >>> runs([1, 3, 4, 5, 9]), runs([])
    ('1, 3–5, 9', 'none')
    """
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("–".join(map(str, part)) for part in parts) or "none"
