"""Two names that mean two things, told apart by what they are given (see docs/decisions)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from sash.aggregation import monoids
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError
from sash.semantics import windows
from sash.semantics.condition import RowCondition
from sash.semantics.durations import DurationLike
from sash.semantics.windows import CountWindow, SessionWindow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@overload
def count(*, where: RowCondition | None = ...) -> Monoid: ...
@overload
def count(column: str, /, *, where: RowCondition | None = ...) -> Monoid: ...
@overload
def count(size: int, every: int | None = None) -> CountWindow: ...
def count(
    size: int | str | None = None, every: int | None = None, *, where: RowCondition | None = None
) -> Monoid | CountWindow:
    """`count()` and `count("x")` are aggregates; `count(100)` and `count(100, 10)` are windows.

    >>> count(100, 10)
    <sash window count(100, 10): E(w) = { i : w·10 ≤ i < w·10 + 100 }, w ≥ 0, context-free>
    >>> count("price").columns
    ('price',)
    >>> count(where="price > 100")
    <sash aggregate count(where=price > 100): commutative, invertible>
    """
    if size is None or isinstance(size, str):
        if every is not None:
            raise ArgumentError("every", every, "left out for the aggregate count(); a window needs a size")
        return monoids.count(where=where) if size is None else monoids.count(size, where=where)
    if where is not None:
        raise ArgumentError("where", where, "left out for a window; it is for the aggregate count()")
    return windows.count(size, every)


@overload
def session(gap: DurationLike, /) -> SessionWindow: ...
@overload
def session(*, master: str = ..., app: str = ..., **settings: str) -> SparkSession: ...
def session(gap: DurationLike | None = None, /, **settings: Any) -> SessionWindow | SparkSession:
    """`session("10 minutes")` is a window; `session()` is a SparkSession with the settings that matter."""
    if gap is None:
        from sash.runtimes.spark.session import session as spark_session

        return spark_session(**settings)
    if settings:
        raise ArgumentError("gap", gap, "left out when building a SparkSession")
    return windows.session(gap)
