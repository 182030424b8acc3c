"""Casts into element columns that never lose a value silently, and the writing of results.

    as_bool: bool only        as_int: bool, int        as_float: bool, int, float

Compiled, a wrong type is refused when the kernel is compiled, so that the check costs nothing in the loop;
interpreted, it is refused when the value shows up. Either way the cure is the same: an identity (or input
kinds) of the wider type.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

from sash.aggregation.kernels.compiler.template_words import Columns
from sash.errors import ArgumentError, IntegerOverflow

CURE = "let identity() return values of the widest type that lift and combine give"


def as_bool(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError("a bool field of an element", value, "a bool", hint=CURE)
    return bool(value)


def as_int(value: Any) -> int:
    if not isinstance(value, int | np.integer | np.bool_):
        raise ArgumentError("an int field of an element", value, "an int", hint=CURE)
    if not -(2**63) <= value < 2**63:
        raise IntegerOverflow(f"{value} does not fit in the 64 bits of an int field of an element")
    return int(value)


def as_float(value: Any) -> float:
    return float(value)


def put_result(results: Columns, i: int, result: Any) -> None:
    """One column per field of a tuple result, one column for a scalar."""
    fields = result if isinstance(result, tuple) else (result,)
    for column, value in zip(results, fields, strict=True):
        column[i] = value


@overload(as_bool)  # type: ignore[untyped-decorator]
def _as_bool(value: Any) -> Any:
    if not isinstance(value, types.Boolean | types.BooleanLiteral):
        raise TypingError(f"a bool field of an element got a value of type {value}; {CURE}")

    def keep(value: Any) -> Any:
        return value

    return keep


@overload(as_int)  # type: ignore[untyped-decorator]
def _as_int(value: Any) -> Any:
    if not isinstance(value, types.Integer | types.Boolean | types.BooleanLiteral):
        raise TypingError(f"an int field of an element got a value of type {value}; {CURE}")

    def widen(value: Any) -> Any:
        return np.int64(value)

    return widen


@overload(as_float)  # type: ignore[untyped-decorator]
def _as_float(value: Any) -> Any:
    if not isinstance(value, types.Number | types.Boolean | types.BooleanLiteral):
        raise TypingError(f"a float field of an element got a value of type {value}; {CURE}")

    def widen(value: Any) -> Any:
        return np.float64(value)

    return widen


@intrinsic  # type: ignore[untyped-decorator]
def _known(typing_context: Any, optional: Any) -> Any:
    """The value of an optional that was just seen not to be None; Numba does not narrow it by itself."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.cast(builder, arguments[0], optional, optional.type)

    return optional.type(optional), generate


@overload(put_result)  # type: ignore[untyped-decorator]
def _put_result(results: Any, i: Any, result: Any) -> Any:
    if isinstance(result, types.Optional):

        def known(results: Any, i: Any, result: Any) -> Any:
            put_result(results, i, _known(result))

        return known
    if not isinstance(result, types.BaseTuple):

        def scalar(results: Any, i: Any, result: Any) -> Any:
            results[0][i] = result

        return scalar
    if len(result) == 1:

        def last(results: Any, i: Any, result: Any) -> Any:
            results[0][i] = result[0]

        return last

    def several(results: Any, i: Any, result: Any) -> Any:
        results[0][i] = result[0]
        put_result(results[1:], i, result[1:])

    return several
