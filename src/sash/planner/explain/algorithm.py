"""Which algorithm folds the windows of a plan, and where panes are folded.

    one pass over events     two stacks over events that are all there: one combine per event and one per
                             window, two per event where windows overlap; all keys in one call
    panes, then one pass     events into panes first, once; then the same over panes
    panes in SQL             the same, with panes that Spark's generated code folds on a static DataFrame
    windows in SQL           tumbling windows on a static DataFrame, without Python
    panes in a tree          on a stream: panes as events arrive, the past in ever coarser cells
    recalculate              whole windows handed to a function, each from its rows

The algebra decides: what is not commutative is never folded out of order, what has no combine is
recalculated, and what does not fit columns is folded by the same algorithm, but interpreted.
"""

from __future__ import annotations

from dataclasses import dataclass

from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.engine import StatePlan, keeps_panes
from sash.operators.folding.early_panes import Early
from sash.operators.patterns.declared import Farm, PaneFarm, WinMapReduce, pane_workers
from sash.operators.patterns.who_finds_windows import owner_finds
from sash.planner.plans.cheapest_pattern import Plan
from sash.semantics.windows import RowsWindow

IDLE = "none for idle keys"
"""A batch costs what it brings and closes, whatever the state holds."""
PANES = "one combine per event into its pane; windows from panes, whatever the window length"


@dataclass(frozen=True)
class FoldAlgorithm:
    """How values are computed."""

    name: str
    how: str
    panes: str
    """Where panes are folded; "nowhere" when they are not."""
    interpreted: tuple[str, ...]
    """The aggregates whose combines are calls of Python."""


def algorithm_of(bound: BoundQuery, plan: Plan) -> FoldAlgorithm:
    """What folds the windows of this plan."""
    slow = tuple(monoid.name for monoid in plan.facts.algebra if not monoid.compiled)
    fold = f"{', '.join(slow)} interpreted" if slow else "compiled"
    if plan.facts.whole:
        return FoldAlgorithm(
            "recalculate",
            "your function is called with the rows of each window: the cost grows with the window length",
            "nowhere",
            (),
        )
    if plan.facts.streaming:
        return _streaming(bound, plan, fold, slow)
    inner = plan.pattern.held if isinstance(plan.pattern, Farm) else plan.pattern
    folds = isinstance(inner, PaneFarm | WinMapReduce)
    if plan.facts.where == "spark batch" and folds and _handed_out(bound, plan):
        how = f"{fold}; an owner of all events of a key finds windows, and hands out parts of them"
        return FoldAlgorithm("parts of windows, then windows", how, "nowhere", slow)
    if plan.facts.where == "spark batch" and folds:
        where = "before the shuffle, where rows lie"
        how = f"{fold}; {PANES}{_in_python(plan)}"
        return FoldAlgorithm("panes, then one pass over panes", how, where, slow)
    if plan.pattern is None and plan.facts.folded_by_spark:
        return _by_spark(plan, fold, slow)
    if isinstance(inner, PaneFarm):
        where = "once, before the windows that share them"
        return FoldAlgorithm("panes, then one pass over panes", f"{fold}; {PANES}", where, slow)
    if isinstance(inner, WinMapReduce):
        how = f"{fold}; each partition of a window by itself, then one combine per partition"
        return FoldAlgorithm("one pass over each partition of a window", how, "nowhere", slow)
    overlap = any(cut.overlapping for cut in plan.facts.cuts)
    combines = "two combines per event" if overlap else "one combine per event"
    how = f"{fold}; {combines} and one per {_each(bound)}, whatever its length{_in_python(plan)}"
    return FoldAlgorithm("one pass over events", how, _early(bound, plan), slow)


def _handed_out(bound: BoundQuery, plan: Plan) -> bool:
    """Whether workers get parts of windows from an owner; count windows that are reported once are shared
    by the positions of events."""
    counted = bound.query.flush and all(isinstance(one, RowsWindow) for one in bound.query.windows)
    return not counted and owner_finds(plan.pattern, bound, sorted_panes=True)


def _each(bound: BoundQuery) -> str:
    """What is folded for one value of the output."""
    return "look-back of a row" if isinstance(bound, BoundRolling) else "window"


def _in_python(plan: Plan) -> str:
    """Why Spark does not fold by itself, where it was considered."""
    return f"; in Python workers, because {plan.facts.spark.why}" if plan.facts.spark is not None else ""


def _where_on_streams(bound: BoundQuery, plan: Plan) -> str:
    """Tasks before the shuffle know the watermark of their batch where the query is started by Sash."""
    if plan.facts.where == "process streaming":
        return "with each table, of the events that are not late"
    after = "after the shuffle, where it is known which events are late"
    if plan.pattern is not None or not keeps_panes(bound):
        return after
    elastic = ", and with elastic=… by Spark's generated code" if plan.facts.folded_by_spark else ""
    return f"{after}; with start() before it, where that saves rows{elastic}"


def _by_spark(plan: Plan, fold: str, slow: tuple[str, ...]) -> FoldAlgorithm:
    where = "before the shuffle, by Spark's generated code"
    if plan.facts.spark is not None and plan.facts.spark.of == "windows":
        return FoldAlgorithm(
            "windows in SQL", "Spark SQL aggregates each window, without Python", where, slow
        )
    how = f"Spark SQL aggregates rows into panes; windows from panes, {fold}"
    return FoldAlgorithm("panes in SQL, then one pass over panes", how, where, slow)


def _early(bound: BoundQuery, plan: Plan) -> str:
    """Where a long input in process may be folded before it is arranged."""
    facts, declared = plan.facts, plan.pattern if plan.forced else None
    events_stay = declared is not None and pane_workers(declared) is None
    if (
        facts.where != "process"
        or events_stay
        or not Early(facts.cores).considers(bound, facts.events.rows)
    ):
        return "nowhere"
    return "before events are grouped, if the first of them show that many share a pane"


def _streaming(bound: BoundQuery, plan: Plan, fold: str, slow: tuple[str, ...]) -> FoldAlgorithm:
    handed = owner_finds(plan.pattern, bound)
    if keeps_panes(bound) and not handed:
        return FoldAlgorithm(
            "panes in a tree",
            f"{fold}; one combine per event, O(log n) combines of panes per window, {IDLE}",
            _where_on_streams(bound, plan),
            slow,
        )
    state = StatePlan(bound, rows=handed)
    if state.whole:
        how = "windows that are due are computed from the rows kept for their keys"
        return FoldAlgorithm("whole windows", how, "nowhere", slow)
    if all(lane.running for lane in state.lanes):
        how = f"{fold}; one combine per event into its open window, {IDLE}"
        return FoldAlgorithm("running fold", how, "nowhere", slow)
    how = f"{fold}; O(log n) combines per {_each(bound)}, {IDLE}"
    return FoldAlgorithm("tree of folds", how, "nowhere", slow)
