"""The type of the input picks the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from sash.errors import ArgumentError
from sash.operators.bound_query import BoundQuery
from sash.planner.auto_declaration import Parallelism
from sash.planner.plans.cheapest_pattern import Plan
from sash.runtimes.local.local_source import LocalSource
from sash.runtimes.local.local_stream import LocalStream
from sash.semantics.durations import Duration


class Source(Protocol):
    """An input, and the runtime that it belongs to."""

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def bounded(self) -> bool:
        """Whether all of it is there at once."""
        ...

    @property
    def ends(self) -> bool:
        """Whether it may end, which closes windows: a table does, and an iterator of tables."""
        ...

    def parallel(self, pattern: Parallelism, bound: BoundQuery) -> Source: ...
    def plan(self, bound: BoundQuery) -> Plan: ...
    def collect(self, bound: BoundQuery) -> pa.Table: ...
    def dataframe(self, bound: BoundQuery) -> Any: ...
    def flat_dataframe(self, bound: BoundQuery) -> Any: ...
    def stages(self, bound: BoundQuery, plan: Plan) -> list[str]: ...


class Bounded(Source, Protocol):
    """An input that is there as a whole: its late rows can be had by themselves, and what of its answer is
    published."""

    def collect_late(self, bound: BoundQuery) -> pa.Table: ...
    def late_dataframe(self, bound: BoundQuery) -> Any: ...
    def to_publish(self, bound: BoundQuery, columns: Sequence[str]) -> pa.Table:
        """These columns of the answer, its rows in any order. No others are brought to this process."""
        ...


@runtime_checkable
class FirstRows(Protocol):
    """An input whose answer lies elsewhere: its first rows can be had without the others."""

    def first(self, bound: Any, rows: int) -> tuple[pa.Table, int]:
        """In order, and how many there are in all."""
        ...


class Unbounded(Source, Protocol):
    """An input that has no end."""

    def idle_after(self, idle: Duration) -> Source: ...
    def by_clock(self) -> Source: ...


def source_of(data: Any) -> Source:
    """The source for what the caller passed. Spark is imported only when the input is Spark's."""
    local = LocalSource.of(data) or LocalStream.of(data)
    if local is not None:
        return local
    if type(data).__module__.startswith(("pyspark.", "sash.runtimes.spark.")):
        from sash.runtimes.spark.batch.static_source import SparkSource

        spark = SparkSource.of(data)
        if spark is not None:
            return spark
    raise ArgumentError(
        "data", type(data).__name__,
        "a PySpark DataFrame, an Arrow table, a pandas or polars frame, or an iterator of tables",
    )  # fmt: skip
