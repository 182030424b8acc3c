"""What further outputs of one pass cost: late rows, more queries, and small micro-batches.

reports and late rows   against reports alone                     ≤ 1.1
ten queries together    against one of them                       ≤ 2
a batch of 100 rows     against Spark's own aggregation, p50      ≤ 1.2, p99 ≤ 1.2
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sash
from benchmarks.harness import Table, race
from benchmarks.spark.runs import STORES, state_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "ts timestamp, k bigint, x bigint"
KEYS = 1_000


def rows(count: int, *, seconds: int, first: int = 0, seed: int = 1) -> pa.Table:
    """Rows in order of time, one in a thousand of them ten minutes behind."""
    choice = np.random.default_rng(seed)
    times = 1_767_600_000_000_000 + first + np.arange(count) * (seconds * 1_000_000) // count
    times[choice.random(count) < 0.001] -= 600_000_000
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array(choice.integers(0, KEYS, count)),
            "x": pa.array(choice.integers(0, 1_000, count)),
        }
    )


class Files:
    """A folder of files, one a micro-batch, as a stream."""

    def __init__(self, spark: SparkSession, home: Path, *, files: int, each: int, seconds: int) -> None:
        self._spark, self._home = spark, home
        (home / "files").mkdir(parents=True)
        for number in range(files):
            first = number * seconds * 1_000_000
            table = rows(each, seconds=seconds, first=first, seed=number)
            pq.write_table(table, home / "files" / f"{number:05}.parquet")

    def stream(self) -> DataFrame:
        reader = self._spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self._home / "files"))

    def place(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._home))


def windows(df: DataFrame, *, minutes: int = 1) -> Any:
    stream = sash.stream(df, time="ts", key="k", delay="10 seconds")
    return stream.window(sash.tumbling(f"{minutes} minutes")).agg(n=sash.count(), total=sash.sum("x"))


def alone(files: Files) -> Any:
    place = files.place()
    return windows(files.stream()).start(place / "out", checkpoint=place / "c", trigger="available now")


def with_late_rows(files: Files) -> Any:
    place = files.place()
    return windows(files.stream()).start(
        place / "out", late=place / "late", checkpoint=place / "c", trigger="available now"
    )


def ten_together(files: Files) -> Any:
    place, df = files.place(), files.stream()
    queries = {f"q{number}": windows(df, minutes=1 + number) for number in range(10)}
    return sash.together(**queries).start(
        {name: place / name for name in queries}, checkpoint=place / "c", trigger="available now"
    )


def of_spark(files: Files) -> Any:
    from pyspark.sql import functions as F

    place = files.place()
    grouped = files.stream().withWatermark("ts", "10 seconds").groupBy("k", F.window("ts", "1 minute"))
    writing = grouped.agg(F.count("*"), F.sum("x")).writeStream.format("parquet").outputMode("append")
    writing = writing.option("checkpointLocation", str(place / "c")).trigger(availableNow=True)
    return writing.start(str(place / "out"))


def ended(begin: Callable[[Files], Any], files: Files) -> Callable[[], Any]:
    return lambda: begin(files).awaitTermination()


def latencies(begin: Callable[[Files], Any], files: Files) -> list[float]:
    """Seconds of the micro-batches, without the first third, in which workers start and Java compiles."""
    handle = begin(files)
    handle.awaitTermination()
    took = [one.batchDuration / 1000 for one in handle.recentProgress]
    return took[len(took) // 3 :]


def small_batches(spark: SparkSession, files: Files, *, rounds: int) -> Table:
    """Ours against Spark's own over both of its state stores, in turns; all batches of all rounds count."""
    ours, theirs = list[float](), {store: list[float]() for store in STORES}
    for _ in range(rounds):
        for store, took in theirs.items():
            with state_store(spark, store):
                took += latencies(of_spark, files)
        ours += latencies(alone, files)
    table = Table("a micro-batch of 100 rows", "Spark's own")
    table.start()
    for percentile in (50, 99):
        mine = float(np.percentile(ours, percentile))
        for store, took in theirs.items():
            other = float(np.percentile(took, percentile))
            table.add(
                f"Sash, p{percentile} (Spark, {store}: {1e3 * other:.0f} ms)", mine, mine / other, limit=1.2
            )
    return table


def tables(spark: SparkSession, folder: Path, *, quick: bool, rounds: int) -> list[Table]:
    each, files, small = (20_000, 2, 10) if quick else (1_000_000, 5, 100)
    large = Files(spark, folder / "large", files=files, each=each, seconds=600)
    contenders = {"one query": alone, "with late rows": with_late_rows, "ten together": ten_together}
    best = race({name: ended(one, large) for name, one in contenders.items()}, rounds=rounds)
    outputs = Table("outputs of one pass", "one query")
    outputs.start()
    for name, limit in (("one query", None), ("with late rows", 1.1), ("ten together", 2.0)):
        outputs.add(name, best[name], best[name] / best["one query"], limit=limit)
    batches = Files(spark, folder / "small", files=small, each=100, seconds=10)
    return [outputs, small_batches(spark, batches, rounds=rounds)]
