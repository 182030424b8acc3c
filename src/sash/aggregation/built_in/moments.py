"""Spread and shape of one column: sample variance and deviation, skewness and kurtosis.

With M_k = Σ (x − x̄)ᵏ over n values:

    variance  =  M₂ / (n − 1)        stddev  =  √variance
    skewness  =  √n · M₃ / M₂^(3/2)  kurtosis  =  n · M₄ / M₂² − 3

An element is (n, x̄, M₂[, M₃[, M₄]]), and two of them merge by the formulas of Chan, Golub and LeVeque
(1979; M₃ and M₄ after Pébay, 2008), which never subtract large numbers that are nearly equal, as a sum of
squares does.

Spark's rules: variance and stddev of a single value are null; skewness and kurtosis are null when M₂ is 0;
as soon as a value is infinite or NaN, so is (NaN) the result. Integers are taken as doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sash.aggregation.built_in.column_types import of_numbers
from sash.aggregation.monoid import Monoid
from sash.aggregation.sql_form import STDDEV, VARIANCE, SqlForm
from sash.semantics.condition import RowCondition

SecondMoments = tuple[int, float, float]
ThirdMoments = tuple[int, float, float, float]
Tails = tuple[int, float, float, float, float]


def variance(column: str, *, where: RowCondition | None = None) -> Monoid:
    """Sample variance M₂ / (n − 1); null for fewer than two values.

    >>> from sash.semantics.monoid import fold
    >>> fold(variance("x"), [{"x": 1.0}, {"x": None}, {"x": 2.0}, {"x": 3.0}])
    1.0
    >>> fold(variance("x"), [{"x": 1.0}]) is None
    True
    """
    return _spread("variance", column, _variance, where, VARIANCE)


def stddev(column: str, *, where: RowCondition | None = None) -> Monoid:
    """Sample standard deviation √(M₂ / (n − 1)); null for fewer than two values.

    >>> from sash.semantics.monoid import fold
    >>> fold(stddev("x"), [{"x": 1}, {"x": 5}, {"x": 3}])
    2.0
    """
    return _spread("stddev", column, _stddev, where, STDDEV)


def skewness(column: str, *, where: RowCondition | None = None) -> Monoid:
    """Population skewness √n · M₃ / M₂^(3/2), as Spark's; null when all values are the same.

    >>> from sash.semantics.monoid import fold
    >>> round(fold(skewness("x"), [{"x": 1}, {"x": 1}, {"x": 4}]), 12)
    0.707106781187
    """
    empty = (0, 0.0, 0.0, 0.0)
    return of_numbers(
        "skewness", (column,), empty=empty, lift=_lift_shape, combine=_merge_shapes, lower=_skewness,
        where=where,
    )  # fmt: skip


def kurtosis(column: str, *, where: RowCondition | None = None) -> Monoid:
    """Excess kurtosis n · M₄ / M₂² − 3, as Spark's; null when all values are the same.

    >>> from sash.semantics.monoid import fold
    >>> round(fold(kurtosis("x"), [{"x": 1}, {"x": 1}, {"x": 1}, {"x": 5}]), 12)
    -0.666666666667
    """
    empty = (0, 0.0, 0.0, 0.0, 0.0)
    return of_numbers(
        "kurtosis", (column,), empty=empty, lift=_lift_tails, combine=_merge_tails, lower=_kurtosis,
        where=where,
    )  # fmt: skip


def _spread(
    name: str,
    column: str,
    lower: Callable[[SecondMoments], float | None],
    where: RowCondition | None,
    sql: SqlForm,
) -> Monoid:
    empty = (0, 0.0, 0.0)
    return of_numbers(
        name, (column,), empty=empty, lift=_lift_spread, combine=_merge_spreads, lower=lower, where=where,
        sql=sql,
    )  # fmt: skip


def _lift_spread(x: float) -> SecondMoments:
    return (1, float(x), 0.0)


def _merge_spreads(a: SecondMoments, b: SecondMoments) -> SecondMoments:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    share = b[0] / n
    delta = b[1] - a[1]
    return (n, a[1] + delta * share, a[2] + b[2] + delta * delta * (a[0] * share))


def _variance(e: SecondMoments) -> float | None:
    if e[0] < 2:
        return None
    # Any infinity or NaN reaches the mean, in whatever grouping; M₂ may still be ∞.
    return e[2] / (e[0] - 1) if math.isfinite(e[1]) else math.nan


def _stddev(e: SecondMoments) -> float | None:
    if e[0] < 2:
        return None
    return math.sqrt(e[2] / (e[0] - 1)) if math.isfinite(e[1]) else math.nan


def _lift_shape(x: float) -> ThirdMoments:
    return (1, float(x), 0.0, 0.0)


def _merge_shapes(a: ThirdMoments, b: ThirdMoments) -> ThirdMoments:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    p, q = a[0] / n, b[0] / n
    delta = b[1] - a[1]
    between = delta * delta * (a[0] * q)
    return (
        n,
        a[1] + delta * q,
        a[2] + b[2] + between,
        a[3] + b[3] + between * delta * (p - q) + 3.0 * delta * (p * b[2] - q * a[2]),
    )


def _skewness(e: ThirdMoments) -> float | None:
    if e[0] == 0:
        return None
    if not math.isfinite(e[1]):
        return math.nan
    if e[2] == 0.0:
        return None
    # Dividing twice instead of by M₂^(3/2), which underflows to 0 while M₂ does not.
    return math.sqrt(e[0]) * (e[3] / e[2] / math.sqrt(e[2]))


def _lift_tails(x: float) -> Tails:
    return (1, float(x), 0.0, 0.0, 0.0)


def _merge_tails(a: Tails, b: Tails) -> Tails:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    p, q = a[0] / n, b[0] / n
    delta = b[1] - a[1]
    square = delta * delta
    between = square * (a[0] * q)
    return (
        n,
        a[1] + delta * q,
        a[2] + b[2] + between,
        a[3] + b[3] + between * delta * (p - q) + 3.0 * delta * (p * b[2] - q * a[2]),
        a[4]
        + b[4]
        + between * square * (p * p - p * q + q * q)
        + 6.0 * square * (p * p * b[2] + q * q * a[2])
        + 4.0 * delta * (p * b[3] - q * a[3]),
    )


def _kurtosis(e: Tails) -> float | None:
    if e[0] == 0:
        return None
    if not math.isfinite(e[1]):
        return math.nan
    if e[2] == 0.0:
        return None
    # Dividing twice instead of by M₂², which underflows to 0 while M₂ does not.
    return e[0] * (e[4] / e[2] / e[2]) - 3.0
