"""How two columns go together: covariance, correlation, and the least-squares line.

With S_xy = Σ (x − x̄)(y − ȳ), and S_xx, S_yy likewise:

    covariance   =  S_xy / (n − 1)                 correlation  =  S_xy / √(S_xx · S_yy)
    slope        =  S_xy / S_xx                    intercept    =  ȳ − slope · x̄
    r²           =  S_xy² / (S_xx · S_yy),  1 when all y are the same

Elements hold the means and the S, and merge as moments do (Chan, Golub, LeVeque, 1979; Pébay, 2008).

Spark's rules: covariance is null for fewer than two events, correlation when one of the columns is
constant, the regression when x is; an infinity or a NaN makes the result NaN.
"""

from __future__ import annotations

import math

import pyarrow as pa

from sash.aggregation.built_in.column_types import of_numbers
from sash.aggregation.monoid import Monoid
from sash.semantics.condition import RowCondition

Joint = tuple[int, float, float, float]
"""n, x̄, ȳ, S_xy"""

Comoments = tuple[int, float, float, float, float, float]
"""n, x̄, ȳ, S_xx, S_xy, S_yy"""

Line = tuple[float, float, float]
"""slope, intercept, r²"""


def covariance(x: str, y: str, *, where: RowCondition | None = None) -> Monoid:
    """Sample covariance S_xy / (n − 1); null for fewer than two events.

    >>> from sash.semantics.monoid import fold
    >>> fold(covariance("x", "y"), [{"x": 1, "y": 2.0}, {"x": 3, "y": 6.0}, {"x": 9, "y": None}])
    4.0
    """
    empty = (0, 0.0, 0.0, 0.0)
    return of_numbers(
        "covariance", (x, y), empty=empty, lift=_lift_joint, combine=_merge_joint, lower=_covariance,
        where=where,
    )  # fmt: skip


def correlation(x: str, y: str, *, where: RowCondition | None = None) -> Monoid:
    """Pearson's correlation S_xy / √(S_xx · S_yy); null when x or y does not vary.

    >>> from sash.semantics.monoid import fold
    >>> round(fold(correlation("x", "y"), [{"x": 1, "y": 2}, {"x": 2, "y": 0}, {"x": 3, "y": -2}]), 12)
    -1.0
    """
    return of_numbers(
        "correlation", (x, y), empty=_NO_COMOMENTS, lift=_lift_comoments, combine=_merge_comoments,
        lower=_correlation, where=where,
    )  # fmt: skip


def linear_regression(y: str, x: str, *, where: RowCondition | None = None) -> Monoid:
    """The line y = slope · x + intercept of least squares, with r²; null when x does not vary.

    The value is the tuple (slope, intercept, r2), a struct of these names in a table. The dependent
    column comes first, as in Spark's regr_slope(y, x).

    >>> from sash.semantics.monoid import fold
    >>> slope, intercept, r2 = fold(linear_regression("y", "x"), [{"x": 0, "y": 1}, {"x": 2, "y": 5}])
    >>> slope, intercept, round(r2, 12)
    (2.0, 1.0, 1.0)
    """
    line = pa.struct([(name, pa.float64()) for name in ("slope", "intercept", "r2")])
    return of_numbers(
        "linear_regression", (y, x), empty=_NO_COMOMENTS, lift=_lift_regression, combine=_merge_comoments,
        lower=_line, where=where, result=line,
    )  # fmt: skip


_NO_COMOMENTS: Comoments = (0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _lift_joint(x: float, y: float) -> Joint:
    return (1, float(x), float(y), 0.0)


def _merge_joint(a: Joint, b: Joint) -> Joint:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    share = b[0] / n
    dx, dy = b[1] - a[1], b[2] - a[2]
    return (n, a[1] + dx * share, a[2] + dy * share, a[3] + b[3] + dx * dy * (a[0] * share))


def _covariance(e: Joint) -> float | None:
    if e[0] < 2:
        return None
    return e[3] / (e[0] - 1) if math.isfinite(e[1]) and math.isfinite(e[2]) else math.nan


def _lift_comoments(x: float, y: float) -> Comoments:
    return (1, float(x), float(y), 0.0, 0.0, 0.0)


def _lift_regression(y: float, x: float) -> Comoments:
    return (1, float(x), float(y), 0.0, 0.0, 0.0)


def _merge_comoments(a: Comoments, b: Comoments) -> Comoments:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    n = a[0] + b[0]
    share = b[0] / n
    weight = a[0] * share
    dx, dy = b[1] - a[1], b[2] - a[2]
    return (
        n,
        a[1] + dx * share,
        a[2] + dy * share,
        a[3] + b[3] + dx * dx * weight,
        a[4] + b[4] + dx * dy * weight,
        a[5] + b[5] + dy * dy * weight,
    )


def _correlation(e: Comoments) -> float | None:
    if e[0] == 0:
        return None
    if not (math.isfinite(e[1]) and math.isfinite(e[2])):
        return None if e[0] < 2 else math.nan
    if e[3] == 0.0 or e[5] == 0.0:
        return None
    # Two divisions by a root each: the product S_xx · S_yy could overflow or vanish.
    r = e[4] / math.sqrt(e[3]) / math.sqrt(e[5])
    return 1.0 if r > 1.0 else -1.0 if r < -1.0 else r


def _line(e: Comoments) -> Line | None:
    if e[0] < 2:
        return None
    if not (math.isfinite(e[1]) and math.isfinite(e[2])):
        return (math.nan, math.nan, math.nan)
    if e[3] == 0.0:
        return None
    slope = e[4] / e[3]
    r = 1.0 if e[5] == 0.0 else e[4] / math.sqrt(e[3]) / math.sqrt(e[5])
    r2 = r * r
    return (slope, e[2] - slope * e[1], 1.0 if r2 > 1.0 else r2)
