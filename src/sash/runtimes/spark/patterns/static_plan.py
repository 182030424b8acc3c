"""A pattern on Spark, as numbers: where rows lie first, whether they are folded there, who gets them next.

    KeyFarm(n)                       route n × 1
    WinFarm(n)                       route 1 × n
    PaneFarm(p, w)                   fold panes before the shuffle, then route 1 × w
    … in order                       send rows by pane to p partitions, fold panes there, then route 1 × w
    WinMapReduce(m, r)               deal rows to m partitions, fold panes there, then route 1 × r
    KeyFarm(inner, replicas=a)       route a × that of inner
    WinFarm(inner, replicas=a)       route 1 × a · that of inner
    WinFarm(n, model="agnostic")     an owner for each bucket of keys triggers, n workers compute

What sends rows to windows, or to panes, needs windows that the clock cuts. Others are found by an owner
(`who_finds_windows`): it hands them out whole, or in parts for WinMapReduce and PaneFarm (`window_parts`).

Look-backs of `.rolling` that PaneFarm or WinMapReduce computes take the same numbers: rows travel as they
are, and beside those of hot keys their panes (`shared_look_backs`).

Where order does not matter panes are folded where rows lie: the `plq` workers are then the partitions of
the input, and nothing moves them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sash.errors import SashError, Unsupported
from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.folding.panes import Panes
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
from sash.operators.patterns.who_finds_windows import in_order, is_agnostic, owner_finds
from sash.runtimes.spark.patterns.count_windows_by_position import Positions
from sash.runtimes.spark.patterns.route import Route


@dataclass(frozen=True)
class StaticPlan:
    """How work is shared by active workers, and by those that are handed windows in parts."""

    route: Route
    """Who answers for which windows."""
    parts: int | None = None
    """How many workers of each share of keys fold panes, or other parts of windows, before that; None:
    there is no such step."""
    dealt: bool = False
    """Whether these get events round-robin, or by pane."""

    @property
    def folds(self) -> bool:
        return self.parts is not None

    @property
    def part_workers(self) -> int:
        """All that fold parts."""
        assert self.parts is not None
        return self.route.keys * self.parts


def plan_of(pattern: Pattern) -> StaticPlan:
    """The plan of a pattern.

    >>> plan_of(WinFarm(PaneFarm(2, 3), replicas=2))
    StaticPlan(route=Route(keys=1, windows=6), parts=4, dealt=False)
    """
    copies = pattern.degree if isinstance(pattern, KeyFarm) else 1
    route = Route(copies, window_workers(pattern))
    match pattern.held if isinstance(pattern, Farm) else pattern:
        case PaneFarm(plq=first, wlq=second):
            return StaticPlan(route, route.windows // second * first)
        case WinMapReduce(map=first, reduce=second):
            return StaticPlan(route, route.windows // second * first, dealt=True)
        case _:
            return StaticPlan(route)


def owner_stages(pattern: Pattern, keys: str, *, kept: str = "") -> list[str]:
    """What an owner and its workers do, for people; `kept`: where events are."""
    plan = plan_of(pattern)
    if plan.parts is None:
        return [
            *planned_agnostic(pattern),
            f"owner of each bucket of ({keys}): trigger windows, and send them in batches with their events"
            f"{kept}",
            f"compute windows in {pattern.workers} tasks, round-robin whatever the key",
        ]
    of_key = f"{plan.route.keys} shares of ({keys}) × " if plan.route.keys > 1 else ""
    dealt = "events round-robin" if plan.dealt else "panes"
    return [
        *planned_flat(pattern),
        f"owner of each bucket of ({keys}): find windows, and hand out their {dealt}{kept}",
        f"fold parts of windows in {of_key}{plan.parts} tasks",
        f"put windows together from their parts in {of_key}{plan.route.windows} tasks",
    ]


def stage_lines(pattern: Pattern, bound: BoundQuery, keys: str) -> list[str]:
    """The plan for people."""
    if owner_finds(pattern, bound, sorted_panes=True):
        return [f"shuffle by bucket of ({keys})", *owner_stages(pattern, keys)]
    plan, stages = plan_of(pattern), planned_flat(pattern)
    if plan.dealt:
        stages.append(f"deal rows round-robin to {plan.part_workers} partitions")
    if plan.folds and in_order(bound):
        stages.append(f"send rows by pane to {plan.part_workers} tasks, sort them and fold panes in order")
    elif plan.folds:
        stages += [] if plan.dealt else ["plq is not used: the tasks that read fold panes"]
        stages.append("fold panes where rows lie")
    what, route = "panes" if plan.folds else "rows", plan.route
    return [
        *stages,
        f"send {what} to the workers whose windows hold them: {route.keys} shares of ({keys}) × "
        f"{route.windows} of windows",
        f"window and fold in {route.workers} tasks",
    ]


def planned_agnostic(pattern: Pattern) -> list[str]:
    """For people: active workers whose windows only an owner can find.

    >>> planned_agnostic(WinFarm(3))
    ["WinFarm(3) is planned as WinFarm(3, model='agnostic'), which is the same"]
    """
    if is_agnostic(pattern):
        return []
    return [f"{pattern} is planned as {WinFarm(pattern.workers, model='agnostic')}, which is the same"]


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
        return not_estimated(pattern, "to find the positions of events first")
    if owner_finds(pattern, bound, sorted_panes=True):
        return not_estimated(pattern, OWNER)
    if plan_of(pattern).folds and in_order(bound):
        return not_estimated(pattern, "to send rows by pane and to sort them")
    looked_back = look_backs(pattern, bound)
    of_numbers = Panes.of(bound) is not None if looked_back is None else looked_back.numbers
    if plan_of(pattern).folds and not of_numbers:
        return not_estimated(pattern, "to fold elements that are no numbers")
    return None


OWNER = "to have an owner of all events of a key find its windows"


def not_estimated(pattern: Pattern, what: str) -> SashError:
    return Unsupported(
        "pattern", str(pattern), "named by the user", hint=f"What it costs {what} is not estimated."
    )


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
    if is_agnostic(pattern) and isinstance(bound, BoundRolling):
        raise Unsupported(
            "pattern", str(pattern), "KeyFarm, PaneFarm or WinMapReduce for rolling features on Spark",
            hint="Look-backs are rows of their events, and an owner would have all events of a key; "
            "workers that share its panes need no owner.",
        )  # fmt: skip
    if plan_of(pattern).folds and isinstance(bound, BoundRolling):
        _require_commutative(pattern, bound)


def _require_commutative(pattern: Pattern, bound: BoundQuery) -> None:
    name = type(pattern.held if isinstance(pattern, Farm) else pattern).__name__
    for monoid in bound.aggregates.values():
        monoid.require_commutative(f"{name} on Spark, which folds rows before they are in order,")
