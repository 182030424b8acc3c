"""What `explain()` knows, as data: `explain("json")` is this, and the text is drawn from it.

Keys of the JSON object are the names of the fields below, level by level. They stay: a field may be added,
none changes its meaning or goes while `version` is 1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from sash.operators.bound_query import BoundLatest, BoundQuery, BoundRolling
from sash.operators.patterns.declared import level_of
from sash.operators.patterns.stages import levels_of
from sash.planner.explain.advice import advice
from sash.planner.explain.algorithm import FoldAlgorithm, algorithm_of
from sash.planner.explain.report_rule_text import (
    NEWEST,
    emitted_latest,
    emitted_rolling,
    reported,
    reported_at_once,
    waits_for_nothing,
)
from sash.planner.explain.state_size import State, state_of
from sash.planner.facts import Facts
from sash.planner.plans.candidates import Forbidden
from sash.planner.plans.cheapest_pattern import Plan
from sash.semantics.window import Window
from sash.semantics.windows import SlideByTupleWindow

VERSION = 1


@dataclass(frozen=True)
class WindowExplanation:
    """One window of the query: what it means."""

    label: str
    kind: str
    meaning: str
    """In plain words."""
    context: str
    """Its class: context-free, forward-context-free or forward-context-aware."""
    formula: str
    overlap: float
    """How many windows hold an event."""
    on_columns: bool
    """Whether its ends are found on columns; otherwise by its definition."""
    written: str
    """The call that a user writes for it, with its name if it has one."""


@dataclass(frozen=True)
class AggregateExplanation:
    """One aggregate: its algebra."""

    name: str
    monoid: str
    call: str
    """As the user wrote it."""
    columns: tuple[str, ...]
    where: str | None
    """The condition under which an event counts; null: every event without a null."""
    commutative: bool
    invertible: bool
    compiled: bool


@dataclass(frozen=True)
class CandidateExplanation:
    """A pattern that could compute the query, and its estimated cost."""

    pattern: str
    seconds: float
    dearest: str
    """The step that takes most of it."""
    chosen: bool


@dataclass(frozen=True)
class PatternExplanation:
    """Who computes the windows, and why."""

    name: str
    workers: int | None
    """None: as many as Spark has tasks."""
    forced: bool
    why: str
    candidates: tuple[CandidateExplanation, ...]
    forbidden: tuple[Forbidden, ...]
    measured: bool
    """Whether the estimates are from constants that were measured; on Spark, those of Spark."""
    constants: str
    """Which constants they are from, in words."""
    levels: tuple[str, ...]
    """The stage graph as declared, and after each level of fusion."""
    level: int | None
    """Which of them runs; None: the stages are Spark's own."""


@dataclass(frozen=True)
class EventsExplanation:
    """What the plan takes the events to be, and how that is known."""

    rows: int
    keys: int
    hottest: float
    known: str


@dataclass(frozen=True)
class Explanation:
    """A query: what it means, how it is computed, what it holds, and what would be cheaper."""

    version: int
    runtime: str
    order: str
    time: str
    keys: tuple[str, ...]
    windows: tuple[WindowExplanation, ...]
    rows: Literal["window", "event", "key"]
    """What a row of the output stands for."""
    reported: str
    """When a row is emitted, in words."""
    whole: str | None
    """"apply" or "fold", when whole windows go to a function."""
    aggregates: tuple[AggregateExplanation, ...]
    events: EventsExplanation
    cores: int
    algorithm: FoldAlgorithm
    pattern: PatternExplanation
    stages: tuple[str, ...]
    state: State
    state_bytes: int | None
    """Of a key; null where that depends on how many events come."""
    advice: tuple[str, ...]

    @classmethod
    def of(cls, bound: BoundQuery, plan: Plan, *, stages: Sequence[str]) -> Explanation:
        facts, query = plan.facts, bound.query
        state = state_of(bound, plan)
        return cls(
            version=VERSION,
            runtime=facts.where,
            order=query.order.value,
            time=bound.time,
            keys=bound.keys,
            windows=_windows(bound, facts),
            rows=_rows(bound),
            reported=_reported(bound, facts),
            whole=facts.whole,
            aggregates=_aggregates(bound, facts),
            events=EventsExplanation(
                facts.events.rows, facts.events.keys, round(facts.events.hottest, 4), facts.events.known
            ),
            cores=facts.cores,
            algorithm=algorithm_of(bound, plan),
            pattern=_pattern(plan),
            stages=tuple(stages),
            state=state,
            state_bytes=state.bytes,
            advice=tuple(advice(bound, plan)),
        )

    def as_json(self) -> str:
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


