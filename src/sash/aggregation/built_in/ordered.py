"""Aggregates that look at the order of events: they are not commutative, and reveal any re-ordering.

first, last                   the value of the oldest, of the newest event; the n oldest, the n newest
collect                       all values, oldest first
longest_increasing_run        max { k : xᵢ < xᵢ₊₁ < … < xᵢ₊ₖ₋₁ }, neighbours being neighbours in the window
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import pyarrow as pa

from sash.aggregation.built_in.column_types import (
    ZERO,
    always,
    columnar,
    constant,
    list_of,
    of_values,
    same_as,
    typed,
)
from sash.aggregation.built_in.first_n_last_n import several
from sash.aggregation.monoid import Kind, Monoid
from sash.semantics.condition import RowCondition

OneValue = tuple[bool, Any]
"""Whether there is a value yet, and the value."""

RunLengths = tuple[int, int, int, int, Any, Any]
"""How many values; lengths of the longest runs at the start, at the end, anywhere; first and last value."""


@overload
def first(column: str, *, where: RowCondition | None = ...) -> Monoid: ...
@overload
def first(column: str, n: int, *, distinct: bool = ..., where: RowCondition | None = ...) -> Monoid: ...
def first(
    column: str, n: int | None = None, *, distinct: bool = False, where: RowCondition | None = None
) -> Monoid:
    """The oldest non-null x; null when there is none. With n: the list of the n oldest, oldest first.

    `distinct` leaves out an x that was there before, so that it is the n first that differ.

    >>> from sash.semantics.monoid import fold
    >>> rows = [{"x": None}, {"x": "a"}, {"x": "a"}, {"x": "b"}]
    >>> fold(first("x"), rows), fold(first("x", 2), rows), fold(first("x", 2, distinct=True), rows)
    ('a', ['a', 'a'], ['a', 'b'])
    """
    if n is None and not distinct:
        return _one_of_two("first", column, _older, where)
    return several("first", column, n, distinct, where)


@overload
def last(column: str, *, where: RowCondition | None = ...) -> Monoid: ...
@overload
def last(column: str, n: int, *, distinct: bool = ..., where: RowCondition | None = ...) -> Monoid: ...
def last(
    column: str, n: int | None = None, *, distinct: bool = False, where: RowCondition | None = None
) -> Monoid:
    """The newest non-null x; null when there is none. With n: the list of the n newest, oldest first.

    `distinct` leaves out an x that comes again later, so that it is the n last that differ.

    >>> from sash.semantics.monoid import fold
    >>> rows = [{"x": "a"}, {"x": "b"}, {"x": "b"}, {"x": None}]
    >>> fold(last("x"), rows), fold(last("x", 2), rows), fold(last("x", 2, distinct=True), rows)
    ('b', ['b', 'b'], ['a', 'b'])
    """
    if n is None and not distinct:
        return _one_of_two("last", column, _newer, where)
    return several("last", column, n, distinct, where)


def _one_of_two(
    name: str, column: str, combine: Callable[[Any, Any], Any], where: RowCondition | None
) -> Monoid:
    return of_values(
        name, column, _unseen, _seen, combine, _value, idempotent=True, specialise=_typed_seen,
        result=same_as(0), where=where,
    )  # fmt: skip


def collect(column: str, *, where: RowCondition | None = None) -> Monoid:
    """The list of all non-null x, oldest first; the empty list when there is none, as in Spark.

    Elements grow with the window, so this is for small windows and for finding wrongly ordered folds.

    >>> from sash.semantics.monoid import fold
    >>> fold(collect("x"), [{"x": 3}, {"x": None}, {"x": 1}])
    [3, 1]
    """
    return of_values(
        "collect", column, tuple, _single, _concatenate, list, nothing=[], result=list_of(0), where=where
    )


def longest_increasing_run(column: str, *, where: RowCondition | None = None) -> Monoid:
    """Length of the longest run of strictly increasing neighbours (NaN the largest); null when empty.

    The order-aware aggregate of the AMTA experiments (Villalba, Berral, Carrera, IEEE TPDS 2019): two
    stretches join exactly when the last value of the older is below the first value of the newer.

    >>> from sash.semantics.monoid import fold
    >>> fold(longest_increasing_run("x"), [{"x": x} for x in (5, 1, 2, 4, 4, 6)])
    3
    """
    return of_values(
        "longest_increasing_run", column, _no_run, _run_of_one, _join_runs, _longest, specialise=_typed_run,
        result=always(pa.int64()), where=where,
    )  # fmt: skip


def _typed_seen(kinds: tuple[Kind, ...]) -> dict[str, Any]:
    if not typed(kinds):
        return {}
    return columnar(identity=constant((False, ZERO[kinds[0]])))


def _typed_run(kinds: tuple[Kind, ...]) -> dict[str, Any]:
    if not typed(kinds):
        return {}
    zero = ZERO[kinds[0]]
    return columnar(identity=constant((0, 0, 0, 0, zero, zero)))


def _unseen() -> OneValue:
    return (False, None)


def _seen(x: Any) -> OneValue:
    return (True, x)


def _older(a: OneValue, b: OneValue) -> OneValue:
    return a if a[0] else b


def _newer(a: OneValue, b: OneValue) -> OneValue:
    return b if b[0] else a


def _value(e: OneValue) -> Any:
    return e[1]


def _single(x: Any) -> tuple[Any, ...]:
    return (x,)


def _concatenate(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return a + b


def _no_run() -> RunLengths:
    return (0, 0, 0, 0, None, None)


def _run_of_one(x: Any) -> RunLengths:
    return (1, 1, 1, 1, x, x)


def _join_runs(a: RunLengths, b: RunLengths) -> RunLengths:
    if a[0] == 0:
        return b
    if b[0] == 0:
        return a
    best = a[3] if a[3] > b[3] else b[3]
    # NaN is the largest value: anything else rises to it, and nothing rises from it.
    if not (a[5] < b[4] or (b[4] != b[4] and a[5] == a[5])):
        return (a[0] + b[0], a[1], b[2], best, a[4], b[5])
    across = a[2] + b[1]
    return (
        a[0] + b[0],
        across if a[1] == a[0] else a[1],
        across if b[2] == b[0] else b[2],
        across if across > best else best,
        a[4],
        b[5],
    )


def _longest(e: RunLengths) -> int:
    return e[3]
