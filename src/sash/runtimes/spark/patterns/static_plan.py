"""A pattern on Spark, as numbers: where rows lie first, whether they are folded there, who gets them next.

    KeyFarm(n)                       route n × 1
    WinFarm(n)                       route 1 × n
    PaneFarm(p, w)                   fold panes before the shuffle, then route 1 × w
    WinMapReduce(m, r)               deal rows to m partitions, fold panes there, then route 1 × r
    KeyFarm(inner, replicas=a)       route a × that of inner
    WinFarm(inner, replicas=a)       route 1 × a · that of inner
    WinFarm(n, model="agnostic")     an owner for each bucket of keys triggers, n workers compute

Look-backs of `.rolling` that PaneFarm or WinMapReduce computes take the same numbers: rows travel as they
are, and beside those of hot keys their panes (`shared_look_backs`).

Panes are folded where rows lie: the `plq` workers are the partitions of the input, and nothing moves them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sash.errors import SashError, Unsupported
from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.folding.panes import Panes, clock_windows
from sash.operators.look_backs_by_pane import LookBackPanes
from sash.operators.patterns.declared import (
    FUSED,
    Farm,
    KeyFarm,
    PaneFarm,
    Pattern,
    WinFarm,
    WinMapReduce,
    level_of,
    window_workers,
)
from sash.runtimes.spark.patterns.count_windows_by_position import Positions
from sash.runtimes.spark.patterns.route import Route
from sash.semantics.event import Order


@dataclass(frozen=True)
class StaticPlan:
    """What happens to rows on their way to active workers."""

    route: Route
    folds: bool = False
    """Whether events are folded to panes before they are sent."""
    dealt: int | None = None
    """To how many partitions rows are dealt round-robin first."""


def is_agnostic(pattern: Pattern) -> bool:
    return isinstance(pattern, WinFarm) and pattern.model == "agnostic"


def plan_of(pattern: Pattern) -> StaticPlan:
    """The plan of a pattern with active workers.

    >>> plan_of(WinFarm(PaneFarm(2, 3), replicas=2))
    StaticPlan(route=Route(keys=1, windows=6), folds=True, dealt=None)
    """
    inner = pattern.held if isinstance(pattern, Farm) else pattern
    copies = pattern.degree if isinstance(pattern, Farm) else 1
    route = Route(copies if isinstance(pattern, KeyFarm) else 1, window_workers(pattern))
    match inner:
        case PaneFarm():
            return StaticPlan(route, folds=True)
        case WinMapReduce():
            return StaticPlan(route, folds=True, dealt=copies * inner.map)
        case _:
            return StaticPlan(route)


def stage_lines(pattern: Pattern, keys: str) -> list[str]:
    """The plan for people."""
    if is_agnostic(pattern):
        return [
            f"shuffle by bucket of ({keys})",
            "owner of each bucket: trigger windows, and send them in batches with their events",
            f"compute windows in {pattern.workers} tasks, round-robin whatever the key",
        ]
    plan = plan_of(pattern)
    stages = planned_flat(pattern)
    if plan.dealt is not None:
        stages.append(f"deal rows round-robin to {plan.dealt} partitions")
    if plan.folds:
        stages += [] if plan.dealt is not None else ["plq is not used: the tasks that read fold panes"]
        stages.append("fold panes where rows lie")
    what, route = "panes" if plan.folds else "rows", plan.route
    return [
        *stages,
        f"send {what} to the workers whose windows hold them: {route.keys} shares of ({keys}) × "
        f"{route.windows} of windows",
        f"window and fold in {route.workers} tasks",
    ]


def planned_flat(pattern: Pattern) -> list[str]:
    """For people: which pattern without nesting has the very plan of this one, if there is such a pattern.

    >>> planned_flat(WinFarm(PaneFarm(2, 3), replicas=2))
    ['WinFarm(PaneFarm(plq=2, wlq=3), replicas=2) is planned as PaneFarm(plq=4, wlq=6), which is the same']
    """
    inner = pattern.held if isinstance(pattern, WinFarm) else None
    match inner:
        case PaneFarm(plq=first, wlq=second) | WinMapReduce(map=first, reduce=second):
            copies = pattern.workers // inner.workers
            flat = type(inner)(copies * first, copies * second)
            return [f"{pattern} is planned as {flat}, which is the same"]
    return []


def impossible(pattern: Pattern, bound: BoundQuery) -> SashError | None:
    """Why a static DataFrame cannot do this; None when it can."""
    try:
        require_possible(pattern, bound)
    except SashError as reason:
        return reason
    return None


def not_planned(pattern: Pattern, bound: BoundQuery) -> SashError | None:
    """Why the planner does not choose this by itself: it is impossible, or its costs are not known."""
    reason = impossible(pattern, bound)
    if reason is not None or is_agnostic(pattern):
        return reason
    if over_positions(pattern, bound) is not None:
        return Unsupported(
            "pattern", str(pattern), "named by the user",
            hint="What it costs to find the positions of events first is not estimated.",
        )  # fmt: skip
    looked_back = look_backs(pattern, bound)
    of_numbers = Panes.of(bound) is not None if looked_back is None else looked_back.numbers
    if plan_of(pattern).folds and not of_numbers:
        return Unsupported(
            "pattern", str(pattern), "named by the user",
            hint="What it costs to fold elements that are no numbers is not estimated.",
        )  # fmt: skip
    return None


def over_positions(pattern: Pattern, bound: BoundQuery) -> Positions | None:
    """The same query over the positions of events, where workers share the events of a key by them."""
    if is_agnostic(pattern):
        return None
    plan = plan_of(pattern)
    return Positions.of(bound) if plan.folds or plan.route.windows > 1 else None


def look_backs(pattern: Pattern, bound: BoundQuery) -> LookBackPanes | None:
    """How workers share the look-backs of a key, if that is what the pattern has them do."""
    if is_agnostic(pattern) or not plan_of(pattern).folds:
        return None
    return LookBackPanes.of(bound, workers=plan_of(pattern).route.windows)


def require_possible(pattern: Pattern, bound: BoundQuery) -> None:
    """Refuses what a static DataFrame cannot do, before any job runs."""
    positions = over_positions(pattern, bound)
    require_workable(pattern, bound if positions is None else positions.inner)


def require_workable(pattern: Pattern, bound: BoundQuery) -> None:
    """Refuses what workers cannot do with rows as they come."""
    if level_of(pattern) != FUSED:
        raise Unsupported(
            "optimize", level_of(pattern), f"{FUSED} or left out on Spark",
            hint="Tasks exchange directly through a shuffle: nothing stands between them to be kept apart.",
        )  # fmt: skip
    if isinstance(pattern, WinFarm) and pattern.chunk is not None:
        raise Unsupported(
            "chunk", pattern.chunk, "left out on Spark",
            hint="Windows are handed out with their events there, through a shuffle and without a buffer.",
        )  # fmt: skip
    if is_agnostic(pattern):
        if isinstance(bound, BoundRolling):
            raise Unsupported(
                "pattern", str(pattern), "KeyFarm, PaneFarm or WinMapReduce for rolling features on Spark",
                hint="Look-backs are rows of their events, and an owner would have all events of a key; "
                "workers that share its panes need no owner.",
            )  # fmt: skip
        return
    plan = plan_of(pattern)
    if plan.folds:
        _require_panes(pattern, bound)
        if isinstance(bound, BoundRolling):
            return
    if plan.route.windows > 1:
        _require_routes(pattern, bound)


def _require_panes(pattern: Pattern, bound: BoundQuery) -> None:
    name = type(pattern.held if isinstance(pattern, Farm) else pattern).__name__
    for monoid in bound.aggregates.values():
        monoid.require_commutative(f"{name} on Spark, which folds rows before they are in order,")
    if Panes.of(bound, objects=True) is None and not isinstance(bound, BoundRolling):
        raise Unsupported(
            "pattern", str(pattern), "over time or cumulate windows in event-time order",
            hint="Events are folded before they are together, where nobody knows which windows hold them: "
            "that depends on other events of the key. Use KeyFarm, or WinFarm(…, model='agnostic').",
        )  # fmt: skip


def _require_routes(pattern: Pattern, bound: BoundQuery) -> None:
    by_row = clock_windows(bound) and bound.query.order is Order.EVENT_TIME
    if not by_row or isinstance(bound, BoundRolling):
        raise Unsupported(
            "pattern", str(pattern), "KeyFarm, or WinFarm(…, model='agnostic'), for these windows",
            hint="Rows are sent to the workers whose windows hold them. Of time and cumulate windows a row "
            "alone determines which these are; of others it depends on more events of the key.",
        )  # fmt: skip
