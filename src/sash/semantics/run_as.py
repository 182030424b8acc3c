"""Run as an engine: the declared windows, reported as a SECRET profile prescribes.

    reports of a key  =  secret.trace(profile, the times of the key's events in order, size, slide)

An engine is one more windower: which ranges of a key's events are reported, and at which of them; what is
folded over them stays what it is. Each key is a SECRET stream of its own, in event-time order. A report is
known by the event that ticks, so it is final when that event is: `closes_at` is the event's time.

Window (t0 + n·β, t0 + n·β + ω] of the model shows itself as [start, end) = [t0 + n·β + 1, start + ω), with
the identifier ⌊start / β⌋: Sash's own where windows start at multiples of β. An `origin` of the declared
window shifts time. Windows of rows count events from 0 in the same way, and show the times of their first
and last event. Where a profile reports a window more than once, `revision` counts its reports from 0.

>>> from sash.semantics.event import sequence
>>> from sash.semantics.windows import time
>>> window = engine_window(time(3, 3), "flink")
>>> [(e.id, e.lo, e.hi, e.start, e.end) for e in window.extents(sequence([10, 11, 12, 15]))]
[(3, 0, 2, 9, 12), (4, 2, 3, 12, 15)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from sash.errors import Unsupported
from sash.semantics.durations import Unit
from sash.semantics.event import Event
from sash.semantics.query import Query
from sash.semantics.secret.engine_state import EngineState, Shown
from sash.semantics.secret.parameters import Profile, Report
from sash.semantics.secret.profiles import profile as profile_named
from sash.semantics.secret.scope import ALIGNED_START, Axis
from sash.semantics.secret.simulator import require_windows
from sash.semantics.window import Context, Extent, Window, spanned, times
from sash.semantics.windows import RowsWindow, SessionWindow, TimeWindow

ON_CLOSE = frozenset({Report.WINDOW_CLOSE, Report.NON_EMPTY})


@dataclass(frozen=True, slots=True, repr=False)
class EngineWindow(Window):
    """A window of time or rows as an engine reports it."""

    declared: TimeWindow | RowsWindow
    profile: Profile
    engine: str
    """The profile's name, for people."""

    context: ClassVar[Context] = Context.FCA

    def __str__(self) -> str:
        return f"{self.declared} as {self.engine}"

    @property
    def kind(self) -> Axis:
        return Axis.TIME if isinstance(self.declared, TimeWindow) else Axis.COUNT

    @property
    def time_unit(self) -> Unit:
        return self.declared.time_unit

    @property
    def meaning(self) -> str:
        return f"{self.declared.meaning}, as {self.engine} reports it"

    @property
    def formula(self) -> str:
        return f"what {self.engine} reports: {self.profile}"

    @property
    def shift(self) -> int:
        """What is taken off the times before the engine sees them."""
        return self.declared.origin if isinstance(self.declared, TimeWindow) else 0

    @property
    def repeats(self) -> bool:
        return Report.WINDOW_CLOSE not in self.profile.report

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        """One for each report, in order; a window that is reported again comes again."""
        for extent, _ in self.reports(events, EngineState()):
            yield extent

    def reports(self, events: Sequence[Event], state: EngineState) -> list[tuple[Extent, int]]:
        """What the events that have not arrived in `state` make the engine report, with the revision."""
        size, slide = self.declared.size, self.declared.slide
        shown = state.advance(self.profile, self.kind, size, slide, self._times(events))
        return [(self._extent(one, events), one.revision) for one in shown]

    def let_go(self, events: Sequence[Event], state: EngineState) -> int:
        """How many of the oldest events no later report of `state` can show."""
        return state.let_go(self.kind, self.declared.size, self.declared.slide, self._times(events))

    def _times(self, events: Sequence[Event]) -> list[int]:
        return [time - self.shift for time in times(events)]

    def _extent(self, shown: Shown, events: Sequence[Event]) -> Extent:
        # An empty range stands where the next one can begin, so that ranges never decrease.
        hi = shown.content.stop
        lo, closes_at = min(shown.content.start, hi), events[shown.arrival].time
        if self.kind is Axis.COUNT:
            return spanned(shown.lower // self.declared.slide, events, lo, hi, closes_at=closes_at)
        w, start = (shown.lower + 1) // self.declared.slide, shown.lower + 1 + self.shift
        return Extent(w, lo, hi, start, start + self.declared.size, closes_at)


def declared_window(window: Window) -> Window:
    """The window as the user declared it, whichever engine it is reported as."""
    return window.declared if isinstance(window, EngineWindow) else window


def as_engine(query: Query, engine: str | Profile) -> Query:
    """The query whose windows are reported as `engine` does; refused where that is not known."""
    name = engine if isinstance(engine, str) else "this profile"
    unsupported = {
        "emit": (query.emit.early, str(query.emit), "'close'"),
        "empty": (query.empty, query.empty, "False"),
        "allowed_lateness": (query.allowed_lateness.length > 0, str(query.allowed_lateness), "zero"),
    }
    windows = tuple(engine_window(window, engine) for window in query.windows)
    for argument, (given, value, works) in unsupported.items():
        if given:
            raise Unsupported(
                argument, value, f"{works} with semantics({name!r})",
                hint="The profile determines what is reported, and when.",
            )  # fmt: skip
    return replace(query, windows=windows)


def engine_window(window: Window, engine: str | Profile) -> Window:
    """The window as `engine` reports it. Sash's own where the two are the same: sessions, and time windows
    that are closed by a watermark of all keys."""
    profile = engine if isinstance(engine, Profile) else profile_named(engine)
    name = engine if isinstance(engine, str) else "this profile"
    match window:
        case SessionWindow() if profile.sessions:
            return window
        case TimeWindow() if profile.watermark:
            _require_own_windows(profile, name)
            return window
        case TimeWindow() | RowsWindow():
            kind = Axis.TIME if isinstance(window, TimeWindow) else Axis.COUNT
            require_windows(engine, profile, kind)
            return EngineWindow(window, profile, name, name=window.name)
    kinds = "a time, rows or session window" if profile.sessions else "a time or rows window"
    raise Unsupported(
        "window", window.label, f"{kinds} with semantics({name!r})",
        hint="What engines report of other windows is not part of the SECRET model.",
    )  # fmt: skip


def _require_own_windows(profile: Profile, name: str) -> None:
    if profile.scope.time != ALIGNED_START or profile.report != ON_CLOSE:
        raise Unsupported(
            "engine", name, "a profile without watermark",
            hint="A watermark of all keys closes time windows that start at multiples of the slide "
            f"(t0 = {ALIGNED_START}) and are reported when they close and hold an event.",
        )  # fmt: skip
