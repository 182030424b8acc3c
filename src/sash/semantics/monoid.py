"""What semantics needs of an aggregate: a monoid, seen from outside.

    value of an extent  =  lower(lift(e₁) ⊕ lift(e₂) ⊕ … ⊕ lift(eₙ)),   oldest first

over those events whose input columns are all non-null, as Spark's aggregates do, and for which the
condition `where` is true, if there is one. When there are none, the value is `nothing` (null for most
aggregates, 0 for a count). A monoid without input columns and without a condition sees every event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, Protocol

from sash.semantics.condition import Condition


class MonoidLike(Protocol):
    """Structural: the aggregation room's monoids fit it, and so does any test double."""

    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def where(self) -> Condition | None: ...
    @property
    def nothing(self) -> Any: ...
    @property
    def lift(self) -> Any: ...
    @property
    def combine(self) -> Any: ...
    @property
    def lower(self) -> Any: ...


def fold(monoid: MonoidLike, rows: Iterable[Mapping[str, Any]]) -> Any:
    """The value of `monoid` over `rows`, by definition: lift each, combine in order, lower once."""
    elements = [monoid.lift(*values) for row in rows if (values := inputs(monoid, row)) is not None]
    return monoid.lower(reduce(monoid.combine, elements)) if elements else monoid.nothing


def inputs(monoid: MonoidLike, row: Mapping[str, Any]) -> list[Any] | None:
    """What `lift` takes of this row; None when the row does not count."""
    values = [row[column] for column in monoid.columns]
    if any(value is None for value in values):
        return None
    return values if monoid.where is None or monoid.where.holds(row) else None
