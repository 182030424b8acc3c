"""Counters: numbers that only grow, until what counts them starts again from 0.

    step(x, y)    =  y − x  if y ≥ x,  otherwise y  (the counter was reset and has counted y since)
    increase(x)   =  Σ step(xᵢ, xᵢ₊₁)  over neighbouring values of the window
    rate(x)       =  increase(x) / (time of the last value − time of the first)          per second, or tick

These are Prometheus' `increase` and `rate` without its extrapolation to the ends of the window: what is
between the first value of a window and its start is not guessed at. As there, fewer than two values have no
increase (null), and values that all have one time have no rate.

An element is (n, first, last, what was gained between them): two of them join with the step from one to
the other. Integers gain in two limbs as in `sums`, so that nothing overflows on the way, and floats are
compensated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pyarrow as pa

from sash.aggregation.built_in.column_types import (
    column_name,
    columnar,
    constant,
    increase_type,
    number_to,
    numeric_kinds,
    of_values,
    typed,
)
from sash.aggregation.built_in.event_times import MICROSECONDS, time_kind, timed_numbers
from sash.aggregation.built_in.sums import (
    EXACT_DECIMALS,
    add_any,
    add_pairs,
    lift_any,
    lower_any,
    lower_limbs,
    lower_pair,
)
from sash.aggregation.monoid import EVENT_TIME, Kind, Monoid
from sash.semantics.condition import RowCondition, condition

ExactIncrease = tuple[int, int, int, int, int]
"""n, first, last, what was gained in two limbs."""

RoundedIncrease = tuple[int, float, float, float, float]
"""n, first, last, what was gained and what rounding took from it."""

Paced = tuple[int, float, float, float, float, int, int]
"""As `RoundedIncrease`, and the times of the first and the last value."""


def increase(column: str, *, where: RowCondition | None = None) -> Monoid:
    """By how much a counter grew, resets included; null for fewer than two values. Not extrapolated.

    Exact (or IntegerOverflow) for integers and decimals.

    >>> from sash.semantics.monoid import fold
    >>> fold(increase("x"), [{"x": 10}, {"x": 15}, {"x": 2}, {"x": 4}])
    9
    """
    return of_values(
        "increase", column, _unknown, _one, _join_any, _gained, specialise=_typed_increase,
        result=increase_type, where=where,
    )  # fmt: skip


def rate(column: str, *, where: RowCondition | None = None) -> Monoid:
    """By how much a counter grew per second, from its first to its last value; null for fewer than two.

    Over integer times it is per tick. Not extrapolated to the ends of the window.

    >>> from sash.semantics.monoid import fold
    >>> per_tick = rate("x").at("t", None)
    >>> fold(per_tick, [{"x": 10, "t": 0}, {"x": 15, "t": 2}, {"x": 1, "t": 4}])
    1.5
    """
    return _rate(column_name("column", column, of="rate"), EVENT_TIME, MICROSECONDS).conditional(
        condition(where)
    )


def _typed_increase(kinds: tuple[Kind, ...]) -> dict[str, Any]:
    if not typed(kinds):
        return {}
    numeric_kinds("increase", kinds)
    if kinds == ("float",):
        return columnar(
            identity=constant((0, 0.0, 0.0, 0.0, 0.0)),
            lift=_one_float,
            combine=_join_floats,
            lower=_float_gained,
        )
    return columnar(
        identity=constant((0, 0, 0, 0, 0)), lift=_one_int, combine=_join_ints, lower=_int_gained
    )


def _one_int(x: int) -> ExactIncrease:
    return (1, x, x, 0, 0)


def _join_ints(a: ExactIncrease, b: ExactIncrease) -> ExactIncrease:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    # Limb by limb, because y − x need not fit in 64 bits.
    high, low = b[1] >> 32, b[1] & 0xFFFFFFFF
    if b[1] >= a[2]:
        high, low = high - (a[2] >> 32), low - (a[2] & 0xFFFFFFFF)
    return (a[0] + b[0], a[1], b[2], a[3] + b[3] + high, a[4] + b[4] + low)


def _int_gained(e: ExactIncrease) -> int | None:
    if e[0] < 2:
        return None
    return lower_limbs((e[3], e[4]))


def _one_float(x: float) -> RoundedIncrease:
    return (1, x, x, 0.0, 0.0)


def _join_floats(a: RoundedIncrease, b: RoundedIncrease) -> RoundedIncrease:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    step = b[1] - a[2] if b[1] >= a[2] else b[1]
    gained = add_pairs(add_pairs((a[3], a[4]), (step, 0.0)), (b[3], b[4]))
    return (a[0] + b[0], a[1], b[2], gained[0], gained[1])


def _float_gained(e: RoundedIncrease) -> float | None:
    return lower_pair((e[3], e[4])) if e[0] > 1 else None


# Unbound: any numbers, totals as those of sums.


def _unknown() -> tuple[Any, ...]:
    return (0, None, None, None)


def _one(x: Any) -> tuple[Any, ...]:
    lift_any(x)  # refuses what cannot be added
    return (1, x, x, None)


def _join_any(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    step = lift_any(_difference(b[1], a[2]) if b[1] >= a[2] else b[1])
    return (a[0] + b[0], a[1], b[2], add_any(add_any(a[3], step), b[3]))


def _difference(newer: Any, older: Any) -> Any:
    if isinstance(newer, int | float):
        return newer - older
    return EXACT_DECIMALS.subtract(newer, older)


def _gained(e: tuple[Any, ...]) -> Any:
    return lower_any(e[3]) if e[0] > 1 else None


def _rate(column: str, time: str, per_second: int | None) -> Monoid:
    return Monoid(
        name="rate",
        columns=(column, time),
        identity=constant((0, 0.0, 0.0, 0.0, 0.0, 0, 0)),
        lift=timed_numbers("rate", _paced, per_second),
        combine=_join_paced,
        lower=_per_second(1.0 if per_second is None else float(per_second)),
        specialise=_typed_rate,
        result=_rate_type,
        timed=partial(_rate, column) if time == EVENT_TIME else None,
    )


def _typed_rate(kinds: tuple[Kind, ...]) -> dict[str, Any]:
    numeric_kinds("rate", kinds[:1])
    time_kind("rate", kinds[1])
    return {"lift": _paced}


def _rate_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return number_to("rate", pa.float64())(types[:1])


def _paced(x: float, time: int) -> Paced:
    return (1, float(x), float(x), 0.0, 0.0, time, time)


def _join_paced(a: Paced, b: Paced) -> Paced:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    step = b[1] - a[2] if b[1] >= a[2] else b[1]
    gained = add_pairs(add_pairs((a[3], a[4]), (step, 0.0)), (b[3], b[4]))
    return (a[0] + b[0], a[1], b[2], gained[0], gained[1], a[5], b[6])


@cache
def _per_second(units: float) -> Callable[[Paced], float | None]:
    def lower(e: Paced) -> float | None:
        # In arrival order the last value can be older than the first.
        if e[0] < 2 or e[6] <= e[5]:
            return None
        return lower_pair((e[3], e[4])) / ((e[6] - e[5]) / units)

    return lower
