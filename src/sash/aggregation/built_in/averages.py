"""Arithmetic and geometric means.

    mean(x)  =  Σ x / n                  geomean(x)  =  exp( Σ ln x / n ),   x ≥ 0

The sums are those of `sums`, so a mean is as exact as a sum: integers are added in two limbs and divided
once, floats (and the logarithms) are compensated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import pyarrow as pa

from sash.aggregation.built_in.column_types import (
    column_name,
    columnar,
    constant,
    number_to,
    numbers_only,
    numeric_kinds,
    of_numbers,
    of_values,
)
from sash.aggregation.built_in.sums import add_any, lift_any, no_total
from sash.aggregation.monoid import Kind, Monoid
from sash.aggregation.sql_form import MEAN_OF_FLOATS, MEAN_OF_INTEGERS
from sash.semantics.condition import RowCondition

IntTotal = tuple[int, int, int]
FloatTotal = tuple[float, float, int]


def mean(column: str, *, where: RowCondition | None = None, exact: bool = False) -> Monoid:
    """Σ x / n as a float; null when empty. No overflow for integers; invertible once bound to them. For
    `exact` see `sum`.

    >>> from sash.semantics.monoid import fold
    >>> fold(mean("x"), [{"x": 1}, {"x": None}, {"x": 2}])
    1.5
    """
    return of_values(
        "mean", column, _no_mean, numbers_only("mean", _lift_any), _combine_any, _lower_any,
        commutative=True, specialise=_typed_mean(column_name("column", column, of="mean"), exact),
        result=number_to("mean", pa.float64()), where=where,
    )  # fmt: skip


@cache
def _typed_mean(column: str, exact: bool) -> Callable[[tuple[Kind, ...]], dict[str, Any]]:
    def specialise(kinds: tuple[Kind, ...]) -> dict[str, Any]:
        numeric_kinds("mean", kinds)
        if kinds == ("float",):
            return columnar(
                identity=constant((0.0, 0.0, 0)),
                lift=_lift_float,
                combine=_combine_float,
                lower=_lower_float,
                sql=None if exact else MEAN_OF_FLOATS,
            )
        plain = Monoid(
            name="mean",
            columns=(column,),
            identity=constant((0, 0)),
            lift=_lift_plain,
            combine=_combine_plain,
            lower=_lower_plain,
            inverse=_subtract_plain,
            commutative=True,
            result=number_to("mean", pa.float64()),
        )
        return columnar(
            identity=constant((0, 0, 0)),
            lift=_lift_int,
            combine=_combine_int,
            lower=_lower_int,
            inverse=_subtract_int,
            plain=plain,
            sql=MEAN_OF_INTEGERS,
        )

    return specialise


def geomean(column: str, *, where: RowCondition | None = None) -> Monoid:
    """exp(Σ ln x / n); 0 as soon as an x is 0, NaN as soon as one is negative or NaN; null when empty.

    >>> from sash.semantics.monoid import fold
    >>> round(fold(geomean("x"), [{"x": 2.0}, {"x": 8.0}]), 12)
    4.0
    """
    empty = (0.0, 0.0, 0)
    return of_numbers(
        "geomean", (column,), empty=empty, lift=_lift_log, combine=_combine_float, lower=_lower_log,
        where=where,
    )  # fmt: skip


def _lift_int(x: int) -> IntTotal:
    return (x >> 32, x & 0xFFFFFFFF, 1)


def _combine_int(a: IntTotal, b: IntTotal) -> IntTotal:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _subtract_int(total: IntTotal, oldest: IntTotal) -> IntTotal:
    return (total[0] - oldest[0], total[1] - oldest[1], total[2] - oldest[2])


def _lower_int(e: IntTotal) -> float:
    if e[2] == 0:
        return math.nan
    # Carrying first leaves one rounding: the high limb alone is exact as a float.
    high = e[0] + (e[1] >> 32)
    return (high * 4294967296.0 + (e[1] & 0xFFFFFFFF)) / e[2]


def _lift_plain(x: int) -> tuple[int, int]:
    return (x, 1)


def _combine_plain(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return (a[0] + b[0], a[1] + b[1])


def _subtract_plain(total: tuple[int, int], oldest: tuple[int, int]) -> tuple[int, int]:
    return (total[0] - oldest[0], total[1] - oldest[1])


def _lower_plain(e: tuple[int, int]) -> float:
    if e[1] == 0:
        return math.nan
    return e[0] / e[1]


def _lift_float(x: float) -> FloatTotal:
    return (x, 0.0, 1)


def _combine_float(a: FloatTotal, b: FloatTotal) -> FloatTotal:
    s = a[0] + b[0]
    part = s - a[0]
    return (s, a[1] + b[1] + ((a[0] - (s - part)) + (b[0] - part)), a[2] + b[2])


def _lower_float(e: FloatTotal) -> float:
    if e[2] == 0:
        return math.nan
    return (e[0] + e[1]) / e[2] if math.isfinite(e[0]) else e[0]


def _lift_log(x: float) -> FloatTotal:
    if x > 0:
        return (math.log(x), 0.0, 1)
    return (-math.inf if x == 0 else math.nan, 0.0, 1)


def _lower_log(e: FloatTotal) -> float:
    if e[2] == 0:
        return math.nan
    if not math.isfinite(e[0]):
        return math.exp(e[0])
    # The logarithm of the largest float: beyond it, by a rounding, exp would overflow.
    return math.exp(min(709.782712893384, (e[0] + e[1]) / e[2]))


def _no_mean() -> tuple[Any, int]:
    return (no_total(), 0)


def _lift_any(x: Any) -> tuple[Any, int]:
    return (lift_any(x), 1)


def _combine_any(a: tuple[Any, int], b: tuple[Any, int]) -> tuple[Any, int]:
    return (add_any(a[0], b[0]), a[1] + b[1])


def _lower_any(e: tuple[Any, int]) -> float:
    total, n = e
    if n == 0:
        return math.nan
    return _lower_float((*total, n)) if isinstance(total, tuple) else total / n
