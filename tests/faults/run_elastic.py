"""A program for test_elastic_kills.py: the windows of run_stream.py, elastic, with another degree in every
second batch.

    python run_elastic.py <folder of files> <sink> <checkpoint> <store>

Its Spark gives a task four tries, so that it survives its workers. Killed as a whole and started again with
the same arguments, it goes on from the checkpoint.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import sash

SCHEMA = "at timestamp, key string, number bigint, x double"
DEGREES = (1, 3, 2, 4)


def scripted(samples: Sequence[Any]) -> int:
    return DEGREES[len(samples) // 2 % len(DEGREES)]


def main(files: str, sink: str, checkpoint: str, store: str) -> None:
    spark = sash.spark_session(master="local[2,4]", app="elastic stream to be killed")
    spark.sparkContext.setLogLevel("OFF")
    arriving = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(files)
    query = (
        sash.stream(arriving, time="at", key="key", delay="5 seconds")
        .window(sash.sliding("20 seconds", every="5 seconds"), sash.rows(7, every=3))
        .agg(n=sash.count(), total=sash.sum("x"), held=sash.collect("number"))
    )
    elastic = sash.Elastic(max=4, controller=scripted, store=store, buckets=8)
    started = query.start(sink, checkpoint=checkpoint, elastic=elastic, trigger="available now")
    started.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
