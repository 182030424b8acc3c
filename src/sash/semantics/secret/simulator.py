"""Simulate an engine: events in, the reports that it would print out.

    simulate(engine, times, size, slide)  =  the contents of `model.evaluate`, without looking at instants
                                             that cannot report

An instant t that fails a condition on its content (non-empty, content-change) is followed by instants that
fail it too, until the content becomes another one: an event enters, or the oldest one leaves the scope. And
window-close and periodic only hold at the ends of windows and at multiples of the period. So the simulator
leaps: it looks at no more than 3 instants per event, and at those that satisfy Report, whatever the span.
What an engine does report takes its time: spark_dstream shows every empty window.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd, lcm
from typing import Literal

from sash.errors import Unsupported
from sash.semantics.secret import model
from sash.semantics.secret.arrivals import Arrivals, arrivals, axis_of, positive
from sash.semantics.secret.model import NOTHING, Reported
from sash.semantics.secret.parameters import Profile, Report
from sash.semantics.secret.profiles import profile as profile_named
from sash.semantics.secret.scope import Axis, ScopeWindows


def simulate(
    engine: str | Profile,
    times: Iterable[int],
    size: int,
    slide: int,
    *,
    kind: Literal["time", "count"] = "time",
    batches: Iterable[int] | None = None,
) -> list[list[int]]:
    """The windows that `engine` reports, in order, each as the 0-based indexes of the events it holds.

    `times` never decrease; the last one only closes what lies before it. `size` and `slide` are in units of
    time, or numbers of events with kind="count". `batches` is each event's batch number, which only
    batch-driven engines look at; without it every event is its own batch.

    >>> simulate("storm", range(10, 20), 3, 3)
    [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    >>> simulate("flink", range(10, 20), 3, 3)
    [[0, 1], [2, 3, 4], [5, 6, 7]]
    >>> simulate("oracle_cep", [10, 10, 11, 12, 12, 13], 1, 1, kind="count")
    [[1], [2], [4]]
    """
    reports = trace(engine, times, size, slide, kind=kind, batches=batches)
    return [list(report.content) for report in reports]


def trace(
    engine: str | Profile,
    times: Iterable[int],
    size: int,
    slide: int,
    *,
    kind: Literal["time", "count"] = "time",
    batches: Iterable[int] | None = None,
) -> list[Reported]:
    """As `simulate`, with the arrival that caused each report and the instant that it is for.

    >>> trace("flink", [30, 31, 36], 5, 5)
    [Reported(arrival=2, instant=34, content=range(0, 2))]
    """
    profile = engine if isinstance(engine, Profile) else profile_named(engine)
    axis = axis_of(kind)
    require_windows(engine, profile, axis)
    size, slide = positive("size", size), positive("slide", slide)
    events = arrivals(times, batches=batches)
    if not events.times:
        return []
    windows = model.windows_of(profile, axis, events, size, slide)
    return list(Simulation(profile, axis, events.positions(axis), windows).reports(events))


def unknown_windows(profile: Profile, kind: Axis) -> str:
    """Why nothing can be simulated for windows of this kind; empty if it can."""
    origin = profile.scope.origin(kind)
    if origin is None:
        return f"no {kind} windows"
    return "" if origin.function else "where its windows start is not known"


def require_windows(engine: str | Profile, profile: Profile, kind: Axis) -> None:
    """Unsupported unless the engine has windows of this kind, and it is known where they start."""
    name = "this profile" if isinstance(engine, Profile) else engine
    origin = profile.scope.origin(kind)
    if origin is None:
        other = Axis.TIME if kind is Axis.COUNT else Axis.COUNT
        raise Unsupported("kind", str(kind), f"'{other}' for {name}, which has no {kind} windows")
    if origin.function is None:
        hint = (
            f"The t0 of {name} is unknown; its Tick ({profile.tick_of(kind)}) and Report "
            f"({profile.conjunction}) are known. Use dataclasses.replace to give it a scope of your own."
        )
        raise Unsupported("engine", engine, "a profile whose scope is known", hint=hint)


@dataclass(slots=True)
class TickState:
    """What a tick must know of the ones before it: their last position, and the last reported content."""

    previous: int | None = None
    last: range = NOTHING


@dataclass(frozen=True, slots=True)
class Simulation:
    """`model.evaluate` by leaps."""

    profile: Profile
    kind: Axis
    positions: Sequence[int]
    windows: ScopeWindows

    def reports(self, events: Arrivals) -> Iterator[Reported]:
        state = TickState()
        for arrival in model.ticks(self.profile.tick_of(self.kind), events):
            yield from self.tick(arrival, state)

    def tick(self, arrival: int, state: TickState) -> Iterator[Reported]:
        """What this arrival, which ticks, makes the engine report."""
        now = self.positions[arrival]
        passed = model.instants(state.previous, now, self.windows.start)
        together = model.picks_one(self.profile, self.kind)
        for report in (self.picked if together else self.found)(arrival, passed, state.last):
            state.last = report.content
            yield report
        state.previous = now

    def picked(self, arrival: int, passed: range, last: range) -> Iterator[Reported]:
        """What one tick reports when all its instants are one evaluation."""
        if not passed or not model.is_news(
            self.profile, self.content(arrival, model.pick(self.profile, passed)), last
        ):
            return
        first = next_due(self.profile, self.windows, passed.start, passed.stop)
        due = range(first, passed.stop, due_every(self.profile, self.windows))
        if due:
            t = model.pick(self.profile, due)
            yield Reported(arrival, t, self.content(arrival, t))

    def found(self, arrival: int, passed: range, last: range) -> Iterator[Reported]:
        """What one tick reports when every instant is an evaluation of its own."""
        t = next_due(self.profile, self.windows, passed.start, passed.stop)
        while t < passed.stop:
            held = self.content(arrival, t)
            following = t + 1
            if not model.is_news(self.profile, held, last):
                following = changes_at(self.positions, arrival, self.windows, t, held, passed.stop)
            elif model.is_due(self.profile, self.windows, t, self.positions[arrival]):
                last = held
                yield Reported(arrival, t, held)
            t = next_due(self.profile, self.windows, following, passed.stop)

    def content(self, arrival: int, t: int) -> range:
        return model.content(self.positions, arrival, self.windows.scope(t))


def next_due(profile: Profile, windows: ScopeWindows, t: int, never: int) -> int:
    """The least instant from t on that is an end of a window and a multiple of the period, if required.

    With both, the end e + k·β must be a multiple of the period λ: k ≡ −(e/g)·(β/g)⁻¹ mod λ/g, with
    g = gcd(β, λ); `never` when g does not divide e.

    >>> from dataclasses import replace
    >>> flink, windows = profile_named("flink"), ScopeWindows(-1, 3, 3)
    >>> next_due(flink, windows, 9, 100)
    11
    >>> every_5 = replace(flink, report={*flink.report, Report.PERIODIC}, period=5)
    >>> next_due(every_5, windows, 6, 100), next_due(every_5, windows, 12, 100)
    (20, 20)
    """
    period = profile.period or 1
    if Report.WINDOW_CLOSE not in profile.report:
        return -(-t // period) * period
    end, common = windows.next_end(t), gcd(windows.slide, period)
    if end % common:
        return never
    cycle = period // common
    return end + -(end // common) * pow(windows.slide // common, -1, cycle) % cycle * windows.slide


def due_every(profile: Profile, windows: ScopeWindows) -> int:
    """The distance between two instants that are due: they are an arithmetic progression.

    >>> [due_every(profile_named(name), ScopeWindows(0, 3, 3)) for name in ("flink", "coral8")]
    [3, 1]
    """
    return lcm(windows.slide if Report.WINDOW_CLOSE in profile.report else 1, profile.period or 1)


def changes_at(
    positions: Sequence[int], arrived: int, windows: ScopeWindows, t: int, held: range, never: int
) -> int:
    """The least instant after t at which the content can differ from `held`, at most `never`.

    >>> changes_at((30, 31), 2, ScopeWindows(25, 5, 1), 31, range(0, 2), 40)
    35
    """
    entering = bisect_right(positions, t, 0, arrived)
    enters = positions[entering] if entering < arrived else never
    leaves = windows.leaves_at(positions[held.start]) if held else never
    return min(enters, leaves, never)
