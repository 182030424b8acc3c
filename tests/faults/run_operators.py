"""A program for test_operator_kills.py: operators over one folder of files, all at once, each with its own
sink and checkpoint.

    python run_operators.py <home> <URL of a Redis server> <trigger, or nothing> <operator> …

It ends when <home>/enough is there and all files have been read. Its Spark gives a task four tries, so that
it survives its workers. Killed at any moment and started again with the same arguments, each query goes on
from its checkpoint below <home>.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import sash
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.sinks import manifest_runs
from sash.runtimes.spark.streaming.hot_keys import choose_shared_keys
from tests.faults.operator_events import SCHEMA
from tests.faults.operators import OPERATORS


def main(home: Path, redis: str, trigger: str, *names: str) -> None:
    manifest_runs.FAN = 2  # so that a few batches are enough to put manifests together
    choose_shared_keys.LEAST = 4  # so that a key of a few rows may be shared
    spark = sash.spark_session(
        master="local[2,4]", app="operators to be killed", spark_sql_shuffle_partitions="1",
        # One of many queries may die before its first batch is planned: nothing is done, nothing lost.
        spark_sql_streaming_verifyCheckpointDirectoryEmptyOnStart="false",
    )  # fmt: skip
    spark.sparkContext.setLogLevel("OFF")
    running: list[Any] = []
    for name in names:
        arriving = spark.readStream.schema(struct_of(SCHEMA)).option("maxFilesPerTrigger", 1)
        started = OPERATORS[name].start(
            arriving.parquet(str(home / "files")), home / name, redis=redis, trigger=trigger or None
        )
        running.append(started)
        # Spark waits ten seconds for a Python process of its driver; a dozen at once would take longer.
        while started.isActive and started.lastProgress is None:
            time.sleep(0.02)
    while not (home / "enough").exists():
        time.sleep(0.1)
        for each in running:
            if not each.isActive:
                each.awaitTermination()  # raises what it has failed with
    for each in running:
        each.processAllAvailable()
        each.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
