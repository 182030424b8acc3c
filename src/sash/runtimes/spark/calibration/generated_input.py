"""The input of a calibration: events as parquet files, in a folder that all executors reach."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from sash.aggregation.built_in import count, sum as summed
from sash.errors import Unsupported
from sash.operators.arena.owned_folders import owned_folder
from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.compat import is_connect
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.session_requirements import task_slots
from sash.semantics.query import Query
from sash.semantics.windows import time

ROWS = 500_000
"""Enough for a row to take longer than what the times of two jobs differ by."""
KEYS = 1_000
FILES = 10
"""Of the stream, each a micro-batch."""
PANE = 10_000
"""Ticks, and so rows: ten of a key."""
COLUMNS = "id AS t", f"id * 7919 % {KEYS} AS k", "id % 1009 / 10.0D AS x", "id % 31 / 3.0D AS y"
TYPES = "t long, k long, x double, y double"
_SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("x", pa.float64()), ("y", pa.float64())])


@dataclass(frozen=True)
class GeneratedInput:
    """Events of a thousand keys, a tick apart."""

    spark: SparkSession
    folder: str
    rows: int = ROWS

    @property
    def slots(self) -> int:
        """How many tasks run at a time."""
        return task_slots(self.spark)

    @property
    def events(self) -> DataFrame:
        """With a file for each task that runs at a time."""
        return self.spark.read.schema(TYPES).parquet(f"{self.folder}/events")

    @property
    def stream(self) -> DataFrame:
        """A few rows in each micro-batch."""
        reader = self.spark.readStream.schema(TYPES).option("maxFilesPerTrigger", 1)
        return reader.parquet(f"{self.folder}/stream")

    def write(self) -> None:
        events = self.spark.range(0, self.rows, 1, self.slots).selectExpr(*COLUMNS)
        events.write.mode("overwrite").parquet(f"{self.folder}/events")
        few = self.spark.range(0, FILES, 1, FILES).selectExpr(*COLUMNS)
        few.write.mode("overwrite").parquet(f"{self.folder}/stream")

    @staticmethod
    def query(overlap: int = 1, size: int = PANE) -> BoundQuery:
        """Windows of `size` ticks, of which `overlap` hold an event."""
        window = time(size, size // overlap)
        return BoundQuery(Query((window,), {"n": count(), "s": summed("x")}), _SCHEMA, "t", ("k",))


@contextmanager
def generated_input(
    spark: SparkSession, folder: str | None, *, rows: int = ROWS
) -> Iterator[GeneratedInput]:
    """Written below `folder`, or in a temporary one, and removed at the end."""
    if is_connect(spark):
        raise Unsupported(
            "master", "Spark Connect", "a session whose driver is this process for a calibration",
            hint="Its costs are measured where its driver is.",
        )  # fmt: skip
    master = str(spark.sparkContext.master)
    if folder is None and not master.startswith("local"):
        raise Unsupported(
            "folder", folder, f"given with the master {master!r}",
            hint="The rows of the calibration are files that all executors must reach: "
            "sash calibrate --spark --master … --folder hdfs:///tmp",
        )  # fmt: skip
    with ExitStack() as ending:
        if folder is None:
            place = ending.enter_context(owned_folder("sash-calibrate-"))
            home = HadoopFolder(spark, str(place))
        else:
            home = HadoopFolder(spark, f"{folder.rstrip('/')}/sash-calibrate-{uuid4().hex}")
            ending.callback(home.remove)
        found = GeneratedInput(spark, home.url, rows)
        found.write()
        yield found
