"""Sinks that keep nothing beyond a run: to look at rows, or to have them computed and forgotten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from sash.runtimes.spark.compat import rows_in_spark
from sash.runtimes.spark.sinks.protocol import Reads
from sash.runtimes.spark.streaming.deliver_outputs_to_sinks import compute_all


@dataclass(frozen=True)
class ConsoleSink:
    """Prints the first rows of each batch; `numRows` and `truncate` as in Spark's own."""

    options: Mapping[str, str] = field(default_factory=dict)

    reads = Reads.KEPT
    identity = ()
    adds = ()

    def has(self, spark: SparkSession, batch: int) -> bool:
        return False

    def write(self, rows: DataFrame, batch: int) -> None:
        print(f"batch {batch}")
        truncate = self.options.get("truncate", "true").lower() != "false"
        rows.show(int(self.options.get("numRows", "20")), truncate=truncate)


@dataclass
class MemorySink:
    """A temporary view of a session, of all rows so far."""

    spark: SparkSession
    name: str
    tables: dict[int, pa.Table] = field(default_factory=dict)

    reads = Reads.COUNTED
    adds = ()

    @property
    def identity(self) -> tuple[str, ...]:
        return "memory", self.name

    def has(self, spark: SparkSession, batch: int) -> bool:
        return batch in self.tables

    def write(self, rows: DataFrame, batch: int) -> None:
        self.tables[batch] = rows.toArrow()
        # Of the session that the caller has: a stream has one of its own.
        every = rows_in_spark(self.spark, pa.concat_tables(self.tables.values()), rows.schema)
        every.createOrReplaceTempView(self.name)


@dataclass(frozen=True)
class NoopSink:
    """Has all rows computed."""

    reads = Reads.COUNTED
    identity = ()
    adds = ()

    def has(self, spark: SparkSession, batch: int) -> bool:
        return False

    def write(self, rows: DataFrame, batch: int) -> None:
        compute_all(rows)
