"""The time of events as an input: what aggregates need that read it.

    unit of a time column  =  1 / per_second  of a second           None: ticks of a length of their own

A compiled lift sees the integers of the column, in its own unit, so lengths of time are brought to that
unit when the column becomes known. Interpreted, it sees what Arrow gives Python: a datetime, or an integer.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from sash.aggregation.built_in.column_types import require_number
from sash.aggregation.monoid import Kind
from sash.errors import UnitError, Unsupported
from sash.semantics.durations import Duration, Unit
from sash.semantics.time_format import EPOCH

MICROSECONDS = 10**6
"""How many of Spark's units of time are a second."""

_MICROSECOND = timedelta(microseconds=1)


def instant(time: Any, per_second: int | None) -> int:
    """A time as an integer in units of its column. A naive datetime is in UTC, as in Arrow.

    >>> instant(datetime(1970, 1, 1, 0, 0, 2), 1000), instant(7, None)
    (2000, 7)
    """
    if not isinstance(time, datetime):
        return int(time)
    moment = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (moment - EPOCH) // _MICROSECOND * (per_second or MICROSECONDS) // MICROSECONDS


@cache
def timed_numbers(
    aggregate: str, lift: Callable[[Any, int], Any], per_second: int | None
) -> Callable[[Any, Any], Any]:
    """`lift(x, time)` for values as Python has them: x must be a number, its time becomes an integer."""

    def checked(x: Any, time: Any) -> Any:
        require_number(aggregate, x)
        return lift(x, instant(time, per_second))

    return checked


def in_units(argument: str, length: Duration, per_second: int | None) -> float:
    """A length of time in units of the column; UnitError if it is of the other kind of time."""
    expected = Unit.TICKS if per_second is None else Unit.MICROSECONDS
    if length.unit is not expected:
        example = (
            "a number with by='time', because the stream's times are integers"
            if per_second is None
            else "a duration such as '1 hour', because the stream's times are timestamps"
        )
        raise UnitError(argument, str(length), example)
    return length.length * (per_second or 1) / (MICROSECONDS if per_second else 1)


def time_kind(aggregate: str, kind: Kind) -> None:
    """Refuse what is no time column: timestamps and ticks are both integers."""
    if kind != "int":
        raise Unsupported(f"the time of {aggregate}", kind, "a timestamp or an integer column")
