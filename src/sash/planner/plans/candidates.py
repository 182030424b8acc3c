"""The patterns that could compute a query, the simplest first: where two are as good, the first one wins.

Degrees are those that use every core once; `degrees` has the others. A pattern that the algebra, the
window's class or the runtime forbids is no candidate; it is listed with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sash.errors import SashError
from sash.operators.bound_query import BoundQuery
from sash.operators.patterns.allowed import refusal
from sash.operators.patterns.declared import Farm, KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
from sash.planner.facts import RuntimeName

Choice: TypeAlias = Pattern | None
"""None stands for buckets of keys, which is how Spark spreads a query that names no pattern."""
Refuse: TypeAlias = Callable[[Pattern, BoundQuery], SashError | None]
"""Why a runtime cannot compute a query under a pattern; None when it can."""

BUCKETS = "buckets of keys"


def never(pattern: Pattern, bound: BoundQuery) -> SashError | None:
    """The refusal of a runtime that can do all that the algebra allows."""
    return None


def named(choice: Choice) -> str:
    return BUCKETS if choice is None else str(choice)


@dataclass(frozen=True)
class Forbidden:
    """A pattern that is no candidate."""

    pattern: str
    reason: str


def candidates(where: RuntimeName, cores: int, *, events_known: bool = False) -> list[Choice]:
    """All that there is for so many cores. On a stream another choice is another state, which a checkpoint
    does not survive: there is none, unless the user gave facts about the events.

    >>> [named(choice) for choice in candidates("process", 1)]
    ['WinSeq()', 'PaneFarm(plq=1, wlq=1)']
    """
    if where == "process streaming":
        return [WinSeq()]
    if where == "spark streaming" and not events_known:
        return [None]
    alone = PaneFarm(1, 1)
    if where == "process" and cores == 1:
        return [WinSeq(), alone]
    several: list[Choice] = [
        WinFarm(cores, model="agnostic"),
        WinFarm(cores),
        PaneFarm(cores, cores),
        KeyFarm(alone, replicas=cores),
        WinMapReduce(cores, cores),
        WinFarm(alone, replicas=cores),
    ]
    if where == "process":
        return [WinSeq(), KeyFarm(cores), alone, *several]
    if where == "spark streaming":
        return [None, *(one for one in several if not isinstance(one, Farm) or one.held == WinSeq())]
    # Where panes are folded before the shuffle, key by key is simpler than window by window.
    return [None, KeyFarm(alone, replicas=cores), *(one for one in several if not isinstance(one, KeyFarm))]


def allowed(
    choices: list[Choice], bound: BoundQuery, refuse: Refuse
) -> tuple[list[Choice], list[Forbidden]]:
    """Those that can compute this query, and those that cannot, with the reason. A reason that forbids
    several of a kind is listed with the first."""
    possible: list[Choice] = []
    forbidden: dict[str, Forbidden] = {}
    for choice in choices:
        reason = None if choice is None else refusal(choice, bound) or refuse(choice, bound)
        if reason is None:
            possible.append(choice)
        else:
            why = getattr(reason, "hint", "") or str(reason)
            forbidden.setdefault(_kind(choice), Forbidden(named(choice), why))
    return possible, list(forbidden.values())


def _kind(choice: Choice) -> str:
    inner = choice.held if isinstance(choice, Farm) else choice
    return type(choice if isinstance(inner, WinSeq) else inner).__name__
