"""A program for test_worker_kills.py: streams that each lose a Python worker in the middle of a batch.

    python lose_workers.py <folder of files> <home>

Its Spark gives a task three tries, so that none of the streams stops. What a stream emits is under
<home>/<where its worker dies>/sink.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import sash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "at bigint, key string, number bigint"
RESULT = "n bigint, first bigint, last bigint"
PLACES = ("before the windows", "in the windows", "after the windows")
IN_EPOCHS = "in an epoch"

DEADLY = 100
"""The number of the event that a worker does not survive."""


def die_once(marker: Path) -> None:
    """SIGKILL to this process, for the first caller only."""
    with suppress(FileExistsError):
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), signal.SIGKILL)


def run(spark: SparkSession, files: Path, home: Path, *, place: str | None) -> None:
    """Windows over the files, one file a micro-batch; a worker dies at `place`."""
    marker = home / "a worker died here"

    def pass_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if place == PLACES[0] and DEADLY in batch.column("number").to_pylist():
                die_once(marker)
            yield batch

    def summary(events: pa.Table) -> dict[str, Any]:
        numbers = events["number"].to_pylist()
        if place == PLACES[1] and DEADLY in numbers:
            die_once(marker)
        return {"n": len(numbers), "first": numbers[0], "last": numbers[-1]}

    def hand_out(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            # One by one, so that the worker dies with half of its answer given.
            for row in range(batch.num_rows):
                if place == PLACES[2] and batch.column("last")[row].as_py() >= DEADLY:
                    die_once(marker)
                yield batch.slice(row, 1)

    arriving = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files))
    reports = (
        sash.stream(arriving.mapInArrow(pass_on, SCHEMA), time="at", key="key", delay=3)
        .window(sash.sliding(20, every=10), sash.rows(5))
        .apply(summary, schema=RESULT)
        .dataframe()
    )
    (
        reports.mapInArrow(hand_out, reports.schema)
        .writeStream.format("parquet")
        .option("path", str(home / "sink"))
        .option("checkpointLocation", str(home / "checkpoint"))
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )


def run_in_epochs(spark: SparkSession, files: Path, home: Path, *, place: str | None) -> None:
    """The same of a query that `start()` runs, in epochs."""
    marker = home / "a worker died here"

    def pass_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if place == IN_EPOCHS and DEADLY in batch.column("number").to_pylist():
                die_once(marker)

    arriving = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files))
    (
        sash.stream(arriving.mapInArrow(pass_on, SCHEMA), time="at", key="key", delay=3)
        .window(sash.sliding(20, every=10), sash.rows(5))
        .agg(n=sash.count(), total=sash.sum("number"), held=sash.collect("number"))
        .start(home / "sink", checkpoint=home / "checkpoint", trigger="available now")
        .awaitTermination()
    )


def main(files: Path, home: Path) -> None:
    session = sash.spark_session(
        master="local[2,3]", app="workers to be killed", spark_sql_shuffle_partitions="2"
    )
    session.sparkContext.setLogLevel("OFF")
    for place in PLACES:
        (home / place).mkdir()
        run(session, files, home / place, place=place)
    (home / IN_EPOCHS).mkdir()
    run_in_epochs(session, files, home / IN_EPOCHS, place=IN_EPOCHS)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