def _rows(bound: BoundQuery) -> Literal["window", "event", "key"]:
    if isinstance(bound, BoundLatest):
        return "key"
    return "event" if isinstance(bound, BoundRolling) else "window"


def _reported(bound: BoundQuery, facts: Facts) -> str:
    if not facts.streaming and waits_for_nothing(bound.query):
        return reported_at_once(bound.query, per=_rows(bound))
    own = facts.own_watermark
    newest = NEWEST if own is None else own.words
    if isinstance(bound, BoundLatest):
        rule = emitted_latest(bound.query, streaming=facts.streaming, newest=newest)
    elif isinstance(bound, BoundRolling):
        rule = emitted_rolling(bound.query, newest=newest)
    else:
        rule = reported(bound.query, newest=newest)
    return rule if own is None else f"{rule}; start(sink, late=…) writes the rows that are later"


def _windows(bound: BoundQuery, facts: Facts) -> tuple[WindowExplanation, ...]:
    return tuple(
        WindowExplanation(
            window.label,
            type(window).__name__.removesuffix("Window").lower(),
            _meaning(bound, window),
            window.context.value,
            _formula(bound, window),
            cut.overlap,
            cut.on_columns,
            window.label if isinstance(bound, BoundRolling) else window.shown,
        )
        for window, cut in zip(bound.query.windows, facts.cuts, strict=True)
    )


def _formula(bound: BoundQuery, window: Window) -> str:
    """Of `.latest`, the same look-back from another instant."""
    if isinstance(bound, BoundLatest) and isinstance(window, SlideByTupleWindow):
        return f"E(key) = {window.looking_back('now')}"
    return window.formula


def _meaning(bound: BoundQuery, window: Window) -> str:
    """Of look-backs, how far they reach: where from is the same for all of them."""
    if isinstance(bound, BoundRolling) and isinstance(window, SlideByTupleWindow):
        return window.reach
    return window.meaning


def _aggregates(bound: BoundQuery, facts: Facts) -> tuple[AggregateExplanation, ...]:
    return tuple(
        AggregateExplanation(
            name,
            monoid.name,
            str(monoid),
            monoid.columns,
            None if monoid.where is None else str(monoid.where),
            monoid.commutative,
            monoid.invertible,
            algebra.compiled,
        )
        for (name, monoid), algebra in zip(bound.aggregates.items(), facts.algebra, strict=True)
    )


def _pattern(plan: Plan) -> PatternExplanation:
    levels: tuple[str, ...] = ()
    if plan.pattern is not None:
        levels = tuple(levels_of(plan.pattern))
    costed = tuple(
        CandidateExplanation(one.name, one.seconds, one.dearest.what, one.pattern == plan.pattern)
        for one in plan.candidates
    )
    return PatternExplanation(
        name=plan.chosen.name,
        workers=None if plan.pattern is None else plan.pattern.workers,
        forced=plan.forced,
        why=plan.why,
        candidates=costed,
        forbidden=plan.forbidden,
        measured=plan.measured,
        constants=plan.constants,
        levels=levels,
        level=None if plan.pattern is None else level_of(plan.pattern),
    )
