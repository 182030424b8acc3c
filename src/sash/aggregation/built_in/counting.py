"""How many.

count()          =  Σ 1  over every event
count(x, y, …)   =  Σ 1  over the events in which none of x, y, … is null
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sash.aggregation.built_in.column_types import always, column_name
from sash.aggregation.monoid import Monoid
from sash.aggregation.sql_form import COUNT
from sash.errors import ArgumentError
from sash.semantics.condition import RowCondition, condition


def count(*columns: str, where: RowCondition | None = None) -> Monoid:
    """Number of events; with columns, of those in which none of them is null. 0 when there are none.

    >>> from sash.semantics.monoid import fold
    >>> rows = [{"x": 1}, {"x": None}]
    >>> fold(count(), rows), fold(count("x"), rows), fold(count(), [])
    (2, 1, 0)
    """
    if "*" in columns:
        raise ArgumentError("columns", columns, "left out", message="count('*') is count() here")
    return Monoid(
        name="count",
        columns=tuple(_column(column) for column in columns),
        identity=_zero,
        lift=_LIFTS.get(len(columns), _one),
        combine=_add,
        lower=_itself,
        inverse=_subtract,
        commutative=True,
        nothing=0,
        result=always(pa.int64()),
        sql=COUNT,
        where=condition(where),
    )


def _column(given: Any) -> str:
    """
    >>> _column(100)
    Traceback (most recent call last):
        ...
    sash.errors.ArgumentError: columns must be the name of a column; got 100. A window of 100 events is \
sash.rows(100).
    """
    hint = f"A window of {given} events is sash.rows({given})." if isinstance(given, int) else ""
    return column_name("columns", given, of="count", hint=hint, example="")


def _zero() -> int:
    return 0


def _one(*values: Any) -> int:
    return 1


def _one_of_none() -> int:
    return 1


def _one_of_one(value: Any) -> int:
    return 1


# A compiler wants fixed parameters; the variadic form is left for rarely counted combinations.
_LIFTS: dict[int, Callable[..., int]] = {0: _one_of_none, 1: _one_of_one}


def _add(a: int, b: int) -> int:
    return a + b


def _subtract(total: int, oldest: int) -> int:
    return total - oldest


def _itself(element: int) -> int:
    return element
