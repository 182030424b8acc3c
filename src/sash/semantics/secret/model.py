"""The model, step by step, as small pure functions, and the evaluator that is nothing but the definition.

    tick     an arrival makes the engine look; `ticks` lists the arrivals that do
    instants the application times (event numbers) [previous tick, this tick) that it then looks at
    scope    the interval (t0 + n·β, t] of each instant t
    content  the events in the scope that arrived strictly before the arrival that ticks
    report   whether something is shown: a conjunction of conditions on the content and on the instant
    pick     count windows only: which of the instants that one tick evaluates together

The events are known by their positions: times for time windows, the numbers 1, 2, 3, … for count windows.
With that, both kinds of windows are evaluated by the same lines.

Report when several instants are one evaluation, as those of a tick of count windows are:

    content-change, non-empty   conditions on what the engine sees when it looks: they are evaluated once,
                                on the content at the instant that Pick takes of all
    window-close, periodic      conditions on single instants: Pick takes one of those that satisfy them,
                                and its content is reported

Only windows with gaps (β > ω) distinguish the two. When the latest number of a tick lies in a gap, what is
seen is empty, although the same tick may have closed a window before the gap: with non-empty that window is
not reported, and with content-change only if there was a report before.

`evaluate` looks at every instant there is. That is the definition, and it is slow when times jump; the
simulator leaps over instants that cannot report and is tested against it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sash.errors import Unsupported
from sash.semantics.secret.arrivals import Arrivals
from sash.semantics.secret.parameters import Pick, Profile, Report, Tick
from sash.semantics.secret.scope import Axis, ScopeWindows

NOTHING = range(0)
"""What counts as the last reported content before the first report."""


class Reported(NamedTuple):
    """One report: the index of the arrival that ticked, the instant t, and the event indexes it shows."""

    arrival: int
    instant: int
    content: range


def ticks(tick: Tick, arrivals: Arrivals) -> list[int]:
    """The indexes of the arrivals that tick: all; those with a new time; those with a new batch number.

    The first arrival always ticks. Where a batch only holds events of one time (as Coral8's do), time
    ticks ⊆ batch ticks ⊆ tuple ticks.

    >>> events = Arrivals(times=(3, 5, 5, 5), batches=(1, 2, 2, 3))
    >>> ticks(Tick.TUPLE, events), ticks(Tick.BATCH, events), ticks(Tick.TIME, events)
    ([0, 1, 2, 3], [0, 1, 3], [0, 1])
    """
    if tick is Tick.TUPLE:
        return list(range(len(arrivals.times)))
    clock = arrivals.times if tick is Tick.TIME else arrivals.batches
    return [index for index, now in enumerate(clock) if index == 0 or now > clock[index - 1]]


def instants(previous: int | None, current: int, start: int) -> range:
    """[previous, current): what has passed since the previous tick; from t0 when there was none.

    A tick at the same position evaluates that position itself. Nothing is evaluated before t0.

    >>> instants(None, 10, 8), instants(10, 13, 8), instants(13, 13, 8), instants(2, 10, 8)
    (range(8, 10), range(10, 13), range(13, 14), range(8, 10))
    """
    if previous is None:
        return range(start, current)
    return range(max(previous, start), current + 1 if previous == current else current)


def content(positions: Sequence[int], arrived: int, scope: tuple[int, int]) -> range:
    """The indexes of the events with lower < position ≤ upper among the first `arrived` ones.

    Positions never decrease, so this is a range; all empty ranges are equal.

    >>> content((3, 5, 5, 7), 2, (3, 6)), content((3, 5, 5, 7), 3, (3, 6))
    (range(1, 2), range(1, 3))
    """
    lower, upper = scope
    return range(bisect_right(positions, lower, 0, arrived), bisect_right(positions, upper, 0, arrived))


def is_due(profile: Profile, windows: ScopeWindows, t: int, now: int) -> bool:
    """The conditions that only depend on the instant: window-close (t < now ends a window), periodic.

    >>> from sash.semantics.secret.profiles import profile
    >>> [t for t in range(9, 13) if is_due(profile("flink"), ScopeWindows(-1, 3, 3), t, 12)]
    [11]
    """
    if Report.WINDOW_CLOSE in profile.report and not (t < now and windows.ends_at(t)):
        return False
    return profile.period is None or t % profile.period == 0


def is_news(profile: Profile, held: range, last: range) -> bool:
    """The conditions on the content of an evaluation: non-empty, content-change (differs from `last`).

    >>> from sash.semantics.secret.profiles import profile
    >>> is_news(profile("flink"), range(2), range(2)), is_news(profile("stream"), range(2), range(2))
    (True, False)
    """
    if Report.NON_EMPTY in profile.report and not held:
        return False
    return Report.CONTENT_CHANGE not in profile.report or held != last


def evaluations(profile: Profile, kind: Axis, passed: range) -> list[range]:
    """The instants that passed, split into groups that can make one report each.

    >>> from sash.semantics.secret.profiles import profile
    >>> evaluations(profile("stream"), Axis.TIME, range(4, 7))
    [range(4, 5), range(5, 6), range(6, 7)]
    >>> evaluations(profile("stream"), Axis.COUNT, range(4, 7))
    [range(4, 7)]
    """
    if picks_one(profile, kind):
        return [passed] if passed else []
    return [range(t, t + 1) for t in passed]


def picks_one(profile: Profile, kind: Axis) -> bool:
    """Whether a whole tick makes at most one report."""
    return kind is Axis.COUNT and profile.pick is not Pick.ALL


def pick(profile: Profile, instants: Sequence[int]) -> int:
    """The one of several instants (there is one, at least) that stands for them."""
    return instants[0] if profile.pick is Pick.EARLIEST else instants[-1]


def windows_of(profile: Profile, kind: Axis, arrivals: Arrivals, size: int, slide: int) -> ScopeWindows:
    """The windows of a query on this (non-empty) input: the origin is fixed by the first event.

    >>> from sash.semantics.secret.profiles import profile
    >>> windows_of(profile("stream"), Axis.TIME, Arrivals(times=(30, 31), batches=(0, 1)), 5, 1)
    ScopeWindows(start=25, size=5, slide=1)
    """
    return windows_from(profile, kind, arrivals.positions(kind)[0], size, slide)


def windows_from(profile: Profile, kind: Axis, first: int, size: int, slide: int) -> ScopeWindows:
    """The windows of an input whose first event has this position."""
    origin = profile.scope.origin(kind)
    if origin is None:
        raise Unsupported("kind", str(kind), f"a kind of window that the profile has: {profile.scope}")
    return ScopeWindows(origin(first, size, slide), size, slide)


def evaluate(profile: Profile, kind: Axis, arrivals: Arrivals, size: int, slide: int) -> Iterator[Reported]:
    """Every report, by definition: all instants of all ticks, in order.

    A content-change compares with the last content that was reported, not with one that was only seen.

    >>> from sash.semantics.secret.profiles import profile
    >>> events = Arrivals(times=(30, 31, 36), batches=(0, 1, 2))
    >>> [report.instant for report in evaluate(profile("oracle_cep"), Axis.TIME, events, 5, 1)]
    [30, 31, 35]
    """
    if not arrivals.times:
        return
    windows = windows_of(profile, kind, arrivals, size, slide)
    positions = arrivals.positions(kind)
    previous, last = None, NOTHING
    for arrival in ticks(profile.tick_of(kind), arrivals):
        now = positions[arrival]
        for group in evaluations(profile, kind, instants(previous, now, windows.start)):
            seen = content(positions, arrival, windows.scope(pick(profile, group)))
            due = [t for t in group if is_due(profile, windows, t, now)]
            if due and is_news(profile, seen, last):
                t = pick(profile, due)
                last = content(positions, arrival, windows.scope(t))
                yield Reported(arrival, t, last)
        previous = now
