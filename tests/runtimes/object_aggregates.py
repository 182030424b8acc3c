"""Aggregates whose elements are no numbers: what panes and parts of windows have to carry as bytes."""

# ruff: noqa: N805  (the functions of a monoid have no self)

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.cloudpickle import register_pickle_by_value

import sash
from sash.aggregation import built_in

register_pickle_by_value(sys.modules[__name__])  # Spark's workers cannot import the tests


@sash.monoid(commutative=True, idempotent=True, result=pa.list_(pa.int64()))
class Values:
    """A user's monoid with `encode`."""

    def identity():
        return frozenset()

    def lift(x):
        return frozenset([x])

    def combine(a, b):
        return a | b

    def lower(found):
        return sorted(found)

    def encode(found):
        return ",".join(map(str, sorted(found))).encode()

    def decode(data):
        return frozenset(map(int, data.decode().split(","))) if data else frozenset()


def flat_skyline(*columns: str, **options: Any) -> Any:
    """A skyline whose value is a plain list, which the reference and a table have alike."""
    points = built_in.skyline(*columns, **options)
    lower = points.lower

    def parts_in_a_row(found: tuple[Any, ...]) -> list[int]:
        return [part for point in lower(found) for part in point]

    return replace(points, lower=parts_in_a_row, result=lambda types: pa.list_(pa.int64()))


OBJECTS = {
    "n": built_in.count(),
    "most": built_in.top_k("x", 2),
    "kinds": built_in.count_distinct("x"),
    "best": flat_skyline("x", "e", prefer=("max", "min")),
    "values": Values("x", where="e > 1"),
}
