"""A pattern on a stream, as numbers: how many stateful steps there are, and how many buckets each has.

    WinSeq()                         one step, one bucket
    KeyFarm(n)                       one step, n buckets of keys
    WinFarm(n)                       one step, n buckets; a row goes to those whose windows hold it
    PaneFarm(p, w)                   two steps: p buckets of panes, then w buckets of windows
    WinMapReduce(m, r)               two steps: rows dealt to m buckets of panes, then r of windows
    KeyFarm(inner, replicas=a)       the same, a times
    WinFarm(inner, replicas=a)       the same, with a times as many buckets in each step
    WinFarm(n, model="agnostic")     one step in the usual buckets of keys; n tasks compute what it triggers
    … of other windows               the same step for all that share a key: it finds windows, and
                                     hands them out whole or in parts (`who_finds_windows`)

What is late is decided by the first step, event by event. What is on time goes on as parts of panes with
the batch that brought it. To the second step these are events: it corrects windows, reports them early or
when they are empty as it does over rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sash.errors import SashError, Unsupported
from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.folding.panes import ClockWindow, clock_windows
from sash.operators.patterns.declared import Pattern
from sash.operators.patterns.who_finds_windows import is_agnostic, owner_finds
from sash.runtimes.spark.packing.balanced_bucket_ids import bucket_ids
from sash.runtimes.spark.packing.blocks import RowRoute
from sash.runtimes.spark.packing.bucket_of_key_arrow import require_hashable
from sash.runtimes.spark.patterns.route import Route
from sash.runtimes.spark.patterns.row_routes import ByWindows, RoundRobin
from sash.runtimes.spark.patterns.static_plan import (
    OWNER,
    StaticPlan,
    not_estimated,
    owner_stages,
    plan_of,
    planned_flat,
    require_workable,
)


@dataclass(frozen=True)
class StreamPlan(StaticPlan):
    """Where the rows of a stream go."""

    def pane_route(self, pane: ClockWindow) -> RowRoute:
        """Where rows go that are folded to panes first."""
        assert self.parts is not None
        if self.dealt:
            return RoundRobin(self.route.keys, self.parts)
        return ByWindows(Route(self.route.keys, self.parts), (pane,))

    def row_route(self, bound: BoundQuery) -> RowRoute | None:
        """Where rows, or panes, go to be windowed; None: to the bucket of their key."""
        if self.route.windows == 1:
            return None
        needs_all = bound.query.empty or bound.query.forget_after.length > 0
        return ByWindows(self.route, clock_windows(bound), everywhere=needs_all)


def stream_plan_of(pattern: Pattern) -> StreamPlan:
    """
    >>> from sash.operators.patterns.declared import PaneFarm
    >>> stream_plan_of(PaneFarm(2, 3))
    StreamPlan(route=Route(keys=1, windows=3), parts=2, dealt=False)
    """
    plan = plan_of(pattern)
    return StreamPlan(plan.route, plan.parts, plan.dealt)


def worker_buckets(count: int, *, partitions: int) -> tuple[int, ...]:
    """A bucket for each worker, so numbered that Spark spreads them evenly over its partitions."""
    return bucket_ids(partitions=partitions, each=-(-count // partitions))[:count]


def stream_stages_of(
    pattern: Pattern, bound: BoundQuery, keys: str, opens: Sequence[str], *, derived: bool = False
) -> list[str]:
    """The steps after packing, for people; `opens` are those that make rows of the answer."""
    if owner_finds(pattern, bound, derived=derived):
        return owner_stages(pattern, keys, kept=", which lie in RocksDB")
    plan = stream_plan_of(pattern)
    shares, windows = plan.route.keys, plan.route.windows
    stages = planned_flat(pattern)
    if plan.parts is not None:
        dealt = "round-robin" if plan.dealt else "by pane"
        stages += [
            f"send rows {dealt} to buckets: {shares} shares of ({keys}) × {plan.parts}",
            "judge by the watermark, fold panes, send them on with their batch",
        ]
    what = "rows" if plan.parts is None else "panes"
    return [
        *stages,
        f"send {what} to the buckets whose windows hold them: {shares} shares of ({keys}) × {windows} of "
        "windows",
        f"window and fold, with {what} in RocksDB; each bucket answers for its own windows",
        *opens,
    ]


def impossible_on_streams(
    pattern: Pattern, bound: BoundQuery, *, derived: bool = False
) -> SashError | None:
    """Why a streaming DataFrame cannot do this; None when it can. `derived`: over the rows of another
    stateful step."""
    try:
        require_possible_on_streams(pattern, bound, derived=derived)
    except SashError as reason:
        return reason
    return None


def not_planned_on_streams(
    pattern: Pattern, bound: BoundQuery, *, derived: bool = False
) -> SashError | None:
    """Why the planner does not choose this by itself."""
    reason = impossible_on_streams(pattern, bound, derived=derived)
    if reason is None and owner_finds(pattern, bound, derived=derived) and not is_agnostic(pattern):
        return not_estimated(pattern, OWNER)
    return reason


def require_possible_on_streams(pattern: Pattern, bound: BoundQuery, *, derived: bool = False) -> None:
    """Refuses what a streaming DataFrame cannot do, before anything runs."""
    require_workable(pattern, bound)
    if owner_finds(pattern, bound, derived=derived):
        return
    plan = stream_plan_of(pattern)
    if plan.folds and isinstance(bound, BoundRolling):
        raise Unsupported(
            "pattern", str(pattern), "KeyFarm for rolling features on a stream",
            hint="On a stream start() shares look-backs of hot keys itself, without a pattern.",
        )  # fmt: skip
    if plan.folds or plan.route.windows > 1:
        require_hashable(bound.schema, bound.keys)
