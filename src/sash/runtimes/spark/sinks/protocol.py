"""What a sink is to a query, and a function as a sink.

A new sink is a module beside this one; users make it by a function of `sash/sinks.py`, and in pipeline
files by an entry of `pipeline/sinks.py` and of `SINKS` in `pipeline/formats.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from os import PathLike
from typing import Protocol, TypeAlias, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from sash.runtimes.spark.state.arenas import QUERY_ID


class Reads(Enum):
    """How a sink reads the rows of a batch: the step behind them must run once, and as a whole."""

    COUNTED = "every row, in one job whose counts Spark reports"
    ONCE = "every row, in one job past the listeners that count"
    ANYHOW = "some rows, or all of them, or none, as often as it likes"
    KEPT = "the same, but only of batches that have rows: they are evaluated before it sees them"

    @property
    def all_in_one_job(self) -> bool:
        return self in (Reads.COUNTED, Reads.ONCE)


@runtime_checkable
class BatchSink(Protocol):
    """Takes the rows of one output, batch by batch."""

    @property
    def reads(self) -> Reads: ...

    @property
    def identity(self) -> tuple[str, ...]:
        """The place that it writes to, which no other output may have; empty where outputs may share it."""
        ...

    @property
    def adds(self) -> tuple[str, ...]:
        """Columns that it has beside those of the rows."""
        ...

    def has(self, spark: SparkSession, batch: int) -> bool:
        """Whether this batch is done."""
        ...

    def write(self, rows: DataFrame, batch: int) -> None: ...


@runtime_checkable
class KeyedSink(BatchSink, Protocol):
    """One in which a row can take the place of the one with the same keys."""

    def of_latest(self, keys: tuple[str, ...]) -> BatchSink:
        """The sink for the rows of a `.latest` with these keys: by them, unless it was given its own."""
        ...


@runtime_checkable
class FlatSink(BatchSink, Protocol):
    """One that has a value in each column, and perhaps no lists."""

    @property
    def holds_no_lists(self) -> str:
        """What it is called where it cannot hold a list; empty where it can."""
        ...


WRITER = "writer"
"""Another one, where two queries may have batches of the same number: that of the query. A number, since
not every database compares texts of any length."""
BATCH = "batch"
"""The column that sinks add: the number of the batch that a row is from."""

Sink: TypeAlias = "str | PathLike[str] | Callable[[DataFrame, int], None] | BatchSink"
"""What a caller may give as a sink."""


@dataclass(frozen=True)
class FunctionSink:
    """A function of a DataFrame and the number of its batch, by which it can know what it has done."""

    function: Callable[[DataFrame, int], None]

    reads = Reads.ANYHOW
    identity = ()
    adds = ()

    def has(self, spark: SparkSession, batch: int) -> bool:
        return False

    def write(self, rows: DataFrame, batch: int) -> None:
        self.function(rows, batch)


def writer_of(spark: SparkSession) -> str:
    """What distinguishes two queries that have batches of the same number: the first hexadecimal digits of
    the identifier in the checkpoint of the running query, the same after a restart. Zeros where none is."""
    query = spark.sparkContext.getLocalProperty(QUERY_ID)
    return writer_named(query) if query else "0" * 12


def writer_named(query: str) -> str:
    """The same, of the identifier of a query."""
    return query.replace("-", "")[:12]
