"""The best of a window: its k largest values, and its points that no other point beats.

    top_k(x, k)             the k largest x, largest first (NaN is the largest)
    skyline(x₁, …, x_d)     { p : no q is at least as good as p in every column and better in one }

The skyline is that of Börzsönyi, Kossmann and Stocker ('The skyline operator', ICDE 2001). Both are small
sets that merge, so elements are tuples of values, kept sorted so that equal sets are equal elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import pyarrow as pa

from sash.aggregation.built_in.column_types import column_name, list_of, of_values, positive_integer
from sash.aggregation.encoding import decode, encode
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError
from sash.semantics.condition import RowCondition, condition

Preference = Literal["min", "max"]
Ranked = tuple[bool, Any]
"""Whether it is NaN, and if not the value: these are ordered as Spark orders values."""


def top_k(column: str, k: int, *, where: RowCondition | None = None) -> Monoid:
    """The k largest x, largest first, with repetitions; the empty list when there is none.

    >>> from sash.semantics.monoid import fold
    >>> fold(top_k("x", 2), [{"x": 3}, {"x": None}, {"x": 5}, {"x": 5}])
    [5, 5]
    """
    positive_integer("k", k)

    def merge(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(sorted(a + b, key=_in_spark_order, reverse=True)[:k])

    return of_values(
        "top_k", column, tuple, lambda x: (x,), merge, list, commutative=True, nothing=[],
        result=list_of(0), where=where,
    )  # fmt: skip


def skyline(
    *columns: str, prefer: Preference | Sequence[Preference] = "min", where: RowCondition | None = None
) -> Monoid:
    """The points that no other point dominates, sorted; `prefer` is which values are good.

    The value is a list of tuples (a list of structs in a table); points that are equal appear once.

    >>> from sash.semantics.monoid import fold
    >>> hotels = [{"price": 50, "km": 2.0}, {"price": 80, "km": 0.5}, {"price": 90, "km": 1.0}]
    >>> fold(skyline("price", "km"), hotels)
    [(50, 2.0), (80, 0.5)]
    >>> fold(skyline("price", "km", prefer=("max", "min")), hotels)
    [(80, 0.5), (90, 1.0)]
    """
    if not columns:
        raise ArgumentError("columns", columns, "at least one column")
    preferences = (prefer,) * len(columns) if isinstance(prefer, str) else tuple(prefer)
    if len(preferences) != len(columns) or not set(preferences) <= {"min", "max"}:
        raise ArgumentError("prefer", prefer, f"'min', 'max', or one of them for each of {list(columns)}")
    dominates = _domination([preference == "max" for preference in preferences])

    def merge(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        # Within a and within b nobody dominates, so only the other side can remove a point.
        kept = [p for p in a if not any(dominates(q, p) for q in b)]
        kept += [q for q in b if not any(p == q or dominates(p, q) for p in a)]
        return tuple(sorted(kept))

    return Monoid(
        name="skyline",
        columns=tuple(column_name("columns", column, of="skyline") for column in columns),
        identity=tuple,
        lift=lambda *point: (tuple(map(_in_spark_order, point)),),
        combine=merge,
        lower=lambda points: [tuple(math.nan if nan else x for nan, x in point) for point in points],
        commutative=True,
        idempotent=True,
        encode=encode,
        decode=decode,
        nothing=[],
        result=lambda types: pa.list_(pa.struct(list(zip(columns, types, strict=True)))),
        where=condition(where),
    )


def _in_spark_order(x: Any) -> Ranked:
    # The flag alone stands for NaN: tuples are equal only if their parts are, and no NaN equals a NaN.
    return (True, 0) if x != x else (False, x)


def _domination(maximise: list[bool]) -> Callable[[Sequence[Ranked], Sequence[Ranked]], bool]:
    """q dominates p: q differs from p, and is nowhere worse."""

    def dominates(q: Sequence[Ranked], p: Sequence[Ranked]) -> bool:
        if p == q:
            return False
        return all(
            x == y or (x > y if largest else x < y) for largest, x, y in zip(maximise, q, p, strict=True)
        )

    return dominates
