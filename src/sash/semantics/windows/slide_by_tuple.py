"""Slide-by-tuple windows: a range of time, looked back at from every S-th event.

    r = (w + 1)·S − 1 is the position of the triggering event
    E(w) = { τ : τ_r − W < τ ≤ τ_r },   w = 0, 1, 2, …

The far end is open, the near end closed: events with the trigger's own time belong to it, also those that
come after it. With S = 1 this is a look-back per event, the shape of a rolling feature. Events after the
last trigger, and events between two ranges, belong to no window.

`lifetime()` looks back without end, at every event: E(w) = { τ : τ ≤ τ_r }. It is the same window, of a
size that is longer than all of time, and it is measured in no unit of time.

>>> from sash.semantics.event import sequence
>>> events = sequence([1, 2, 9, 10])
>>> slide_by_tuple(3, 2).extent(1, events)
range(2, 4)
>>> list(slide_by_tuple(3, 1).mapping(0, events))
[0, 1]
>>> [lifetime().extent(w, events) for w in (0, 3)]
[range(0, 1), range(0, 4)]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from sash.errors import DurationError
from sash.semantics import durations
from sash.semantics.durations import Duration, DurationLike, Unit, format_last, format_length
from sash.semantics.event import Event
from sash.semantics.time_format import TimeFormat
from sash.semantics.window import ContextAwareWindow, Extent, next_cut, positive_count, spanned, times

ENDLESS = 2**62 + 1
"""The size of a look-back without end: times lie within ±2⁶¹, and no sum of the two leaves 64 bits."""


@dataclass(frozen=True, slots=True, repr=False)
class SlideByTupleWindow(ContextAwareWindow):
    """The last W of time, every S events."""

    size: int
    slide: int
    unit: Unit

    def __post_init__(self) -> None:
        if self.size <= 0:
            raise DurationError("size", self.size, "longer than zero")
        positive_count(self.slide, "every")

    def __str__(self) -> str:
        if self.endless:
            return "lifetime" if self.slide == 1 else f"lifetime(every {self.slide})"
        return f"slide_by_tuple({format_length(self.size, self.unit)}, {self.slide})"

    @property
    def endless(self) -> bool:
        """Whether it holds every event up to its trigger, and never lets one go."""
        return self.size == ENDLESS

    @property
    def capacity(self) -> Duration | float:
        return inf if self.endless else Duration(self.size, self.unit)

    @property
    def reach(self) -> str:
        """How far it looks back, in words."""
        return "all of the past" if self.endless else format_last(self.size, self.unit)

    @property
    def meaning(self) -> str:
        each = "each event" if self.slide == 1 else f"every {self.slide:,}th event"
        return f"{self.reach}, up to {each}"

    @property
    def formula(self) -> str:
        each = "for each event r" if self.slide == 1 else f"with r = (w + 1)·{self.slide} − 1"
        return f"E(w) = {self.looking_back('τ_r')} {each}"

    def looking_back(self, instant: str) -> str:
        """The events that are held when the window looks back from `instant`.

        >>> slide_by_tuple(3, 1).looking_back("now")
        '{ τ : now − 3 < τ ≤ now }'
        """
        beyond = "" if self.endless else f"{instant} − {format_length(self.size, self.unit)} < "
        return f"{{ τ : {beyond}τ ≤ {instant} }}"

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        stamps = times(events)
        for w in range(len(events) // self.slide):
            trigger = stamps[(w + 1) * self.slide - 1]
            lo, hi = bisect_right(stamps, trigger - self.size), bisect_right(stamps, trigger)
            # An event with the trigger's own time may still come at watermark τ_r, but not one later.
            yield spanned(w, events, lo, hi, closes_at=trigger + 1)

    def absence(self, position: int, events: Sequence[Event], reading: TimeFormat) -> str:
        size = reading.length(self.size)
        return next_cut(position, self.slide, len(events)) or (
            f"the next window was cut by an event {size} or more after it"
        )


def slide_by_tuple(size: DurationLike, every: int) -> SlideByTupleWindow:
    """The last `size` of time, at every `every`-th event."""
    length = durations.positive(size, "size")
    return SlideByTupleWindow(length.length, every, length.unit)


def lifetime(*, every: int = 1) -> SlideByTupleWindow:
    """All events up to now, at every event: a look-back without end. In `.rolling(…)` a stream keeps one
    aggregate per key. As a window, which has a number and can be corrected, it keeps all events."""
    return SlideByTupleWindow(ENDLESS, every, Unit.EVENTS)
