"""How a DataFrame is run to its end without keeping its rows, and how its micro-batches did."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
from benchmarks.spark.inputs import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
STORES = {
    "RocksDB": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "memory and files": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}
"""The state stores of Spark's own aggregations, which are at their best with one or with the other."""


@contextmanager
def state_store(spark: SparkSession, name: str) -> Iterator[None]:
    """Queries that are started here have this one; the windows of Sash over a stream need RocksDB."""
    before = str(spark.conf.get(PROVIDER))
    spark.conf.set(PROVIDER, STORES[name])
    try:
        yield
    finally:
        spark.conf.set(PROVIDER, before)


def finish(df: DataFrame) -> None:
    """A static DataFrame."""
    df.write.format("noop").mode("overwrite").save()


def stream(spark: SparkSession, folder: Path, *, files: int = 2) -> DataFrame:
    """The files of a folder, this many a micro-batch."""
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).parquet(str(folder))


def files_of(folder: Path) -> Any:
    """The same as `stream`, read by Python."""
    return sash.read_stream_parquet(folder, maxFilesPerTrigger=2)


def drain(df: DataFrame) -> StreamingQuery:
    """A streaming DataFrame, until all that is there has been read."""
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as checkpoint:
        query = (
            df.writeStream.format("noop")
            .outputMode("append")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return query


def to_folder(query: Any, **how: Any) -> Any:
    """A streaming query of ours, to parquet files, until all that is there has been read."""
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as home:
        place = Path(home)
        running = query.start(place / "out", checkpoint=place / "c", trigger="available now", **how)
        running.awaitTermination()
        return running


def spark_to_folder(df: DataFrame) -> StreamingQuery:
    """The same by Spark's own sink."""
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as home:
        writer = df.writeStream.format("parquet").outputMode("append").trigger(availableNow=True)
        running = writer.option("checkpointLocation", f"{home}/c").start(f"{home}/out")
        running.awaitTermination()
        return running


def median_batch(query: StreamingQuery, *, last: int) -> float:
    """Seconds of the median micro-batch of the last few: Java takes a hundred to compile what they run."""
    times = [progress.durationMs["triggerExecution"] for progress in query.recentProgress]
    return statistics.median(times[-last:]) / 1000
