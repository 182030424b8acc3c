"""Which column types an aggregate takes, and the Arrow type that comes out.

    result : (Arrow types of the inputs)  →  Arrow type of the value, or a typed error

A runtime checks once, before any data flows. The interpreted, unbound form of a numeric aggregate meets its
values one by one instead, so it checks each of them (`require_number`).
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregation.encoding import decode, encode
from sash.aggregation.monoid import Kind, Monoid, ResultType
from sash.aggregation.sql_form import SqlForm
from sash.errors import ArgumentError, Unsupported
from sash.semantics.condition import RowCondition, condition
from sash.semantics.pyspark_names import column_hint

ZERO: dict[Kind, Any] = {"int": 0, "float": 0.0, "bool": False}
"""What stands in a typed element where there is no value yet. Objects have None there."""

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

_NUMBER = (int, float, np.integer, np.floating)
_CAST_HINT = "Cast the column first, for example to double."


def typed(kinds: tuple[Kind, ...]) -> bool:
    """Whether every input fits a numpy column, so that elements can be typed and compiled."""
    return "object" not in kinds


def columnar(**fields: Any) -> dict[str, Any]:
    """What `specialise` answers when the typed elements are numbers: these fields, and no codec."""
    return {**fields, "encode": None, "decode": None}


def constant(element: Any) -> Callable[[], Any]:
    """identity() of a typed element; the closure holds nothing but numbers, so that it can be compiled."""
    return _returning(repr(element))


# Functions that are made are made once, so that equal aggregates are equal monoids and are compiled once.
# Here the text is the key, because (0, 0) == (0.0, 0.0).
@cache
def _returning(literal: str) -> Callable[[], Any]:
    element = literal_eval(literal)

    def identity() -> Any:
        return element

    return identity


def of_numbers(
    name: str, columns: tuple[str, ...], *, empty: Any, lift: Callable[..., Any],
    combine: Callable[[Any, Any], Any], lower: Callable[[Any], Any], where: RowCondition | None,
    result: pa.DataType | None = None, sql: SqlForm | None = None,
) -> Monoid:  # fmt: skip
    """A commutative aggregate of numbers, with elements of numbers; its value is a double by default."""
    argument = "column" if len(columns) == 1 else "columns"
    return Monoid(
        name=name,
        columns=tuple(column_name(argument, column, of=name) for column in columns),
        identity=constant(empty),
        lift=numbers_only(name, lift),
        combine=combine,
        lower=lower,
        commutative=True,
        specialise=numeric(name, lift),
        result=number_to(name, result or pa.float64()),
        sql=sql,
        where=condition(where),
    )


def of_values(
    name: str, column: str, identity: Callable[[], Any], lift: Callable[..., Any],
    combine: Callable[[Any, Any], Any], lower: Callable[[Any], Any], *, where: RowCondition | None,
    **fields: Any,
) -> Monoid:  # fmt: skip
    """An aggregate of one column of any type; its elements are written to stores as Python values, unless
    they have a codec of their own among the other fields of a monoid."""
    fields = {"encode": encode, "decode": decode, "where": condition(where)} | fields
    column = column_name("column", column, of=name)
    return Monoid(name, (column,), identity, lift, combine, lower, **fields)


def column_name(argument: str, given: Any, *, of: str, hint: str = "", example: str = "'column', ") -> str:
    """`given`, once it is known to be a column's name; otherwise an error about the aggregate `of`.

    >>> column_name("column", lambda row: row.x > 1, of="sum")
    Traceback (most recent call last):
        ...
    sash.errors.ArgumentError: sum() takes column names. Pass a condition as sash.sum('column', \
where=lambda row: …).
    """
    if isinstance(given, str) and given:
        return given
    message = ""
    if callable(given):
        message = f"{of}() takes column names"
        hint = f"Pass a condition as sash.{of}({example}where=lambda row: …)."
    hint = column_hint(given) or hint
    raise ArgumentError(argument, given, "the name of a column", hint=hint, message=message)


def positive_integer(argument: str, given: Any) -> int:
    """`given`, once it is known to be 1, 2, 3, …"""
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ArgumentError(argument, given, "a positive integer")
    return given


def require_number(aggregate: str, value: Any) -> None:
    """Refuse what is neither an integer nor a float: float('1') would guess at a string."""
    if isinstance(value, bool) or not isinstance(value, _NUMBER):
        raise Unsupported(f"the input of {aggregate}", value, "an integer or a float", hint=_CAST_HINT)


@cache
def numbers_only(aggregate: str, lift: Callable[..., Any]) -> Callable[..., Any]:
    """`lift` with a look at each value first."""

    def checked(*values: Any) -> Any:
        for value in values:
            require_number(aggregate, value)
        return lift(*values)

    return checked


def numeric_kinds(aggregate: str, kinds: tuple[Kind, ...]) -> None:
    """Refuse columns of booleans and of objects (strings, decimals), as Spark refuses booleans."""
    for kind in kinds:
        if kind not in ("int", "float"):
            raise Unsupported(
                f"the input of {aggregate}", kind, "a column of integers or floats", hint=_CAST_HINT
            )


@cache
def numeric(aggregate: str, lift: Callable[..., Any]) -> Callable[[tuple[Kind, ...]], dict[str, Any]]:
    """`specialise` for an aggregate of numbers whose unbound form only checks each value: the bare lift."""

    def specialise(kinds: tuple[Kind, ...]) -> dict[str, Any]:
        numeric_kinds(aggregate, kinds)
        return {"lift": lift}

    return specialise


@cache
def always(result: pa.DataType) -> ResultType:
    """The same result whatever the inputs are."""
    return lambda types: result


@cache
def same_as(position: int) -> ResultType:
    """The type of one of the inputs: timestamps, dates and strings come out as they went in."""
    return lambda types: types[position]


@cache
def list_of(position: int) -> ResultType:
    return lambda types: pa.list_(types[position])


@cache
def number_to(aggregate: str, result: pa.DataType) -> ResultType:
    """`result`, for inputs that are integers or floats."""

    def of(types: tuple[pa.DataType, ...]) -> pa.DataType:
        for given in types:
            if not (pa.types.is_integer(given) or pa.types.is_floating(given)):
                raise _unsuited(aggregate, given, "an integer or floating-point column")
        return result

    return of


def sum_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    """Spark's: integers → bigint, floats → double, decimal(p, s) → decimal(min(38, p + 10), s)."""
    (given,) = types
    if pa.types.is_integer(given):
        return pa.int64()
    if pa.types.is_floating(given):
        return pa.float64()
    if pa.types.is_duration(given):
        return given
    if pa.types.is_decimal(given):
        return pa.decimal128(min(38, given.precision + 10), given.scale)
    raise _unsuited("sum", given, "a column of integers, floats, decimals or durations")


def increase_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    """As of a sum, for counters: integers, floats and decimals."""
    if pa.types.is_duration(types[0]):
        raise _unsuited("increase", types[0], "a counter: a column of integers, floats or decimals")
    return sum_type(types)


def range_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    """Like the inputs, but the difference of two timestamps is a duration of their unit."""
    (given,) = types
    if pa.types.is_timestamp(given):
        return pa.duration(given.unit)
    if pa.types.is_decimal(given):
        # A difference may need one digit more than the values: 9.9 − (−9.9).
        return pa.decimal128(min(38, given.precision + 1), given.scale)
    if pa.types.is_date(given):
        raise _unsuited("range", given, "numbers or timestamps", hint="Cast dates to timestamps first.")
    return sum_type(types)


def _unsuited(aggregate: str, given: pa.DataType, expected: str, *, hint: str = _CAST_HINT) -> Unsupported:
    return Unsupported(f"the input of {aggregate}", str(given), expected, hint=hint)
