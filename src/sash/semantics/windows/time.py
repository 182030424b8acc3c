"""Time windows: sliding (also called hopping) and tumbling.

    E(w) = { τ : origin + w·S ≤ τ < origin + w·S + W },   w = …, −1, 0, 1, …

The start belongs to the window, the end does not. W = S is tumbling, W > S overlaps, W < S leaves gaps:
then events may belong to no window. A window closes when the watermark reaches its end.

>>> time(10, 5).extent(-1)
range(-5, 5)
>>> time(10, 5).mapping(12)
range(1, 3)
>>> time(2, 5).mapping(3)
range(1, 1)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sash.errors import ArgumentError, DurationError
from sash.semantics import durations
from sash.semantics.durations import Duration, DurationLike, Unit, format_length, format_origin
from sash.semantics.event import Event
from sash.semantics.time_format import TimeFormat
from sash.semantics.window import IntervalWindow
from sash.wrong_calls import called_as

_LABEL = re.compile(r"time\((?P<size>[^,]+), (?P<slide>[^,]+)(?P<origin>, origin=[^,]+)?\)")


@dataclass(frozen=True, slots=True, repr=False)
class TimeWindow(IntervalWindow):
    """A range of time W, every S."""

    size: int
    slide: int
    origin: int
    unit: Unit

    def __post_init__(self) -> None:
        for argument, length in (("size", self.size), ("every", self.slide)):
            if length <= 0:
                raise DurationError(argument, length, "longer than zero")

    def __str__(self) -> str:
        size, slide = format_length(self.size, self.unit), format_length(self.slide, self.unit)
        origin = f", origin={format_length(self.origin, self.unit)}" if self.origin else ""
        return f"time({size}, {slide}{origin})"

    @property
    def written(self) -> str:
        """
        >>> tumbling("1 minute").written, sliding(10, every=5, origin=1).written
        ('tumbling(1 minute)', 'sliding(10, every=5, origin=1)')
        """
        size, slide = format_length(self.size, self.unit), format_length(self.slide, self.unit)
        origin = f", origin={format_length(self.origin, self.unit)}" if self.origin else ""
        if self.slide == self.size:
            return f"tumbling({size}{origin})"
        return f"sliding({size}, every={slide}{origin})"

    @property
    def capacity(self) -> Duration:
        return Duration(self.size, self.unit)

    @property
    def meaning(self) -> str:
        size, slide = format_length(self.size, self.unit), format_length(self.slide, self.unit)
        every = "one after the other" if self.slide == self.size else f"every {slide}"
        return f"{size} long, {every}, [start, end)"

    @property
    def formula(self) -> str:
        size, slide = format_length(self.size, self.unit), format_length(self.slide, self.unit)
        start = f"{format_origin(self.origin, self.unit)}w·({slide})"
        return f"E(w) = {{ τ : {start} ≤ τ < {start} + {size} }}"

    def extent(self, w: int) -> range:
        start = self.origin + w * self.slide
        return range(start, start + self.size)

    def mapping(self, x: int) -> range:
        offset = x - self.origin
        return range((offset - self.size) // self.slide + 1, offset // self.slide + 1)

    def absence(self, position: int, events: Sequence[Event], reading: TimeFormat) -> str:
        after = self.mapping(events[position].time).stop
        before, behind = map(reading.time, (self.extent(after - 1).stop, self.extent(after).start))
        return f"between two windows: one ended at {before}, the next begins at {behind}"


def label_as_written(label: str) -> str:
    """The call for the label of a time window, as state knows it; other labels stay.

    >>> label_as_written("time(10 minutes, 1 minute)"), label_as_written("time(5, 5, origin=1)")
    ('sliding(10 minutes, every=1 minute)', 'tumbling(5, origin=1)')
    >>> label_as_written("rows(5)")
    'rows(5)'
    """
    found = _LABEL.fullmatch(label)
    if found is None:
        return label
    size, slide, origin = found["size"], found["slide"], found["origin"] or ""
    return f"tumbling({size}{origin})" if size == slide else f"sliding({size}, every={slide}{origin})"


def time(size: DurationLike, every: DurationLike, *, origin: DurationLike = 0) -> TimeWindow:
    """Windows of length `size`, starting every `every`; `origin` shifts where they start."""
    length, slide = durations.positive(size, "size"), durations.positive(every, "every")
    shift = durations.parse(origin, "origin")
    unit = durations.same_unit(size=length, every=slide, origin=shift)
    return TimeWindow(length.length, slide.length, shift.length, unit)


@called_as("sash.sliding('1 hour', every='1 minute')")
def sliding(
    size: DurationLike, every: DurationLike | None = None, *, origin: DurationLike = 0
) -> TimeWindow:
    """Windows of length `size`, starting every `every`. If `every` is longer than `size`, there are gaps
    between the windows, and events in a gap belong to none.

    >>> str(sliding("1 hour", every="1 second"))
    'time(1 hour, 1 second)'
    """
    if every is None:
        raise ArgumentError(
            "every", every, "a duration",
            message=f"sliding({size!r}) needs every=, the time from one start of a window to the next",
            hint=f"Windows that follow each other without a gap are tumbling({size!r})",
        )  # fmt: skip
    return time(size, every, origin=origin)


@called_as(
    "sash.tumbling('1 minute')",
    {"every": "Its windows follow each other; for overlapping ones write sash.sliding(size, every=…)."},
)
def tumbling(size: DurationLike, *, origin: DurationLike = 0) -> TimeWindow:
    """Windows of length `size` that follow each other without gap or overlap: W = S."""
    return time(size, size, origin=origin)


def hopping(
    size: DurationLike, every: DurationLike | None = None, *, origin: DurationLike = 0
) -> TimeWindow:
    """Another name for `sliding`: Flink and Azure call these windows hopping.

    >>> hopping("1 hour", every="1 minute") == sliding("1 hour", every="1 minute")
    True
    """
    return sliding(size, every, origin=origin)
