"""Why a pattern wins, in one sentence."""

from __future__ import annotations

from sash.operators.patterns.declared import Farm, KeyFarm, PaneFarm, WinFarm, WinMapReduce, WinSeq
from sash.planner.facts import EventFacts, Facts
from sash.planner.plans.candidates import Choice

_ONE = "there is one key, so one task computes the windows"


def because(choice: Choice, facts: Facts) -> str:
    """The one sentence of a plan."""
    if facts.where == "spark streaming" and choice is None:
        if facts.events.keys == 1:
            return _ONE
        return "keys are hashed into buckets, which Spark distributes over its tasks"
    if facts.where == "process streaming":
        return "one process keeps the windows of all keys"
    if facts.where == "process" and facts.whole and facts.function is None:
        return (
            "the cost of your function is only known once it has run; the estimates assume 1 ms per window"
        )
    on_spark = facts.where == "spark batch"
    match choice:
        case None if facts.spark is not None and facts.folded_by_spark:
            return facts.spark.why
        case None:
            return _buckets(facts)
        case WinSeq():
            return _alone(facts)
        case _ if on_spark and folds_panes(choice) and facts.rolling:
            return f"{_keys(facts.events)}: tasks share its rows by pane, and have folds of the other panes"
        case _ if on_spark and folds_panes(choice):
            return "panes (partial aggregates) are computed before the shuffle, so even a hot key is small"
        case KeyFarm():
            return (
                f"{_keys(facts.events)} can be divided among {choice.degree} workers{_with_panes(choice)}"
            )
        case WinFarm(model="agnostic"):
            return f"{_keys(facts.events)}: any free worker takes the next windows, of whichever key"
        case WinFarm():
            return (
                f"{_keys(facts.events)}, and windows overlap so little that few events go to two workers"
                f"{_with_panes(choice)}"
            )
        case PaneFarm():
            return "each pane is computed once and shared by all windows that contain it" + _interpreted(
                facts
            )
        case WinMapReduce():
            return f"{_keys(facts.events)}, so several workers each compute a part of a window"


def folds_panes(choice: Choice) -> bool:
    """Whether workers on Spark get panes instead of rows."""
    inner = choice.held if isinstance(choice, Farm) else choice
    return isinstance(inner, PaneFarm | WinMapReduce)


def _alone(facts: Facts) -> str:
    if facts.cores == 1:
        return "one worker, because there is one core"
    if facts.whole:
        return "one worker is enough: the windows take less time than starting other processes"
    if any(not cut.on_columns for cut in facts.cuts):
        return "one worker is enough: most of the time is finding the windows, which does not parallelise"
    if all(not monoid.compiled for monoid in facts.algebra):
        return "one worker: the aggregates are interpreted, so threads would run one at a time"
    return "one worker is enough: most of the time is grouping and output, which do not parallelise"


def _buckets(facts: Facts) -> str:
    if facts.events.keys == 1:
        return _ONE
    if facts.events.known == "assumed":
        return "no key is known to be hot, so keys can be divided among tasks"
    return f"{_keys(facts.events)} can be divided among {facts.cores} tasks"


def _keys(events: EventFacts) -> str:
    if events.keys == 1:
        return "there is one key"
    about = "" if events.known in ("counted", "given") else "about "
    return f"{about}{events.keys:,} keys, the hottest with {events.hottest:.0%} of the events,"


def _with_panes(choice: KeyFarm | WinFarm) -> str:
    return (
        ", each of which computes a pane once for all windows" if isinstance(choice.held, PaneFarm) else ""
    )


def _interpreted(facts: Facts) -> str:
    slow = [monoid.name for monoid in facts.algebra if not monoid.compiled]
    return f"; {', '.join(slow)} would be interpreted for each of them otherwise" if slow else ""
