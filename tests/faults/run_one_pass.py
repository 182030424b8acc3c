"""A program for test_one_pass_kills.py: reports and late rows of one query, each in a folder.

    python run_one_pass.py <folder of files> <home>

Killed and started again with the same arguments, it goes on from <home>/checkpoint.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import sash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "at timestamp, key string, number bigint, x double"


def run(spark: SparkSession, files: str, home: str) -> None:
    arriving = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(files)
    query = (
        sash.stream(arriving, time="at", key="key", delay="5 seconds")
        .window(sash.tumbling("20 seconds"))
        .agg(n=sash.count(), held=sash.collect("number"))
    )
    running = query.start(
        Path(home) / "sink", late=Path(home) / "late", checkpoint=Path(home) / "checkpoint",
        trigger="available now",
    )  # fmt: skip
    running.awaitTermination()


if __name__ == "__main__":
    session = sash.spark_session(
        master="local[1]", app="stream to be killed", spark_sql_shuffle_partitions="2"
    )
    session.sparkContext.setLogLevel("OFF")
    run(session, *sys.argv[1:])
