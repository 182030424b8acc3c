"""What other engines report for the events of an experiment: the SECRET profiles, simulated.

    reports of an engine  =  trace(profile, times in event-time order, W, S)

The model knows time and count windows, and no disorder: the events that Sash accepted are given in the
order of time. Drawn is the scope of the instant that is reported: (lower, upper] of whole numbers, which is
[lower + 1, upper + 1), so that all lanes have the same kind of ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.semantics.event import Event
from sash.semantics.secret import PROFILES, Axis, Profile, trace
from sash.semantics.secret.arrivals import arrivals
from sash.semantics.secret.model import windows_of
from sash.semantics.secret.simulator import unknown_windows
from sash.semantics.window import Window
from sash.semantics.windows import RowsWindow, TimeWindow

MOST = 40
"""Reports of an engine that are shown."""


def engines(
    window: Window, events: Sequence[Event], reported: set[tuple[int, ...]]
) -> list[dict[str, Any]]:
    """A lane for each engine; `reported` are the contents that Sash has reported, as ordinals."""
    if not isinstance(window, TimeWindow | RowsWindow) or not events:
        return []
    return [
        {"engine": name, "profile": str(profile), **_lane(profile, window, events, reported)}
        for name, profile in PROFILES.items()
    ]


def _lane(
    profile: Profile,
    window: TimeWindow | RowsWindow,
    events: Sequence[Event],
    reported: set[tuple[int, ...]],
) -> dict[str, Any]:
    kind = Axis.COUNT if isinstance(window, RowsWindow) else Axis.TIME
    origin = 0 if isinstance(window, RowsWindow) else window.origin
    times = [event.time - origin for event in events]
    unknown = unknown_windows(profile, kind)
    if unknown:
        return {"remark": unknown, "reports": [], "same": None}
    reports = trace(profile, times, window.size, window.slide, kind=kind.value)
    scopes = windows_of(profile, kind, arrivals(times), window.size, window.slide)
    shown = []
    for report in reports[:MOST]:
        held = [events[index] for index in report.content]
        begin, end = (bound + origin + 1 for bound in scopes.scope(report.instant))
        if kind is Axis.COUNT:
            at = events[report.arrival].time
            begin, end = (held[0].time, held[-1].time) if held else (at, at)
        holds = [event.ordinal for event in held]
        arrival = events[report.arrival].ordinal
        shown.append({"begin": min(begin, end), "end": end, "holds": holds, "arrival": arrival})
    contents = {tuple(sorted(events[index].ordinal for index in report.content)) for report in reports}
    more = f"… and {len(reports) - MOST} more reports" if len(reports) > MOST else ""
    return {"remark": more, "reports": shown, "same": contents == reported}
