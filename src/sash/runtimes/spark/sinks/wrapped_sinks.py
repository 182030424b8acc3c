"""Rows as a sink can take them, where that is not as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, Window, functions as F

from sash.operators.bound_query import REVISION
from sash.runtimes.spark.packing.columns import quoted
from sash.runtimes.spark.sinks.protocol import BatchSink, Reads


@dataclass(frozen=True)
class WrappedSink:
    """Something more around a sink, which is the same place for its rows."""

    sink: BatchSink

    @property
    def identity(self) -> tuple[str, ...]:
        return self.sink.identity

    @property
    def adds(self) -> tuple[str, ...]:
        return self.sink.adds

    def skip(self, batch: int) -> None:
        """Called in place of `write` for a batch without rows."""
        skip(self.sink, batch)


def skip(sink: BatchSink, batch: int) -> None:
    """A batch has no rows for this sink; one that must know of it is wrapped."""
    if isinstance(sink, WrappedSink):
        sink.skip(batch)


def innermost(sink: BatchSink) -> BatchSink:
    """The sink that is wrapped, however often."""
    while isinstance(sink, WrappedSink):
        sink = sink.sink
    return sink


@dataclass(frozen=True)
class ShapedSink(WrappedSink):
    """A sink that takes rows in another shape."""

    shape: Callable[[DataFrame], DataFrame]

    @property
    def reads(self) -> Reads:
        return self.sink.reads

    def has(self, spark: SparkSession, batch: int) -> bool:
        return self.sink.has(spark, batch)

    def write(self, rows: DataFrame, batch: int) -> None:
        self.sink.write(self.shape(rows), batch)


def newest_revisions(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The last revision for each of the keys, which may be fields of structs: a window may be reported more
    than once in a batch."""
    if REVISION not in rows.columns:
        return rows
    place, columns = "sash_place", (".".join(map(quoted, key.split("."))) for key in keys)
    newest_first = Window.partitionBy(*columns).orderBy(F.col(REVISION).desc())
    return rows.withColumn(place, F.row_number().over(newest_first)).filter(f"{place} = 1").drop(place)


def messages(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """`value` is the row as JSON, `key` the key columns: one as it is, several as JSON."""
    value = F.to_json(F.struct(*map(quoted, rows.columns))).alias("value")
    if not keys:
        return rows.select(value)
    one = F.col(quoted(keys[0])).cast("string")
    key = one if len(keys) == 1 else F.to_json(F.struct(*map(quoted, keys)))
    return rows.select(key.alias("key"), value)
