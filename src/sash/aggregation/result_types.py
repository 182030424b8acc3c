"""The result type of a user's monoid, from one sample event.

    result(T₁, …)  =  Arrow type of  lower(lift(s₁, …)),   sᵢ a value of type Tᵢ

A plan has to know its output's type before any data flows, and a monoid's functions show it only by what
they return. So they are tried once on values that are as harmless as possible: ones, not zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sash.aggregation.interpreted import require_fields
from sash.aggregation.monoid import ResultType
from sash.errors import ArgumentError

_SAMPLES: list[tuple[Callable[[pa.DataType], bool], Any]] = [
    (pa.types.is_boolean, True),
    (pa.types.is_integer, 1),
    (pa.types.is_floating, 1.0),
    (pa.types.is_decimal, Decimal(1)),
    (pa.types.is_string, "a"),
    (pa.types.is_large_string, "a"),
    (pa.types.is_binary, b"a"),
    (pa.types.is_large_binary, b"a"),
    (pa.types.is_timestamp, 1),
    (pa.types.is_duration, 1),
]
"""Timestamps and durations reach a monoid as integers (microseconds)."""


def inferred_result(
    owner: str,
    lift: Callable[..., Any],
    lower: Callable[[Any], Any],
    *,
    combine: Callable[[Any, Any], Any] | None = None,
    fields: int | None = None,
) -> ResultType:
    """A result function that tries `lower(lift(…))` on a sample event; integers are int64, floats float64.
    `fields`: how many an element has, if it is a tuple: a `combine` that returns others is refused.

    >>> ratio = inferred_result("Ratio", lambda a, b: (a, b), lambda e: e[0] / e[1])
    >>> ratio((pa.int32(), pa.int64()))
    DataType(double)
    """

    def of(types: tuple[pa.DataType, ...]) -> pa.DataType:
        values = [_sample(owner, given) for given in types]
        try:
            element = lift(*values)
        except Exception as error:
            called = f"{owner}.lift({', '.join(map(repr, values))})"
            raise _failing(f"{owner}.lift", called, "a sample value", error) from error
        if combine is not None and fields is not None and isinstance(element, tuple):
            _require_fields(owner, fields, element, combine)
        try:
            value = lower(element)
        except Exception as error:
            called = f"{owner}.lower({element!r})"
            raise _failing(f"{owner}.lower", called, "an element of a sample value", error) from error
        try:
            found = pa.scalar(value)
        except Exception as error:
            raise _undecided(owner, types, f"trying it on {values} gave {value!r}: {error}") from error
        if pa.types.is_null(found.type):
            raise _undecided(owner, types, f"trying it on {values} gave a null")
        return found.type

    return of


def _require_fields(owner: str, fields: int, element: Any, combine: Callable[[Any, Any], Any]) -> None:
    require_fields(owner, fields, "lift", [element])
    try:
        both = combine(element, element)
    except Exception:  # two samples may not go together; events show that
        return
    if isinstance(both, tuple):
        require_fields(owner, fields, "combine", [both])


def _sample(owner: str, given: pa.DataType) -> Any:
    for accepts, value in _SAMPLES:
        if accepts(given):
            return value
    raise _undecided(owner, (given,), "there is no sample value of that type")


def _failing(function: str, called: str, given: str, error: Exception) -> ArgumentError:
    """A sample can be a value that never occurs; a name that is missing is missing for every value."""
    declare = "If such values never occur, declare the type: @sash.monoid(result=pa.float64())."
    return ArgumentError(
        function, error, f"a function that takes {given}",
        message=f"{called} raised {type(error).__name__}: {error} "
        f"(called with {given} to find the result type)",
        hint=declare if isinstance(error, ArithmeticError | ValueError | LookupError) else "",
    )  # fmt: skip


def _undecided(owner: str, types: tuple[pa.DataType, ...], why: str) -> ArgumentError:
    return ArgumentError(
        f"result of {owner}",
        None,
        f"given for columns of type {', '.join(map(str, types))}: {why}",
        hint="For example @sash.monoid(result=pa.float64()).",
    )
