"""Exponentially weighted means: the newest event counts most.

    by events    w_i  =  (1 − α)^(number of values after x_i)                α  =  1 − 2^(−1 / half_life)
    by time      w_i  =  2^(−(time of the newest value − τ_i) / half_life)
    ewm(x)       =  Σ w_i x_i / Σ w_i         over the values of the window: pandas' ewm(adjust=True).mean()

An element is (Σ w x, Σ w, the factor by which older values shrink). By events that factor is (1 − α)^n, and
a ⊕ b = (a · factor of b) + b looks at the order. By time the element has its newest τ instead, and
whichever side is older shrinks to the other's: this one commutes, and can be folded before a shuffle.

Null values are skipped and do not age others (pandas: ignore_na=True). As soon as a value is infinite or
NaN the result is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal

import pyarrow as pa

from sash.aggregation.built_in.column_types import (
    column_name,
    constant,
    number_to,
    numbers_only,
    numeric,
    numeric_kinds,
)
from sash.aggregation.built_in.event_times import MICROSECONDS, in_units, time_kind, timed_numbers
from sash.aggregation.monoid import EVENT_TIME, Kind, Monoid
from sash.errors import ArgumentError
from sash.semantics import durations
from sash.semantics.condition import RowCondition, condition
from sash.semantics.durations import Duration, DurationLike

Weighted = tuple[float, float, float]
"""Σ w x, Σ w, the shrinking of what is older."""

Placed = tuple[float, float, int]
"""Σ w x, Σ w, the newest time."""


def ewm(
    column: str,
    *,
    alpha: float | None = None,
    half_life: float | DurationLike | None = None,
    by: Literal["events", "time"] | None = None,
    where: RowCondition | None = None,
) -> Monoid:
    """The exponentially weighted mean of x, with alpha or half_life; null when empty.

    A half_life that is a number is of events: 10 events ago weigh half. One that is a duration such as
    '5 minutes' is of time. Over integer times, `by="time"` makes a number one of time.

    >>> from sash.semantics.monoid import fold
    >>> fold(ewm("x", alpha=0.5), [{"x": 0.0}, {"x": None}, {"x": 3.0}])
    2.0
    >>> ewm("x", half_life="5 minutes").columns
    ('x', 'event time')
    """
    name = column_name("column", column, of="ewm")
    if (alpha is None) == (half_life is None):
        raise ArgumentError("alpha", alpha, "given, or else half_life (one of the two)")
    if by not in (None, "events", "time"):
        raise ArgumentError("by", by, "'events' or 'time'")
    if by is None:
        by = "events" if alpha is not None or isinstance(half_life, int | float) else "time"
    if by == "time":
        if half_life is None or isinstance(half_life, float):
            raise ArgumentError("half_life", half_life, "a duration such as '5 minutes' for by='time'")
        made = _by_time(name, durations.positive(half_life, "half_life"), EVENT_TIME, MICROSECONDS)
        return made.conditional(condition(where))
    return _by_events(name, _decay(alpha, half_life)).conditional(condition(where))


def _decay(alpha: float | None, half_life: Any) -> float:
    """The weight of a value whose successor weighs 1."""
    if alpha is not None:
        if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha <= 1:
            raise ArgumentError("alpha", alpha, "a number above 0 and at most 1")
        return 1.0 - alpha
    number = not isinstance(half_life, bool) and isinstance(half_life, int | float)
    if not number or not 0 < half_life < math.inf:
        raise ArgumentError("half_life", half_life, "a positive number of events, or a duration of time")
    return float(0.5 ** (1.0 / half_life))


def _by_events(column: str, decay: float) -> Monoid:
    lift = _weighing(decay)
    return Monoid(
        name="ewm",
        columns=(column,),
        identity=constant((0.0, 0.0, 1.0)),
        lift=numbers_only("ewm", lift),
        combine=_shrink_older,
        lower=_mean,
        specialise=numeric("ewm", lift),
        result=number_to("ewm", pa.float64()),
    )


@cache
def _weighing(decay: float) -> Callable[[float], Weighted]:
    def lift(x: float) -> Weighted:
        return (float(x) if math.isfinite(x) else math.nan, 1.0, decay)

    return lift


def _shrink_older(a: Weighted, b: Weighted) -> Weighted:
    return (a[0] * b[2] + b[0], a[1] * b[2] + b[1], a[2] * b[2])


def _mean(e: tuple[float, float, Any]) -> float | None:
    return e[0] / e[1] if e[1] > 0.0 else None


def _by_time(column: str, half_life: Duration, time: str, per_second: int | None) -> Monoid:
    # The unit of EVENT_TIME is not known yet: microseconds stand for it, ticks for a number of ticks.
    if time == EVENT_TIME and half_life.unit is durations.Unit.TICKS:
        per_second = None
    units = in_units("half_life", half_life, per_second)
    return Monoid(
        name="ewm",
        columns=(column, time),
        identity=constant((0.0, 0.0, 0)),
        lift=timed_numbers("ewm", _place, per_second),
        combine=_meeting(units),
        lower=_mean,
        commutative=True,
        specialise=_typed,
        result=_result,
        timed=partial(_by_time, column, half_life) if time == EVENT_TIME else None,
    )


def _typed(kinds: tuple[Kind, ...]) -> dict[str, Any]:
    numeric_kinds("ewm", kinds[:1])
    time_kind("ewm", kinds[1])
    return {"lift": _place}


def _result(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return number_to("ewm", pa.float64())(types[:1])


def _place(x: float, time: int) -> Placed:
    return (float(x) if math.isfinite(x) else math.nan, 1.0, time)


@cache
def _meeting(half_life: float) -> Callable[[Placed, Placed], Placed]:
    def combine(a: Placed, b: Placed) -> Placed:
        if a[1] == 0.0:
            return b
        if b[1] == 0.0:
            return a
        if a[2] <= b[2]:
            shrink = 2.0 ** ((a[2] - b[2]) / half_life)
            return (a[0] * shrink + b[0], a[1] * shrink + b[1], b[2])
        shrink = 2.0 ** ((b[2] - a[2]) / half_life)
        return (a[0] + b[0] * shrink, a[1] + b[1] * shrink, a[2])

    return combine
