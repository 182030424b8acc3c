"""A program for test_connect.py: the same queries through a server of Spark Connect.

    python run_on_connect.py <folder of files> <home>

What each query emits is a parquet file (batch) or a folder of them (streams) in <home>. So is what
`collect` brings while it is counted.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import sash
from sash.runtimes.spark.compat import counted_arrow

HALF = 10_000
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


def counted(spark: Any, sign: Path) -> pa.Table:
    """Rows of two tasks; those of the second leave when rows of the first were counted, or after a minute,
    with which of the two it was."""

    def second_waits(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids, deadline = batch.column(0), time.monotonic() + 60
            while ids[0].as_py() >= HALF and not sign.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            seen = pa.array([sign.exists()] * batch.num_rows)
            yield pa.RecordBatch.from_arrays([ids, seen], ["id", "counted"])

    rows = spark.range(0, 2 * HALF, numPartitions=2).mapInArrow(second_waits, "id long, counted boolean")
    return counted_arrow(rows, lambda size: sign.touch())


def main(files: Path, home: Path) -> None:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.remote("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    static = spark.read.schema(SCHEMA).parquet(str(files))
    pq.write_table(fine(static).collect(), home / "batch.parquet")
    pq.write_table(counted(spark, home / "sign"), home / "counted.parquet")
    nothing = static.where("n < 0")
    pq.write_table(counted_arrow(nothing, lambda size: None), home / "empty.parquet")
    pq.write_table(nothing.toArrow(), home / "expected.parquet")
    for name, (query, source) in STREAMS.items():
        writing = query(source(spark, files)).dataframe().writeStream.format("parquet")
        writing = writing.option("checkpointLocation", str(home / "checkpoints" / name))
        sash.progress(writing.trigger(availableNow=True).start(str(home / name)))
    spark.stop()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
