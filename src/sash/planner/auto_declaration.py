"""`.parallel("auto")`: let the planner choose, with what is known of the events.

>>> Auto(hottest=0.99).hottest
0.99
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from sash.errors import ArgumentError
from sash.operators.patterns.declared import Pattern, require_degree, require_pattern


@dataclass(frozen=True, kw_only=True)
class Auto:
    """Let the planner choose. Values given here are used as they are, instead of being sampled or
    assumed."""

    rows: int | None = None
    """How many events there are."""
    keys: int | None = None
    """How many distinct keys they have."""
    hottest: float | None = None
    """The share of all events that belong to the most frequent key, from 0 to 1."""
    cores: int | None = None
    """How many workers to plan for."""
    sample: bool = False
    """Whether a Spark job may sample the first rows of a static DataFrame. Tables in this process are
    always sampled, because that costs next to nothing."""

    def __post_init__(self) -> None:
        for argument in ("rows", "keys", "cores"):
            given = getattr(self, argument)
            if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
                raise ArgumentError(argument, given, "a positive whole number")
        if self.hottest is not None and not 0 < self.hottest <= 1:
            raise ArgumentError("hottest", self.hottest, "a share of the events, above 0 and at most 1")


Parallelism: TypeAlias = Pattern | Auto
"""What `.parallel` was given."""

AUTO = Auto()


def require_parallelism(given: Any) -> Parallelism:
    """A pattern; None, Auto and a number of workers leave the choice to the planner."""
    if isinstance(given, Auto):
        return given
    if isinstance(given, int):
        require_degree("workers", given)
        return Auto(cores=given)
    return require_pattern(given) or AUTO
