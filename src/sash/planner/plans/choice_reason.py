"""Why a pattern wins, in one sentence."""

from __future__ import annotations

from sash.operators.patterns.declared import Farm, KeyFarm, PaneFarm, WinFarm, WinMapReduce, WinSeq
from sash.planner.facts import EventFacts, Facts
from sash.planner.plans.candidates import Choice


def because(choice: Choice, facts: Facts) -> str:
    """The one sentence of a plan."""
    if facts.where == "spark streaming" and choice is None:
        return "keys are hashed into buckets, and Spark spreads the buckets over its tasks"
    if facts.where == "process streaming":
        return "one process keeps the windows of all keys"
    if facts.where == "process" and facts.whole and facts.function is None:
        return "what the function takes is only known once it has run; the estimates assume 1 ms per window"
    on_spark = facts.where == "spark batch"
    match choice:
        case None if facts.spark is not None and facts.folded_by_spark:
            return facts.spark.why
        case None:
            return _buckets(facts)
        case WinSeq():
            return _alone(facts)
        case _ if on_spark and folds_panes(choice):
            return "panes are folded where rows lie: few of them travel, and a hot key is small by then"
        case KeyFarm():
            return f"{_keys(facts.events)} share out well over {choice.degree} workers{_with_panes(choice)}"
        case WinFarm(model="agnostic"):
            return f"{_keys(facts.events)}: any free worker takes the next windows, whosever they are"
        case WinFarm():
            return (
                f"{_keys(facts.events)}, and windows overlap so little that few events go to two workers"
                f"{_with_panes(choice)}"
            )
        case PaneFarm():
            return "a pane is folded once and shared by all windows that hold it" + _interpreted(facts)
        case WinMapReduce():
            return f"{_keys(facts.events)}, so that several workers fold parts of each window"


def folds_panes(choice: Choice) -> bool:
    """Whether workers on Spark get panes instead of rows."""
    inner = choice.held if isinstance(choice, Farm) else choice
    return isinstance(inner, PaneFarm | WinMapReduce)


def _alone(facts: Facts) -> str:
    if facts.cores == 1:
        return "there is one core"
    if facts.whole:
        return "the windows take less time than it takes to start other processes"
    if any(not cut.on_columns for cut in facts.cuts):
        return "finding the windows takes most of the time, and one worker does that"
    if all(not monoid.compiled for monoid in facts.algebra):
        return "the aggregates are interpreted, so that threads would take turns"
    return "most of the time goes into grouping and reporting, which more workers would not shorten"


def _buckets(facts: Facts) -> str:
    if facts.events.known == "assumed" and facts.events.keys > 1:
        return "no key is known to have far more rows than others, so that keys share out well"
    return f"{_keys(facts.events)} share out well over {facts.cores} tasks"


def _keys(events: EventFacts) -> str:
    if events.keys == 1:
        return "there is one key"
    about = "" if events.known in ("counted", "given") else "about "
    return f"{about}{events.keys:,} keys, of which the hottest has {events.hottest:.0%} of the events,"


def _with_panes(choice: KeyFarm | WinFarm) -> str:
    return ", each of which folds a pane once for all windows" if isinstance(choice.held, PaneFarm) else ""


def _interpreted(facts: Facts) -> str:
    slow = [monoid.name for monoid in facts.algebra if not monoid.compiled]
    return f"; {', '.join(slow)} would be interpreted for each of them otherwise" if slow else ""
