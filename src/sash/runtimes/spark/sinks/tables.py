"""A Delta or an Iceberg table as a sink: both can tell which batches they have.

delta      the transaction (name of the writer, number of the batch) is in its log: Delta itself leaves
           out one that it has
iceberg    a snapshot has the writer and the batch among its properties, which are looked at before
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sash.errors import ArgumentError
from sash.runtimes.places import resolved

PROPERTY = "sash-batch-of-"


@dataclass(frozen=True)
class TableSink:
    """A table by its name in a catalog, or by its path."""

    writer: str
    """What tells apart the queries that write to one table. It must stay the same after a restart."""
    table: str = ""
    path: str = ""
    format: str = "delta"
    options: Mapping[str, str] = field(default_factory=dict)

    whole = False
    """Delta does not read the rows of a batch that it has."""
    adds = ()

    @property
    def identity(self) -> tuple[str, ...]:
        return "table", self.table.casefold() or resolved(self.path), self.writer

    def __post_init__(self) -> None:
        if self.format not in ("delta", "iceberg"):
            raise ArgumentError("format", self.format, "'delta' or 'iceberg'")
        if bool(self.table) == bool(self.path):
            raise ArgumentError("table", self.table, "given, or path instead of it")

    def has(self, spark: SparkSession, batch: int) -> bool:
        if self.format == "delta" or not self._exists(spark):
            return False
        number = F.col("summary")[PROPERTY + self.writer].cast("long")
        snapshots = spark.read.format("iceberg").load(f"{self.table or self.path}.snapshots")
        newest = snapshots.agg(F.max(number)).collect()[0][0]
        return newest is not None and newest >= batch

    def _exists(self, spark: SparkSession) -> bool:
        return not self.table or spark.catalog.tableExists(self.table)

    def write(self, rows: DataFrame, batch: int) -> None:
        once = (
            {"txnAppId": self.writer, "txnVersion": str(batch)}
            if self.format == "delta"
            else {f"snapshot-property.{PROPERTY}{self.writer}": str(batch)}
        )
        writer = rows.write.format(self.format).options(**{**self.options, **once}).mode("append")
        if self.table:
            writer.saveAsTable(self.table)
        else:
            writer.save(self.path)
