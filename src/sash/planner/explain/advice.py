"""What the user could change to make a query cheaper: one function per rule, one sentence per finding.

A rule applies only where the change would help this query on this runtime; a query that is as cheap
as it can be gets no advice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import gcd

from sash.aggregation.monoid import Kind
from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.engine import keeps_panes
from sash.operators.folding.panes import Panes, clock_windows
from sash.planner.facts import Facts
from sash.planner.plans.cheapest_pattern import Plan
from sash.semantics.durations import format_length
from sash.semantics.run_as_engine import declared_window
from sash.semantics.windows import RowsWindow, TimeWindow

Rule = Callable[[BoundQuery, Plan], Iterator[str]]


def advice(bound: BoundQuery, plan: Plan) -> list[str]:
    """What would make it cheaper, the greatest gain first."""
    return [sentence for rule in RULES for sentence in rule(bound, plan)]


def _whole_windows(bound: BoundQuery, plan: Plan) -> Iterator[str]:
    if plan.facts.whole:
        yield (
            f".{plan.facts.whole}(…) computes each window from its rows; "
            "@sash.monoid (lift, combine, lower) is folded once for all windows"
        )


def _by_definition(bound: BoundQuery, plan: Plan) -> Iterator[str]:
    for cut in plan.facts.cuts:
        if not cut.on_columns:
            yield (
                f"{cut.label} is evaluated event by event; an equivalent time, count or session "
                "window is found on columns, and so is a predicate of &, | and comparisons of columns"
            )


def _interpreted(bound: BoundQuery, plan: Plan) -> Iterator[str]:
    """Of those that have a compiled form: a built-in sketch or list has none."""
    for name, monoid in bound.aggregates.items():
        if _is_compiled(name, plan.facts):
            continue
        numbers: tuple[Kind, ...] = tuple("float" for _ in monoid.columns)
        if monoid.bind(numbers).columnar:
            yield (
                f"{name} ({monoid.name}) is interpreted, because not all of its columns are numbers; "
                "over numbers it is machine code"
            )
        elif monoid.made_by is None:
            yield (
                f"{name} ({monoid.name}) is interpreted, because its elements are objects; with numbers, "
                "or tuples of numbers, as elements it is machine code"
            )


def _is_compiled(name: str, facts: Facts) -> bool:
    return next(monoid.compiled for monoid in facts.algebra if monoid.name == name)


def _order(bound: BoundQuery, plan: Plan) -> Iterator[str]:
    """What commutes is folded before the shuffle on Spark, and kept as panes on a stream."""
    if plan.facts.where == "process" or not clock_windows(bound) or isinstance(bound, BoundRolling):
        return
    own = {name: monoid for name, monoid in bound.aggregates.items() if monoid.made_by is None}
    ordered = [name for name, monoid in own.items() if not monoid.commutative]
    if ordered:
        panes = "kept as panes" if plan.facts.streaming else "folded before the shuffle"
        yield (
            f"{', '.join(ordered)}: not declared commutative; if a ⊕ b = b ⊕ a for all elements, declare "
            f"commutative=True, and events are {panes}"
        )


def _slides(bound: BoundQuery, plan: Plan) -> Iterator[str]:
    """Panes are as long as the slide if the slide divides the size."""
    if not _pays_for_panes(bound, plan):
        return
    for window in bound.query.windows:
        declared = declared_window(window)
        if isinstance(declared, TimeWindow | RowsWindow):
            pane = gcd(declared.size, declared.slide)
            if pane < min(declared.size, declared.slide):
                size, slide, short = (_length(declared, n) for n in (declared.size, declared.slide, pane))
                yield (
                    f"{window.shown}: a slide of {slide} does not divide {size}, so panes are only "
                    f"{short} long; a slide that divides it needs fewer"
                )


def _pays_for_panes(bound: BoundQuery, plan: Plan) -> bool:
    if plan.facts.where == "process":
        return plan.pattern is not None and "PaneFarm" in str(plan.pattern)
    return Panes.of(bound) is not None


def _length(window: TimeWindow | RowsWindow, number: int) -> str:
    if isinstance(window, TimeWindow):
        return format_length(number, window.unit)
    return f"{number:,} event{'s' * (number > 1)}"


def _no_key(bound: BoundQuery, plan: Plan) -> Iterator[str]:
    if plan.facts.where != "spark streaming" or bound.keys or plan.pattern is not None:
        return
    if keeps_panes(bound):
        return  # all tasks fold its rows under start(), and one computes over few panes
    share = f"sash.WinFarm({plan.facts.cores}, model='agnostic')"
    hint = f", and .parallel({share}) lets several tasks share it"
    hint = "" if isinstance(bound, BoundRolling) else hint
    yield f"a stream without a key is one bucket, which one task computes; with a key there are many{hint}"


def _unknown_skew(bound: BoundQuery, plan: Plan) -> Iterator[str]:
    unknown = plan.facts.events.known == "assumed" and not plan.forced
    if plan.facts.where == "spark streaming" and plan.facts.whole and bound.keys and unknown:
        yield (
            "if one key has most of the events, all tasks compute its windows: always under start(), "
            "for dataframe() with .parallel(sash.Auto(hottest=0.9))"
        )
    in_python = plan.pattern is None and not plan.facts.folded_by_spark
    if plan.facts.where == "spark batch" and in_python and bound.keys and unknown:
        yield (
            "if one key has most of the rows, declare it with .parallel(sash.Auto(hottest=0.9)), or let a "
            "small job look with .parallel(sash.Auto(sample=True))"
        )


def _forced(bound: BoundQuery, plan: Plan) -> Iterator[str]:
    if not plan.forced:
        return
    best = min(plan.candidates, key=lambda one: one.seconds)
    if best.seconds < plan.chosen.seconds / 1.5:
        times = plan.chosen.seconds / best.seconds
        yield f"{best.name} is estimated to be {times:.1f} times as fast as {plan.chosen.name}"


RULES: tuple[Rule, ...] = (
    _forced,
    _whole_windows,
    _by_definition,
    _interpreted,
    _order,
    _no_key,
    _unknown_skew,
    _slides,
)
