"""Slide-by-time windows: the last W events, looked back at from every multiple of S.

    T = origin + (w + 1)·S
    E(w) = the last W events with τ < T

A window shows the time of its first event as its start and T as its end: [start, T) holds its events. The
first window of a key is the first T after its first event. There is one for every later T, whether or not
events have come since: 'the last ten trades, every minute' are the same ten when there are no trades.

>>> from sash.semantics.event import sequence
>>> slide_by_time(2, 10).extent(1, sequence([1, 2, 3, 15, 25]))
range(2, 4)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sash.errors import DurationError
from sash.semantics import durations
from sash.semantics.durations import DurationLike, Unit, format_length, format_origin
from sash.semantics.event import Event
from sash.semantics.time_format import TimeFormat
from sash.semantics.window import ContextAwareWindow, Extent, positive_count, times


@dataclass(frozen=True, slots=True, repr=False)
class SlideByTimeWindow(ContextAwareWindow):
    """The last W events, every S of time."""

    size: int
    slide: int
    origin: int
    unit: Unit

    half_open: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive_count(self.size, "size")
        if self.slide <= 0:
            raise DurationError("every", self.slide, "longer than zero")

    def __str__(self) -> str:
        origin = f", origin={format_length(self.origin, self.unit)}" if self.origin else ""
        return f"slide_by_time({self.size}, {format_length(self.slide, self.unit)}{origin})"

    @property
    def capacity(self) -> int:
        return self.size

    @property
    def meaning(self) -> str:
        return f"the last {self.size:,} events, every {format_length(self.slide, self.unit)}"

    @property
    def formula(self) -> str:
        slide = format_length(self.slide, self.unit)
        origin = format_origin(self.origin, self.unit)
        return f"E(w) = the last {self.size} events with τ < {origin}(w + 1)·({slide})"

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        if not events:
            return
        stamps = times(events)
        last = stamps[-1] if horizon is None else max(horizon, stamps[-1])
        first_w, last_w = ((stamp - self.origin) // self.slide for stamp in (stamps[0], last))
        for w in range(first_w, last_w + 1):
            instant = self.origin + (w + 1) * self.slide
            hi = bisect_left(stamps, instant)
            lo = max(0, hi - self.size)
            yield Extent(w, lo, hi, stamps[lo], instant, closes_at=instant)

    def absence(self, position: int, events: Sequence[Event], reading: TimeFormat) -> str:
        return f"at the next multiple of the slide it was not among the last {self.size} events"


def slide_by_time(size: int, every: DurationLike, *, origin: DurationLike = 0) -> SlideByTimeWindow:
    """The last `size` events, at every `every` of time."""
    slide = durations.positive(every, "every")
    shift = durations.parse(origin, "origin")
    unit = durations.same_unit(every=slide, origin=shift)
    return SlideByTimeWindow(size, slide.length, shift.length, unit)
