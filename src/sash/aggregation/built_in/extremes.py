"""The smallest and the largest, and their distance.

    min(x)          max(x)          range(x)  =  max(x) − min(x)

in Spark's order: NaN is larger than every number. That order has a top but no named bottom, so the typed
identities are

    min:  2⁶³ − 1,  NaN,  True            max:  −2⁶³,  −∞,  False          for int, float, bool

and a value that equals the identity is no special case, because the framework knows whether there was
any event. Among equal values the earliest one is kept.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from sash.aggregation.built_in.column_types import (
    INT64_MAX,
    INT64_MIN,
    columnar,
    constant,
    numeric_kinds,
    of_values,
    range_type,
    same_as,
    typed,
)
from sash.aggregation.built_in.sums import EXACT_DECIMALS
from sash.aggregation.monoid import Kind, Monoid
from sash.aggregation.sql_form import MAX, MIN, RANGE_OF_FLOATS, RANGE_OF_INTEGERS
from sash.errors import IntegerOverflow, Unsupported
from sash.semantics.condition import RowCondition


def min_(column: str, *, where: RowCondition | None = None) -> Monoid:
    """The smallest x, of the column's own type; null when empty.

    >>> from sash.semantics.monoid import fold
    >>> fold(min_("x"), [{"x": float("nan")}, {"x": 2.0}, {"x": None}, {"x": 1.0}])
    1.0
    >>> fold(min_("x"), [{"x": "pear"}, {"x": "fig"}])
    'fig'
    """
    return of_values(
        "min", column, _nothing_yet, _itself, _smaller_of_any, _itself, commutative=True, idempotent=True,
        specialise=_typed_min, result=same_as(0), where=where,
    )  # fmt: skip


def max_(column: str, *, where: RowCondition | None = None) -> Monoid:
    """The largest x, of the column's own type (NaN, if there is one); null when empty.

    >>> from sash.semantics.monoid import fold
    >>> fold(max_("x"), [{"x": 1}, {"x": None}, {"x": 3}])
    3
    >>> fold(max_("x"), [{"x": float("nan")}, {"x": 2.0}])
    nan
    """
    return of_values(
        "max", column, _nothing_yet, _itself, _larger_of_any, _itself, commutative=True, idempotent=True,
        specialise=_typed_max, result=same_as(0), where=where,
    )  # fmt: skip


def range_(column: str, *, where: RowCondition | None = None) -> Monoid:
    """max(x) − min(x): exact or IntegerOverflow for integers, a duration for timestamps; null when empty.

    NaN when there is a NaN, and when all values are the same infinity.

    >>> from sash.semantics.monoid import fold
    >>> fold(range_("x"), [{"x": 5}, {"x": None}, {"x": -2}])
    7
    """
    return of_values(
        "range", column, _no_bounds, _both, _widen_any, _difference_any, commutative=True, idempotent=True,
        specialise=_typed_range, result=range_type, where=where,
    )  # fmt: skip


def _typed_min(kinds: tuple[Kind, ...]) -> dict[str, Any]:
    if not typed(kinds):
        return {}
    floats = kinds == ("float",)
    top = {"int": constant(INT64_MAX), "float": _nan, "bool": constant(True)}[kinds[0]]
    return columnar(identity=top, combine=_smaller_float if floats else _smaller, sql=MIN)


def _typed_max(kinds: tuple[Kind, ...]) -> dict[str, Any]:
    if not typed(kinds):
        return {}
    floats = kinds == ("float",)
    bottom = {"int": constant(INT64_MIN), "float": _minus_infinity, "bool": constant(False)}[kinds[0]]
    return columnar(identity=bottom, combine=_larger_float if floats else _larger, sql=MAX)


def _typed_range(kinds: tuple[Kind, ...]) -> dict[str, Any]:
    if not typed(kinds):
        return {}
    numeric_kinds("range", kinds)
    if kinds == ("float",):
        return columnar(
            identity=_no_floats, combine=_widen_float, lower=_difference_float, sql=RANGE_OF_FLOATS
        )
    empty = constant((INT64_MAX, INT64_MIN))
    return columnar(identity=empty, combine=_widen, lower=_difference, sql=RANGE_OF_INTEGERS)


def _itself(x: Any) -> Any:
    return x


def _smaller(a: Any, b: Any) -> Any:
    return b if b < a else a


def _larger(a: Any, b: Any) -> Any:
    return b if b > a else a


def _smaller_float(a: Any, b: Any) -> Any:
    return b if b < a or a != a else a


def _larger_float(a: Any, b: Any) -> Any:
    return b if b > a or b != b else a


def _nan() -> float:
    return math.nan


def _minus_infinity() -> float:
    return -math.inf


def _no_floats() -> tuple[float, float]:
    return (math.nan, -math.inf)


def _both(x: Any) -> tuple[Any, Any]:
    return (x, x)


def _widen(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return (b[0] if b[0] < a[0] else a[0], b[1] if b[1] > a[1] else a[1])


def _widen_float(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    low = b[0] if b[0] < a[0] or a[0] != a[0] else a[0]
    return (low, b[1] if b[1] > a[1] or b[1] != b[1] else a[1])


def _difference(e: tuple[int, int]) -> int:
    if e[0] > e[1]:
        return 0
    width = e[1] - e[0]
    # Machine integers wrap to a negative number, Python's grow: both mean that it does not fit.
    if width < 0 or width > 9223372036854775807:
        raise IntegerOverflow("the range of an integer column does not fit in 64 bits; cast it to double")
    return width


def _difference_float(e: tuple[float, float]) -> float:
    return e[1] - e[0]


# The unbound forms: None is the identity, whatever the values are.


def _nothing_yet() -> Any:
    return None


def _smaller_of_any(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return a if b is None else b
    return _smaller_float(a, b)


def _larger_of_any(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return a if b is None else b
    return _larger_float(a, b)


def _no_bounds() -> tuple[Any, Any]:
    return (None, None)


def _widen_any(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return (_smaller_of_any(a[0], b[0]), _larger_of_any(a[1], b[1]))


def _difference_any(e: tuple[Any, Any]) -> Any:
    low, high = e
    if low is None:
        return None
    if isinstance(low, int) and isinstance(high, int) and not isinstance(low, bool):
        return _difference((low, high))
    if isinstance(low, Decimal):
        return EXACT_DECIMALS.subtract(high, low)
    if isinstance(low, str | bytes | bool):
        raise Unsupported("the input of range", low, "a number, a timestamp or a decimal")
    return high - low
