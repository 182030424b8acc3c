"""What semantics asks of an aggregate: a monoid, seen from outside.

    value of an extent  =  lower(lift(e₁) ⊕ lift(e₂) ⊕ … ⊕ lift(eₙ)),   oldest first

over those events whose input columns are all non-null, as Spark's aggregates do. When there are none,
the value is `nothing` (null for most aggregates, 0 for a count). A monoid without input columns sees
every event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, Protocol


class Monoid(Protocol):
    """Structural: the aggregation room's monoids fit it, and so does any test double."""

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def nothing(self) -> Any: ...
    @property
    def lift(self) -> Any: ...
    @property
    def combine(self) -> Any: ...
    @property
    def lower(self) -> Any: ...


def fold(monoid: Monoid, rows: Iterable[Mapping[str, Any]]) -> Any:
    """The value of `monoid` over `rows`, by definition: lift each, combine in order, lower once."""
    inputs = ([row[column] for column in monoid.columns] for row in rows)
    elements = [monoid.lift(*values) for values in inputs if all(value is not None for value in values)]
    return monoid.lower(reduce(monoid.combine, elements)) if elements else monoid.nothing
