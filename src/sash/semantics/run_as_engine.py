"""Run as an engine: the declared windows, reported as a SECRET profile prescribes.

    one watermark   time windows and sessions are Sash's own, with the engine's rules for late events and
                    at exactly the gap of a session
    any other       reports of a key  =  secret.trace(profile, the key's times in order, size, slide)

There an engine is one more windower: which ranges of a key's events are reported, and at which of them;
what is folded over them stays what it is. Each key is a SECRET stream of its own, in event-time order. A
report is known by the event that ticks, so it is final when that event is: `closes_at` is its time.

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
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Event, Order
from sash.semantics.query import Query
from sash.semantics.secret.engine_state import EngineState, Shown
from sash.semantics.secret.parameters import AtGap, Profile, Report, Tick
from sash.semantics.secret.profiles import profile as profile_named
from sash.semantics.secret.scope import ALIGNED_START, Axis
from sash.semantics.secret.simulator import require_windows
from sash.semantics.watermark import LateBy
from sash.semantics.window import BOTH_ORDERS, Context, Extent, Window, spanned, times
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
    def half_open(self) -> bool:  # type: ignore[override]
        return self.declared.half_open

    @property
    def capacity(self) -> Duration | float | None:
        return self.declared.capacity

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
    def ahead(self) -> int:
        """1 where the event that completes a window of rows reports it; in the model it is the next one."""
        return int(self.kind is Axis.COUNT and self.profile.watermark)

    @property
    def orders(self) -> frozenset[Order]:  # type: ignore[override]
        """Events are numbered as they come where every one of them ticks, whatever its time."""
        counted = self.kind is Axis.COUNT and self.profile.tick_of(self.kind) is Tick.TUPLE
        return BOTH_ORDERS if counted else frozenset({Order.EVENT_TIME})

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
        shown = state.advance(self.profile, self.kind, size, slide, self._times(events), ahead=self.ahead)
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


@dataclass(frozen=True, slots=True, repr=False)
class EngineSession(SessionWindow):
    """Sessions with the rule of an engine at exactly the gap.

    >>> from sash.semantics.event import sequence
    >>> beam = EngineSession(5, Unit.TICKS, AtGap.SPLITS)
    >>> [(s.id, s.lo, s.hi, s.end, s.closes_at) for s in beam.extents(sequence([1, 3, 8, 14]))]
    [(1, 0, 2, 8, 8), (8, 2, 3, 13, 13), (14, 3, 4, 19, 19)]
    """

    at_gap: AtGap

    @property
    def reach(self) -> int:
        return self.gap - (self.at_gap is AtGap.SPLITS)

    @property
    def patience(self) -> int:
        return self.gap + (self.at_gap is AtGap.JOINS)


def declared_window(window: Window) -> Window:
    """The window as the user declared it, whichever engine it is reported as."""
    return window.declared if isinstance(window, EngineWindow) else window


def as_engine(query: Query, engine: str | Profile) -> Query:
    """The query whose windows are reported as `engine` does; refused where that is not known."""
    name = engine if isinstance(engine, str) else "this profile"
    windows = tuple(engine_window(window, engine) for window in query.windows)
    lateness = query.allowed_lateness
    refuses_lateness = lateness.length > 0 and not _allows_lateness(engine, windows)
    unsupported = {
        "emit": (query.emit.early, str(query.emit), "'close'"),
        "empty": (query.empty, query.empty, "False"),
        "allowed_lateness": (refuses_lateness, str(lateness), "zero"),
    }
    for argument, (given, value, works) in unsupported.items():
        if given:
            raise Unsupported(
                argument, value, f"{works} with semantics({name!r})",
                hint="The profile determines what is reported, and when.",
            )  # fmt: skip
    return replace(query, windows=windows, late_by=_late_by(engine, windows))


def _allows_lateness(engine: str | Profile, windows: tuple[Window, ...]) -> bool:
    """Flink and Beam keep time windows that long after their end, and report them again with each event
    that still comes for them. When they merge sessions they do not take back what they have reported, as
    Sash does."""
    profile = _profile(engine)
    keeps_windows = profile.watermark and profile.lateness
    return keeps_windows and all(isinstance(window, TimeWindow) for window in windows)


def _late_by(engine: str | Profile, windows: tuple[Window, ...]) -> LateBy:
    """What makes an event late. A session that is over has let its events go, which other windows may still
    need: only a session that is alone is judged by its end."""
    by_clock = all(isinstance(window, TimeWindow) for window in windows)
    one_session = len(windows) == 1 and isinstance(windows[0], SessionWindow)
    return _profile(engine).late_by if by_clock or one_session else LateBy.TIME


def engine_window(window: Window, engine: str | Profile) -> Window:
    """The window as `engine` reports it. Sash's own where the two are the same: time windows that one
    watermark of all keys closes, and sessions that wait for an event at exactly the gap."""
    profile = _profile(engine)
    name = engine if isinstance(engine, str) else "this profile"
    match window:
        case SessionWindow() if profile.sessions:
            if profile.sessions is AtGap.JOINS:
                return window
            return EngineSession(window.gap, window.unit, profile.sessions, name=window.name)
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


def _profile(engine: str | Profile) -> Profile:
    return engine if isinstance(engine, Profile) else profile_named(engine)


def _require_own_windows(profile: Profile, name: str) -> None:
    if profile.scope.time != ALIGNED_START or profile.report != ON_CLOSE:
        raise Unsupported(
            "engine", name, "a profile without watermark",
            hint="A watermark of all keys closes time windows that start at multiples of the slide "
            f"(t0 = {ALIGNED_START}) and are reported when they close and hold an event.",
        )  # fmt: skip
