"""A Delta or an Iceberg table as a sink: both know which batches they have.

    delta      the transaction (name of the writer, number of the batch) is in its log: Delta itself leaves
               out one that it has
    iceberg    a snapshot has the writer and the batch among its properties; before a batch is written, the
               newest one of the writer is found, from the current snapshot back

Rows are appended, or merged by keys: then a row takes the place of the one with the same keys, so that a
table has the newest revision of every window. Either is one commit: the table has all of a batch or nothing
of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from uuid import uuid4

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from sash.errors import ArgumentError, UnknownColumn
from sash.runtimes.folder_paths import resolved
from sash.runtimes.spark.compat import snapshot_summaries
from sash.runtimes.spark.sinks.protocol import Reads, writer_of
from sash.runtimes.spark.sinks.wrapped_sinks import newest_revisions

PROPERTY = "sash-batch-of-"


@dataclass(frozen=True)
class TableSink:
    """A table by its name in a catalog, or by its path."""

    writer: str
    """What distinguishes the queries that write to one table. It must stay the same after a restart. With a
    new checkpoint batches count from 0 again, so that the checkpoint is a part of what marks them."""
    table: str = ""
    path: str = ""
    format: str = "delta"
    options: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] | None = None
    """Columns, or fields of a struct (window.id), by which rows are merged; none: they are appended. None:
    those of the query where this is `.latest`, otherwise none."""

    reads = Reads.KEPT
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
        if self.keys and self.path and self.format == "iceberg":
            raise ArgumentError("table", self.table, "given for keys: MERGE knows Iceberg tables by name")

    def of_latest(self, keys: tuple[str, ...]) -> TableSink:
        by_path = self.path and self.format == "iceberg"  # there is no MERGE for it
        return replace(self, keys=keys) if self.keys is None and not by_path else self

    def has(self, spark: SparkSession, batch: int) -> bool:
        if self.format == "delta" or not self._exists(spark):
            return False
        name = PROPERTY + self._marked(spark)
        summaries = snapshot_summaries(spark, table=self.table, path=self.path)
        # Batches of a writer are in order, so that its newest one stands for all, however many there are.
        newest = next((summary[name] for summary in summaries if name in summary), None)
        return newest is not None and int(newest) >= batch

    def _marked(self, spark: SparkSession) -> str:
        return f"{self.writer}-{writer_of(spark)}"

    def _exists(self, spark: SparkSession) -> bool:
        if self.table:
            return spark.catalog.tableExists(self.table)
        try:
            return bool(spark.read.format(self.format).load(self.path).columns)
        except AnalysisException:
            return False

    def write(self, rows: DataFrame, batch: int) -> None:
        if self.keys:
            _require_keys(rows, self.keys)
            rows = newest_revisions(rows, self.keys)
            if self._exists(rows.sparkSession):
                return self._merge(rows, batch)
        marked = self._marked(rows.sparkSession)
        once = (
            {"txnAppId": marked, "txnVersion": str(batch)}
            if self.format == "delta"
            else {f"snapshot-property.{PROPERTY}{marked}": str(batch)}
        )
        writer = rows.write.format(self.format).options(**{**self.options, **once}).mode("append")
        if self.table:
            writer.saveAsTable(self.table)
        else:
            writer.save(self.path)
        return None

    def _merge(self, rows: DataFrame, batch: int) -> None:
        """SQL has no options: what names the batch is in the session, which is the stream's own."""
        spark, source = rows.sparkSession, f"sash_{uuid4().hex}"
        once = (
            {f"spark.databricks.delta.write.{name}": value
             for name, value in (("txnAppId", self._marked(spark)), ("txnVersion", str(batch)))}
            if self.format == "delta"
            else {f"spark.sql.iceberg.snapshot-property.{PROPERTY}{self._marked(spark)}": str(batch)}
        )  # fmt: skip
        same = " AND ".join(f"t.{_named(key)} <=> s.{_named(key)}" for key in self.keys or ())
        rows.createOrReplaceTempView(source)
        with _settings(spark, once):
            spark.sql(
                f"MERGE INTO {self.table or f'delta.`{self.path}`'} t USING {source} s ON {same} "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            )
        spark.catalog.dropTempView(source)


def _require_keys(rows: DataFrame, keys: tuple[str, ...]) -> None:
    for key in keys:
        try:
            rows.select(_named(key))
        except AnalysisException:
            raise UnknownColumn("keys", key, rows.columns) from None


def _named(key: str) -> str:
    """A column, or a field of a struct, in SQL."""
    return ".".join(f"`{part}`" for part in key.split("."))


@contextmanager
def _settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)
