"""What other engines would have reported: the SECRET profiles, simulated over the same events of one key.

    reports with e  =  { r ∈ trace(profile, times of the key, W, S) : e ∈ content(r) }

The model knows time and count windows, and neither disorder nor delay, so the accepted events are taken in
event-time order. Its time is discrete: timestamps are counted in the greatest unit that divides them all.
What is reported of e depends on the first event, which fixes where windows start, and on those at most
ω + β from e. No others are looked at: an engine may have reported millions of windows before. Not so for
count windows of an engine that picks one number per tick and reports empty contents too. Where that number
lies between two windows, whether its empty content is news depends on all that was reported before.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

from sash.semantics.secret import Axis, Profile, Report
from sash.semantics.secret.arrivals import Arrivals
from sash.semantics.secret.model import picks_one
from sash.semantics.secret.scope import ScopeWindows
from sash.semantics.secret.simulator import Simulation, unknown_windows
from sash.semantics.window import Window
from sash.semantics.windows import RowsWindow, TimeWindow

MANY = 200_000
"""The most instants for which an engine that reports at every one is simulated."""

PositionRange = tuple[int, int]
"""The positions lo ≤ p < hi, in the key's order."""


@dataclass(frozen=True, slots=True)
class EngineStory:
    """What one engine reports of the event; `contents` in the order of the reports, without repetitions."""

    engine: str
    reports: int = 0
    contents: tuple[PositionRange, ...] = ()
    same: bool | None = None
    """Whether these are the contents that Sash has reported; None when the engine was not simulated."""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class _NearEvents:
    """The events near the explained one, as the model reads them."""

    kind: Axis
    first: int
    """The position of the key's first event, which fixes where windows start."""
    skipped: int
    """How many events come before the near ones."""
    near: Arrivals
    positions: Sequence[int]
    size: int
    slide: int

    def reports(self, profile: Profile) -> Iterator[PositionRange]:
        """The contents that the engine reports, of windows that reach the near events."""
        origin = profile.scope.origin(self.kind)
        assert origin is not None
        start = origin(self.first, self.size, self.slide)
        passed = max(0, (self.positions[0] - self.size - self.slide - start) // self.slide)
        windows = ScopeWindows(start + passed * self.slide, self.size, self.slide)
        for report in Simulation(profile, self.kind, self.positions, windows).reports(self.near):
            yield report.content.start + self.skipped, report.content.stop + self.skipped


def other_engines(
    profiles: Mapping[str, Profile],
    window: Window,
    times: Sequence[int],
    position: int,
    reported: set[PositionRange],
    *,
    newest: int,
    calendar: bool,
) -> Iterator[EngineStory]:
    """The story of the event at `position` in every engine; nothing for windows that the model has not.

    `newest` is the greatest time of all keys: in an engine with one watermark for all it closes windows.
    """
    if not isinstance(window, TimeWindow | RowsWindow):
        return
    if any(later < earlier for earlier, later in pairwise(times)):
        for name in profiles:
            yield EngineStory(name, remark="not simulated: the model knows no disorder")
        return
    alone = _input(window, times, position, calendar=calendar)
    # As the last arrival it is in no content: it only ticks.
    among = _input(window, [*times, newest], position, calendar=calendar) if newest > times[-1] else alone
    for name, profile in profiles.items():
        given = among if profile.watermark and alone.kind is Axis.TIME else alone
        if picks_one(profile, alone.kind) and Report.NON_EMPTY not in profile.report:
            given = _counted(window, times, 0)
        remark = _unanswerable(profile, given)
        if remark:
            yield EngineStory(name, remark=f"not simulated: {remark}")
            continue
        shown = [content for content in given.reports(profile) if position in range(*content)]
        contents = tuple(dict.fromkeys(shown))
        yield EngineStory(name, len(shown), contents, same=set(contents) == reported)


def _unanswerable(profile: Profile, given: _NearEvents) -> str:
    unknown = unknown_windows(profile, given.kind)
    if unknown:
        return unknown
    span = given.positions[-1] - given.positions[0] + 2 * given.size
    if Report.WINDOW_CLOSE not in profile.report and profile.period and span // profile.period > MANY:
        return "it reports at every instant, and there are too many"
    return ""


def _input(
    window: TimeWindow | RowsWindow, times: Sequence[int], position: int, *, calendar: bool
) -> _NearEvents:
    reach = window.size + window.slide
    if isinstance(window, RowsWindow):
        earliest, latest = (
            times[p] for p in (max(0, position - reach), min(position + reach, len(times) - 1))
        )
        return _counted(window, *_between(times, earliest, latest))
    shifted = [time - window.origin for time in times]
    near, skipped = _between(shifted, shifted[position] - reach, shifted[position] + reach)
    unit = gcd(window.size, window.slide, shifted[0], *near) if calendar else 1
    first, *counted = [time // unit for time in (shifted[0], *near)]
    size, slide = window.size // unit, window.slide // unit
    return _NearEvents(Axis.TIME, first, skipped, _arriving(counted), counted, size, slide)


def _counted(window: TimeWindow | RowsWindow, near: Sequence[int], skipped: int) -> _NearEvents:
    positions = range(skipped + 1, skipped + 1 + len(near))
    return _NearEvents(Axis.COUNT, 1, skipped, _arriving(near), positions, window.size, window.slide)


def _between(times: Sequence[int], earliest: int, latest: int) -> tuple[Sequence[int], int]:
    """All events from `earliest` to `latest`, and the next one, which closes what they leave open; with how
    many come before. Events of one time stay together, as they may be one tick."""
    start = bisect_left(times, earliest)
    return times[start : bisect_right(times, latest) + 1], start


def _arriving(times: Sequence[int]) -> Arrivals:
    return Arrivals(tuple(times), tuple(range(len(times))))
