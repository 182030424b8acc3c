"""Twenty workloads on Spark over streams of a few micro-batches, to a sink that keeps nothing.

What is known of the events is given, as `sash.Auto(rows=…, keys=…, hottest=…)`: without that a stream has
one candidate. What is judged is the query with these facts, under the name of its plan; the others name
their pattern. 'buckets of keys' is what `start()` runs without one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import sash
from benchmarks.planner.contest import Contest, other_degrees
from benchmarks.planner.spark_workloads import drawn
from benchmarks.spark.inputs import written
from sash.runtimes.spark.sinks.console_and_noop import NoopSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, BATCHES = 120_000, 3
TYPES = "t long, k long, i long, x double, y double"


def contests(spark: SparkSession, folder: Path, *, quick: bool) -> Iterator[Contest]:
    """Every candidate of each plan."""
    for number, one in enumerate(drawn(ROWS // 20 if quick else ROWS)):
        path = written(folder / str(number), one.table, files=BATCHES)
        reader = spark.readStream.schema(TYPES).option("maxFilesPerTrigger", 1)
        query = one.query(reader.parquet(str(path)))
        known = sash.Auto(rows=one.table.num_rows, keys=one.keys, hottest=one.hottest)
        given = query.parallel(known)
        plan = given.source.plan(given.bound)
        runs = {
            each.name: _run(query if each.pattern is None else query.parallel(each.pattern))
            for each in plan.candidates
        }
        runs[plan.chosen.name] = _run(given)
        others = {
            name: (of, _run(query.parallel(pattern))) for name, (of, pattern) in other_degrees(plan).items()
        }
        yield Contest(one.name, plan.chosen.name, runs, others)


def _run(query: sash.WindowQuery) -> Callable[[], None]:
    def run() -> None:
        with tempfile.TemporaryDirectory(prefix="sash-planner-") as checkpoint:
            running = query.start(NoopSink(), checkpoint=checkpoint, trigger="available now")
            running.awaitTermination()

    return run
