"""Draw what engines report: `draw(engines, times, size, slide)`, the simulator's answer as a picture.

    a bracket   (lower, t], the scope of the instant t that is reported, around the events that it shows
    a triangle  the arrival whose tick made the engine report

>>> print(draw(["flink", "storm"], [10, 11, 12, 13, 14], 3, 3))
time windows of 3 every 3
<BLANKLINE>
events              t1    t2    t3    t4    t5
time    8     9     10    11    12    13    14
<BLANKLINE>
flink      [─────t1 t2──────]   ▲
storm            [─────t1…t3──────]   ▲
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from sash.display.timeline.picture import Lane, Mark, Picture, Span
from sash.display.timeline.window_lanes import MOST, label, lane_of, run
from sash.errors import ArgumentError
from sash.semantics.event import sequence
from sash.semantics.secret import model
from sash.semantics.secret.arrivals import Arrivals, arrivals, axis_of, positive
from sash.semantics.secret.model import Reported
from sash.semantics.secret.parameters import Profile
from sash.semantics.secret.profiles import PROFILES, profile as profile_named
from sash.semantics.secret.scope import Axis, ScopeWindows
from sash.semantics.secret.simulator import trace, unknown_windows
from sash.semantics.window import Window


def draw(
    engines: str | Profile | Iterable[str | Profile] | None,
    times: Iterable[int],
    size: int,
    slide: int,
    *,
    kind: Literal["time", "count"] = "time",
    batches: Iterable[int] | None = None,
    windows: Iterable[Window] = (),
    title: str = "",
) -> Picture:
    """A picture of what each engine reports (None: every engine that has a profile), one lane each.

    The other arguments are those of `simulate`. `windows` are Sash's own, drawn in lanes below: they are
    laid over times, so they go with kind="time".
    """
    axis = axis_of(kind)
    size, slide = positive("size", size), positive("slide", slide)
    events = arrivals(times, batches=batches)
    own = list(windows)
    if own and axis is Axis.COUNT:
        raise ArgumentError("windows", [window.label for window in own], "left out with kind='count'")
    profiles = PROFILES if engines is None else _named(engines)
    lanes = [_lane(name, profile, axis, events, size, slide) for name, profile in profiles.items()]
    lanes += [lane_of(window, sequence(events.times)) for window in own]
    return Picture(
        title or f"{axis} windows of {size} every {slide}",
        "time" if axis is Axis.TIME else "number",
        tuple(_marks(events, axis)),
        tuple(lanes),
    )


def _named(engines: str | Profile | Iterable[str | Profile]) -> dict[str, Profile]:
    given = [engines] if isinstance(engines, str | Profile) else list(engines)
    named: dict[str, Profile] = {}
    for engine in given:
        if isinstance(engine, Profile):
            named[f"profile {len(named) + 1}"] = engine
        else:
            named[engine] = profile_named(engine)
    return named


def _lane(name: str, profile: Profile, kind: Axis, events: Arrivals, size: int, slide: int) -> Lane:
    unknown = unknown_windows(profile, kind)
    if unknown or not events.times:
        return Lane(name, remark=unknown)
    reports = trace(profile, events.times, size, slide, kind=kind.value, batches=events.batches)
    windows = model.windows_of(profile, kind, events, size, slide)
    spans = tuple(_span(name, report, windows, events, kind) for report in reports[:MOST])
    more = f"… and {len(reports) - MOST} more reports" if len(reports) > MOST else ""
    return Lane(name, spans, more)


def _span(name: str, report: Reported, windows: ScopeWindows, events: Arrivals, kind: Axis) -> Span:
    lower, upper = windows.scope(report.instant)
    content = run(report.content)
    note = f"{name} reports {content} for {kind} {report.instant}, when {label(report.arrival)} arrives"
    at = events.positions(kind)[report.arrival]
    # The scope of an engine with gaps between windows can be empty: then it is drawn at its instant.
    return Span(min(lower, upper - 1) + 0.5, upper + 0.5, content, at, note)


def _marks(events: Arrivals, kind: Axis) -> Iterable[Mark]:
    for index, (position, time) in enumerate(zip(events.positions(kind), events.times, strict=True)):
        yield Mark(position, label(index), f"{label(index)} at time {time}")
