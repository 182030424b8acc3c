"""Micro-batches of 2,000 rows on a standalone cluster of two workers, against Spark's own aggregation.

    python -m benchmarks.cluster [--quick] [--json PATH] [--rounds 3]

Tumbling windows with a sum, by key, until all files are read, one file per micro-batch. All run in one
session, in short turns; a round is the median of its last batches. Spark has both of its state stores, and
Sash the faster of its two ways to a sink, which is named.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
from benchmarks.harness import Opponent, Table, Times, finish, options
from benchmarks.spark.inputs import events, written
from benchmarks.spark.runs import STORES, drain, median_batch, state_store, stream
from sash.aggregation.kernels.compiler.module_cache import directory
from sash.runtimes.spark.sinks.console_and_noop import NoopSink
from tests.cluster.standalone import Cluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS, KEYS, SIZE, DELAY = 2_000, 20, "10 seconds", "1 second"
WAYS = ("dataframe()", "start()")
LIMIT = 1.15


def windows(data: DataFrame) -> Any:
    windowed = sash.stream(data, time="ts", key="k", delay=DELAY).window(sash.tumbling(SIZE))
    return windowed.agg(s=sash.sum("x"))


def started(spark: SparkSession, path: Path) -> Any:
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as checkpoint:
        query = windows(stream(spark, path, files=1))
        running = query.start(NoopSink(), checkpoint=checkpoint, trigger="available now")
        running.awaitTermination()
        return running


def native(spark: SparkSession, path: Path, store: str) -> Any:
    from pyspark.sql import functions as F

    with state_store(spark, store):
        rows = stream(spark, path, files=1).withWatermark("ts", DELAY)
        return drain(rows.groupBy("k", F.window("ts", SIZE)).agg(F.sum("x").alias("s")))


def measure(cluster: Cluster, folder: Path, *, batches: int, rounds: int) -> Table:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = sash.spark_session(
        master=cluster.master, app="2,000 rows per batch", spark_submit_pyFiles=str(cluster.archive),
        spark_executor_memory="600m", spark_executor_cores="1", spark_cores_max="2",
    )  # fmt: skip
    path = written(folder / "in", events(ROWS * batches, KEYS, batches), files=batches)
    contenders = {
        "dataframe()": lambda: drain(windows(stream(spark, path, files=1)).dataframe()),
        "start()": partial(started, spark, path),
        **{store: partial(native, spark, path, store) for store in STORES},
    }
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    last = max(1, batches // 2)
    for turn in range(rounds + 1):
        for name, run in contenders.items():
            seconds = median_batch(run(), last=last)
            print(f"round {turn}, {name}: {seconds:.3f} s", file=sys.stderr, flush=True)
            if turn > 0:  # the first round compiles
                taken[name].append(seconds)
    spark.stop()
    times = {name: Times(tuple(seconds)) for name, seconds in taken.items()}
    ours = min(WAYS, key=lambda way: times[way].best)
    title = f"two workers: micro-batches of {ROWS:,} rows by {ours}, the median of the last {last}"
    table = Table(title, "opponent")
    table.start()
    for store in STORES:
        table.against(Opponent(f"Spark, state in {store}", ROWS, times[ours], times[store]), limit=LIMIT)
    return table


def main() -> int:
    chosen = options(__doc__ or "")
    with (
        tempfile.TemporaryDirectory(prefix="sash-bench-") as folder,
        Cluster(Path(folder) / "cluster", cache=directory()) as cluster,
    ):
        batches, rounds = (4, 1) if chosen.quick else (12, chosen.rounds)
        return finish([measure(cluster, Path(folder), batches=batches, rounds=rounds)], chosen)


if __name__ == "__main__":
    sys.exit(main())
