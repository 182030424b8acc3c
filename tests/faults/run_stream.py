"""A program for test_driver_kills.py: windows over a folder of files, one file a micro-batch.

    python run_stream.py <folder of files> <sink> <checkpoint> <who reads the files: spark or sash>

It ends when every file has been read. Killed at any moment and started again with the same arguments, it
goes on from the checkpoint.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import sash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "at timestamp, key string, number bigint, x double"


def run(spark: SparkSession, files: str, sink: str, checkpoint: str, reader: str) -> None:
    """The windows of the stream, in parquet files that Spark's sink keeps a log of."""
    if reader == "sash":
        arriving: Any = sash.read_stream_parquet(files, schema=SCHEMA, spark=spark, maxFilesPerTrigger=1)
    else:
        arriving = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(files)
    reports = (
        sash.stream(arriving, time="at", key="key", delay="5 seconds")
        .window(sash.sliding("20 seconds", every="5 seconds"), sash.rows(7, every=3))
        .agg(n=sash.count(), total=sash.sum("x"), held=sash.collect("number"))
        .dataframe()
    )
    (
        reports.writeStream.format("parquet")
        .option("path", sink)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )


if __name__ == "__main__":
    session = sash.spark_session(
        master="local[1]", app="stream to be killed", spark_sql_shuffle_partitions="2"
    )
    session.sparkContext.setLogLevel("OFF")
    run(session, *sys.argv[1:])
