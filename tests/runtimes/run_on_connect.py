"""A program for test_connect.py: the same queries through a server of Spark Connect.

    python run_on_connect.py <folder of files> <home>

What each query emits is a parquet file (batch) or a folder of them (streams) in <home>.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import sash

SCHEMA = "ts timestamp, k string, n bigint"
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # read back with pyarrow, zone and all
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


def fine(data: Any) -> Any:
    """Windows by time and by count."""
    return (
        sash.stream(data, time="ts", key="k", delay="5 seconds")
        .window(sash.sliding("20 seconds", every="10 seconds"), sash.rows(7, every=3), flush=False)
        .agg(n=sash.count(), held=sash.collect("n"))
    )


def coarse(data: Any) -> Any:
    """Windows of windows: the watermark of the first must reach the second."""
    ten_seconds = (
        sash.stream(data, time="ts", key="k", delay="5 seconds")
        .window(sash.tumbling("10 seconds"), flush=False)
        .agg(n=sash.count())
        .dataframe()
        .selectExpr("window.end AS closed", "n")
    )
    return (
        sash.stream(ten_seconds, time="closed").window(sash.tumbling("20 seconds")).agg(total=sash.sum("n"))
    )


def read_by_spark(spark: Any, files: Path) -> Any:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files))


def read_by_sash(spark: Any, files: Path) -> Any:
    return sash.read_stream_parquet(files, maxFilesPerTrigger=1, spark=spark)


STREAMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Path], Any]]] = {
    "fine": (fine, read_by_spark),
    "files": (fine, read_by_sash),
    "coarse": (coarse, read_by_spark),
}


def main(files: Path, home: Path) -> None:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.remote("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    static = spark.read.schema(SCHEMA).parquet(str(files))
    pq.write_table(fine(static).collect(), home / "batch.parquet")
    for name, (query, source) in STREAMS.items():
        writing = query(source(spark, files)).dataframe().writeStream.format("parquet")
        writing = writing.option("checkpointLocation", str(home / "checkpoints" / name))
        sash.progress(writing.trigger(availableNow=True).start(str(home / name)))
    spark.stop()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
