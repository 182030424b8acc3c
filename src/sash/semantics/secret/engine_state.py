"""A key's reports in pieces: the simulator for unbounded streams, whose old events are gone.

    reports of all events  =  reports of the first part, then of the second, …      (however it is cut)

A report depends on nothing that arrives after its tick. What it depends on of the past is a few numbers
and the events that a scope can still reach: (t0 + n·β, t] only moves forward. Every event is a batch of its
own.

>>> from sash.semantics.secret.profiles import profile
>>> state = EngineState()
>>> [tuple(shown.content) for shown in state.advance(profile("flink"), Axis.TIME, 3, 3, [10, 11])]
[]
>>> [tuple(shown.content) for shown in state.advance(profile("flink"), Axis.TIME, 3, 3, [10, 11, 12, 15])]
[(0, 1), (2,)]
>>> state.let_go(Axis.TIME, 3, 3, [10, 11, 12, 15])
3
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sash.errors import DataError
from sash.semantics.secret.model import NOTHING, windows_from
from sash.semantics.secret.parameters import Profile, Tick
from sash.semantics.secret.scope import Axis, ScopeWindows
from sash.semantics.secret.simulator import Simulation, TickState

MOST = 10_000_000
"""Reports at a time. Engines that show empty or unchanged windows report at every slide or instant
since time 0, and a timestamp counts microseconds."""


class Shown(NamedTuple):
    """One report: the held event that ticked, the window (lower, lower + ω] that it shows, the held events
    that it holds, and how many reports of this window came before it."""

    arrival: int
    lower: int
    content: range
    revision: int


@dataclass(slots=True)
class EngineState:
    """How far the reports of one key have come. Numbers of events count from 0, over all of the key."""

    base: int = 0
    """How many of the key's events are gone."""
    arrived: int = 0
    """How many of those that are held have arrived: the others are still to tick."""
    start: int | None = None
    """t0 (i0), which the first event fixes."""
    previous: int | None = None
    """The position of the last tick."""
    clock: int | None = None
    """The time of the last arrival."""
    last: range = NOTHING
    """What was reported last."""
    lower: int | None = None
    """The window that was reported last."""
    revision: int = 0
    """How often that window had been reported before."""

    def advance(
        self, profile: Profile, kind: Axis, size: int, slide: int, times: Sequence[int], *, ahead: int = 0
    ) -> list[Shown]:
        """`times` are the events that are held; what those that have not arrived make the engine report.

        With `ahead` 1 an event number is closed by the event that has it, and not by the next one."""
        if not times:
            return []
        positions = self._positions(kind, times, ahead=ahead)
        if self.start is None:
            self.start = windows_from(profile, kind, positions[0], size, slide).start
        windows = ScopeWindows(self.start, size, slide)
        run = Simulation(profile, kind, positions, windows)
        state = TickState(self.previous, _moved(self.last, -self.base))
        every_event = profile.tick_of(kind) is not Tick.TIME
        found: list[Shown] = []
        for arrival in range(self.arrived, len(times)):
            if every_event or self.clock is None or times[arrival] > self.clock:
                for report in run.tick(arrival + ahead, state):
                    lower, _ = windows.scope(report.instant)
                    self.revision = self.revision + 1 if lower == self.lower else 0
                    self.lower = lower
                    found.append(Shown(arrival, lower, report.content, self.revision))
                    refuse_too_many(len(found))
            self.clock = times[arrival]
        self.arrived = len(times)
        self.previous, self.last = state.previous, _moved(state.last, self.base)
        return found

    def let_go(self, kind: Axis, size: int, slide: int, times: Sequence[int]) -> int:
        """How many of the oldest held events no later report can show; they are gone from now on."""
        if self.start is None or self.previous is None:
            return 0
        lower, _ = ScopeWindows(self.start, size, slide).scope(max(self.start, self.previous))
        gone = bisect_right(self._positions(kind, times), lower, 0, self.arrived)
        self.base, self.arrived = self.base + gone, self.arrived - gone
        return gone

    def _positions(self, kind: Axis, times: Sequence[int], *, ahead: int = 0) -> Sequence[int]:
        return times if kind is Axis.TIME else range(self.base + 1, self.base + len(times) + 1 + ahead)


def refuse_too_many(reports: int) -> None:
    """DataError when an answer would not fit anywhere."""
    if reports > MOST:
        raise DataError(
            f"there would be {reports:,} reports or more at a time: this engine shows windows that are "
            "empty or have not changed, from time 0 on; give longer slides, or a profile with window-close "
            "and non-empty, or with a longer period"
        )


def _moved(numbers: range, by: int) -> range:
    return range(numbers.start + by, numbers.stop + by)
