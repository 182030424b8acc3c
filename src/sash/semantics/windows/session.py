"""Session windows: maximal chains of events whose neighbours are at most `gap` apart.

    positions p and p + 1 are in one session  ⟺  τ_{p+1} − τ_p ≤ gap

A distance of exactly `gap` joins, as in Spark's session_window. A session shows [first event, last event +
gap] and is identified by the time of its first event: unlike a running number, that needs no memory of the
sessions before it, so the state of an idle key can be forgotten. It closes when the watermark has passed
last event + gap, because an event at exactly that time would still join.

>>> from sash.semantics.event import sequence
>>> [(s.id, s.lo, s.hi, s.end) for s in session(5).extents(sequence([1, 3, 8, 14]))]
[(1, 0, 3, 13), (14, 3, 4, 19)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sash.errors import DurationError
from sash.semantics import durations
from sash.semantics.durations import DurationLike, Unit, format_length
from sash.semantics.event import Event
from sash.semantics.window import Context, ContextAwareWindow, Extent, times
from sash.wrong_calls import called_as


@dataclass(frozen=True, slots=True, repr=False)
class SessionWindow(ContextAwareWindow):
    """Bursts of activity, cut where nothing happens for longer than `gap`."""

    gap: int
    unit: Unit

    context: ClassVar[Context] = Context.FCF

    def __post_init__(self) -> None:
        if self.gap <= 0:
            raise DurationError("gap", self.gap, "longer than zero")

    def __str__(self) -> str:
        return f"session({format_length(self.gap, self.unit)})"

    @property
    def meaning(self) -> str:
        return f"events that are at most {format_length(self.gap, self.unit)} apart"

    @property
    def reach(self) -> int:
        """How far apart neighbours are, at most."""
        return self.gap

    @property
    def patience(self) -> int:
        """How far behind the last event the watermark closes the session."""
        return self.gap + 1

    @property
    def formula(self) -> str:
        gap = format_length(self.gap, self.unit)
        return f"E(w) = the maximal chain, from τ = w on, of neighbours at most {gap} apart"

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        stamps, lo = times(events), 0
        for hi in range(1, len(stamps) + 1):
            if hi == len(stamps) or stamps[hi] - stamps[hi - 1] > self.reach:
                first, last = stamps[lo], stamps[hi - 1]
                yield Extent(first, lo, hi, first, last + self.gap, closes_at=last + self.patience)
                lo = hi


@called_as("sash.session('5 minutes')")
def session(gap: DurationLike) -> SessionWindow:
    """Sessions that end when nothing happens for longer than `gap`."""
    length = durations.positive(gap, "gap")
    return SessionWindow(length.length, length.unit)
