"""Sums that do not lie: exact for integers and decimals, compensated for floats.

**Integers.** A 64-bit sum can overflow on the way to a result that fits, and whether it does depends on
the grouping; a check in `combine` would therefore make it non-associative. So an element has two limbs,

    x  =  hi · 2³² + lo,     0 ≤ lo < 2³²,        (hi, lo) ⊕ (hi', lo')  =  (hi + hi', lo + lo')

added without carrying: two additions, no branch, exact in any grouping, with an exact inverse, for up to
2³¹ events a window. `lower` carries once, and raises IntegerOverflow if and only if the sum itself does
not fit in 64 bits. Where max|x| · n < 2⁶³ nothing can overflow, and `plain` adds single integers.
(A wrapped integer with a float estimate is as small, but its estimate could not be subtracted.)

**Floats.** An element is an unevaluated sum s + c: s is what plain addition gives, and c collects what each
addition rounded away, found by Knuth's TwoSum. The result is as if computed in twice the precision
(Ogita, Rump, Oishi: 'Accurate sum and dot product', 2005, Sum2), so regrouping changes it by about
10⁻³² · Σ|x| at most. There is no inverse: subtracting floats on eviction would drift. Infinities and NaN
go through s alone, as in IEEE arithmetic; a sum whose partial sums overflow is infinite.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from sash.aggregation.built_in.column_types import (
    column_name,
    columnar,
    constant,
    numeric_kinds,
    of_values,
    sum_type,
    typed,
)
from sash.aggregation.monoid import Kind, Monoid
from sash.aggregation.sql_form import SUM_OF_FLOATS, SUM_OF_INTEGERS
from sash.errors import IntegerOverflow, Unsupported
from sash.semantics.condition import RowCondition

Limbs = tuple[int, int]
SumAndRest = tuple[float, float]

# Spark's decimals have 38 digits and a sum of 2³¹ of them ten more; the default context rounds at 28.
EXACT_DECIMALS = decimal.Context(prec=100)


def sum_(column: str, *, where: RowCondition | None = None, exact: bool = False) -> Monoid:
    """Σ x: exact for integers (or IntegerOverflow) and decimals, compensated for floats; null when empty.

    Once bound to integers it is invertible.

    `exact` makes no difference in process. On Spark, floats of one key and pane are added by Spark itself,
    without compensation; with `exact=True` they are brought to Python, which compensates.

    >>> from sash.semantics.monoid import fold
    >>> fold(sum_("x"), [{"x": 2**63 - 1}, {"x": 1}, {"x": -1}, {"x": None}])
    9223372036854775807
    >>> fold(sum_("x"), [{"x": 1e16}, {"x": 1.0}, {"x": -1e16}])
    1.0
    >>> fold(sum_("x"), [{"x": 2**63 - 1}, {"x": 1}])
    Traceback (most recent call last):
        ...
    sash.errors.IntegerOverflow: an integer sum does not fit in 64 bits; cast it to decimal or double
    """
    return of_values(
        "sum", column, no_total, lift_any, add_any, lower_any, commutative=True,
        specialise=_typed_sum(column_name("column", column, of="sum"), exact), result=sum_type, where=where,
    )  # fmt: skip


@cache
def _typed_sum(column: str, exact: bool) -> Callable[[tuple[Kind, ...]], dict[str, Any]]:
    def specialise(kinds: tuple[Kind, ...]) -> dict[str, Any]:
        if not typed(kinds):
            return {}
        numeric_kinds("sum", kinds)
        if kinds == ("float",):
            return columnar(
                identity=constant((0.0, 0.0)),
                lift=_lift_pair,
                combine=add_pairs,
                lower=lower_pair,
                sql=None if exact else SUM_OF_FLOATS,
            )
        plain = Monoid(
            name="sum",
            columns=(column,),
            identity=constant(0),
            lift=_lift_plain,
            combine=_add_plain,
            lower=_lower_plain,
            inverse=_subtract_plain,
            commutative=True,
            result=sum_type,
        )
        return columnar(
            identity=constant((0, 0)),
            lift=_lift_limbs,
            combine=add_limbs,
            lower=lower_limbs,
            inverse=_subtract_limbs,
            plain=plain,
            sql=SUM_OF_INTEGERS,
        )

    return specialise


def _lift_limbs(x: int) -> Limbs:
    return (x >> 32, x & 0xFFFFFFFF)


def add_limbs(a: Limbs, b: Limbs) -> Limbs:
    return (a[0] + b[0], a[1] + b[1])


def _subtract_limbs(total: Limbs, oldest: Limbs) -> Limbs:
    return (total[0] - oldest[0], total[1] - oldest[1])


def lower_limbs(s: Limbs) -> int:
    high = s[0] + (s[1] >> 32)
    if high < -2147483648 or high > 2147483647:
        raise IntegerOverflow("an integer sum does not fit in 64 bits; cast it to decimal or double")
    return (high << 32) + (s[1] & 0xFFFFFFFF)


def _lift_plain(x: int) -> int:
    return x


def _add_plain(a: int, b: int) -> int:
    return a + b


def _subtract_plain(total: int, oldest: int) -> int:
    return total - oldest


def _lower_plain(s: int) -> int:
    return s


def _lift_pair(x: float) -> SumAndRest:
    return (x, 0.0)


def add_pairs(a: SumAndRest, b: SumAndRest) -> SumAndRest:
    s = a[0] + b[0]
    part = s - a[0]
    return (s, a[1] + b[1] + ((a[0] - (s - part)) + (b[0] - part)))


def lower_pair(e: SumAndRest) -> float:
    # Next to an infinity the compensation is inf − inf, so it only counts while s is finite.
    return e[0] + e[1] if math.isfinite(e[0]) else e[0]


# Unbound totals: None, an int, a Decimal, a duration, or the pair of a float. An unbound mean has one too.


def no_total() -> Any:
    return None


def lift_any(x: Any) -> Any:
    if isinstance(x, float | np.floating):
        return (float(x), 0.0)
    if isinstance(x, Decimal | timedelta):
        return x
    if isinstance(x, bool) or not isinstance(x, int | np.integer):
        expected = "an integer, a float, a decimal or a duration"
        raise Unsupported("the input of sum", x, expected, hint="Cast the column first.")
    return int(x)


def add_any(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return a if b is None else b
    if isinstance(a, tuple) or isinstance(b, tuple):
        return add_pairs(_as_pair(a), _as_pair(b))
    if isinstance(a, Decimal) or isinstance(b, Decimal):
        return EXACT_DECIMALS.add(a, b)
    return a + b


def lower_any(total: Any) -> Any:
    if isinstance(total, tuple):
        return lower_pair(total)
    if isinstance(total, int) and not -(2**63) <= total < 2**63:
        raise IntegerOverflow("an integer sum does not fit in 64 bits; cast it to decimal or double")
    return total


def _as_pair(total: Any) -> SumAndRest:
    return total if isinstance(total, tuple) else (float(total), 0.0)
