"""The plan: the cheapest candidate, or the simplest of those that are as good.

    candidates → what is forbidden leaves → the best degree of each → within 10 % of the least: the simplest

Equal facts and equal constants give an equal plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from sash.operators.bound_query import BoundQuery
from sash.operators.patterns.declared import KeyFarm, WinSeq, pane_workers
from sash.planner.auto_declaration import Auto, Parallelism
from sash.planner.costs.constants import Costs
from sash.planner.costs.in_process import process_steps
from sash.planner.costs.spark_batch import spark_steps
from sash.planner.costs.spark_stream import stream_steps
from sash.planner.costs.step import CostStep, total
from sash.planner.facts import Facts
from sash.planner.plans.candidates import Choice, Forbidden, Refuse, allowed, candidates, named, never
from sash.planner.plans.choice_reason import because
from sash.planner.plans.degrees import of_all_degrees

TIE = 0.1
"""Estimates that differ by less are equal: constants are not known any better."""
SMALL = 0.02
"""Seconds of one worker in process, below which only keys are shared out: other patterns hand out more than
they save, and to compare them takes longer."""


@dataclass(frozen=True)
class Candidate:
    """A pattern, and what it would cost."""

    pattern: Choice
    steps: tuple[CostStep, ...]

    @property
    def name(self) -> str:
        return named(self.pattern)

    @property
    def seconds(self) -> float:
        return total(self.steps)

    @property
    def dearest(self) -> CostStep:
        return max(self.steps, key=lambda step: step.seconds)


@dataclass(frozen=True)
class Plan:
    """What computes a query."""

    pattern: Choice
    why: str
    facts: Facts
    candidates: tuple[Candidate, ...]
    """The simplest first, each with the degree that is best for it."""
    forbidden: tuple[Forbidden, ...] = ()
    forced: bool = False
    """Whether the user named the pattern."""
    measured: bool = False
    """Whether the constants behind the estimates were measured: on Spark those of Spark."""
    constants: str = "default constants"
    """Which ones, in words."""

    @property
    def chosen(self) -> Candidate:
        return next(one for one in self.candidates if one.pattern == self.pattern)


def make_plan(
    bound: BoundQuery, facts: Facts, costs: Costs, *, parallelism: Parallelism, refuse: Refuse = never,
    only_raced: bool = False,
) -> Plan:  # fmt: skip
    """The plan for a query over such events; `refuse` returns why its runtime cannot use a pattern. With
    `only_raced` the plan is the same, without the candidates that cannot win."""
    choices = candidates(facts.where, facts.cores, events_known=facts.events.known == "given")
    small = is_small(facts, costs)
    if small and only_raced:
        choices = list(filter(by_key, choices))
    forced = not isinstance(parallelism, Auto)
    if not isinstance(parallelism, Auto) and parallelism not in choices:
        choices.append(parallelism)
    possible, forbidden = allowed(choices, bound, refuse)
    costed = tuple(
        Candidate(choice, tuple(steps_of(choice, facts, costs, forced=True)))
        if choice == parallelism
        else best_degree(choice, facts, costs)
        for choice in possible
    )
    best = cheapest(tuple(one for one in costed if not small or by_key(one.pattern)))
    if not forced:
        winner, why = best, because(best.pattern, facts)
        if cheapest(costed) != best:
            why += f"; of less than {1000 * SMALL:.0f} ms only keys are shared out"
    else:
        winner = next(one for one in costed if one.pattern == parallelism)
        why = f"as requested; by itself the planner would choose {best.name}"
        if best == winner:
            why = "as requested, and as the planner would choose"
    on_spark = facts.where in ("spark batch", "spark streaming")
    return Plan(
        winner.pattern, why, facts, costed, tuple(forbidden),
        forced=forced, measured=costs.spark_measured if on_spark else costs.measured,
        constants=_in_words(costs, on_spark=on_spark),
    )  # fmt: skip


def is_small(facts: Facts, costs: Costs) -> bool:
    """What Python computes may take a thousand times what is estimated: it is not."""
    known = facts.whole is None and all(one.compiled for one in facts.algebra)
    return facts.where == "process" and known and total(steps_of(WinSeq(), facts, costs)) < SMALL


def by_key(choice: Choice) -> bool:
    """Whether it shares out keys, if anything."""
    return isinstance(choice, WinSeq) or (isinstance(choice, KeyFarm) and isinstance(choice.held, WinSeq))


def _in_words(costs: Costs, *, on_spark: bool) -> str:
    """Which constants the estimates are from.

    >>> _in_words(Costs(spark_measured=True), on_spark=True)
    'constants of Spark measured, of processes by default'
    """
    if not on_spark:
        on = costs.calibrated[0] and f", calibrated on {costs.calibrated[0]}"
        return f"constants of this machine{on}" if costs.measured else "default constants"
    process, spark = (
        (f"calibrated on {date}" if date else "measured") if known else "by default"
        for known, date in zip((costs.measured, costs.spark_measured), costs.calibrated, strict=True)
    )
    batches = f"; {costs.seen.batches:,} batches of queries" if costs.seen.batches else ""
    if spark == process:
        return f"constants of Spark and of processes {spark}{batches}"
    return f"constants of Spark {spark}, of processes {process}{batches}"


def cheapest(costed: tuple[Candidate, ...]) -> Candidate:
    """The first whose cost is within `TIE` of the least."""
    least = min(candidate.seconds for candidate in costed)
    return next(candidate for candidate in costed if candidate.seconds <= least * (1 + TIE))


def best_degree(choice: Choice, facts: Facts, costs: Costs) -> Candidate:
    """The candidate with as many workers as suit it; as many as there are cores where another number is not
    clearly better, since rows and keys are often not known well."""
    tried = [choice] if choice is None else of_all_degrees(choice, facts.where, facts.cores)
    return cheapest(tuple(Candidate(one, tuple(steps_of(one, facts, costs))) for one in tried))


def steps_of(choice: Choice, facts: Facts, costs: Costs, *, forced: bool = False) -> list[CostStep]:
    """What the candidate does; one that the user named does it with the workers that it names."""
    match facts.where:
        case "process" | "process streaming":
            assert choice is not None  # buckets are Spark's
            early = pane_workers(choice) if forced else facts.cores
            return process_steps(choice, facts, costs.process, early=early)
        case "spark batch":
            return spark_steps(choice, facts, costs.spark, costs.process)
        case "spark streaming":
            return stream_steps(choice, facts, costs.spark, costs.process)
