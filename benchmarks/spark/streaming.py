"""Streaming DataFrames, read to their end: windows against Spark's, features against a pass-through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import sash
from benchmarks.harness import Opponent, Table, Times, race, turns
from benchmarks.spark.inputs import events, written
from benchmarks.spark.runs import STORES, drain, files_of, median_batch, state_store, stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELAY = "1 second"


def sliding(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """60 s every second: Spark copies each row 60 times."""
    path = written(folder / "all", events(rows, 1000, 3600), files=8)
    title = "Spark stream: 60 s every 1 s, 1,000 keys, sum"
    return [_against_spark(spark, path, title, ("60 seconds", "1 second"), rows, rounds, limit=1 / 15)]


def tumbling(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """10 s, 1,000 keys: what Spark's generated code is best at."""
    path = written(folder / "all", events(rows, 1000, 3600), files=8)
    title = "Spark stream: tumbling 10 s, 1,000 keys, sum"
    return [_against_spark(spark, path, title, ("10 seconds", None), rows, rounds, limit=0.9)]


def _against_spark(
    spark: SparkSession, path: Path, title: str, lengths: tuple[str, str | None], rows: int, rounds: int,
    *, limit: float,
) -> Table:  # fmt: skip
    """Against Spark's own aggregation over both of its state stores."""
    size, slide = lengths
    window = sash.tumbling(size) if slide is None else sash.sliding(size, every=slide)

    def native(store: str) -> None:
        with state_store(spark, store):
            drain(_native(stream(spark, path), size, slide))

    times = turns(
        {
            "sash": lambda: drain(_windows(stream(spark, path), window)),
            "files": lambda: drain(_windows(files_of(path), window)),
            **{store: partial(native, store) for store in STORES},
        },
        rounds=rounds,
    )
    table = Table(title, "opponent")
    table.start()
    for store in STORES:
        table.against(Opponent(f"Spark, state in {store}", rows, times["sash"], times[store]), limit=limit)
    best = min((times[store] for store in STORES), key=lambda taken: taken.best)
    table.add("sash, read_stream_parquet", times["files"].best, times["files"].best / best.best)
    return table


def many_keys(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """100,000 keys against 1,000."""
    few = written(folder / "few", events(rows, 1000, 3600), files=8)
    many = written(folder / "many", events(rows, 100_000, 3600), files=8)
    window = sash.tumbling("10 minutes")
    seconds = race(
        {
            "few": lambda: drain(_windows(stream(spark, few), window)),
            "many": lambda: drain(_windows(stream(spark, many), window)),
        },
        rounds=rounds,
    )
    table = Table(f"streaming: {rows:,} rows, tumbling 10 minutes", "1,000 keys")
    table.start()
    table.add("sash, 100,000 keys", seconds["many"], seconds["many"] / seconds["few"], limit=2.0)
    table.add("sash, 1,000 keys", seconds["few"], 1.0)
    return [table]


def rolling(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """A row for every event, against rows that only go through Python and back."""
    path = written(folder / "all", events(rows, 1000, 3600), files=8)

    def features(data: Any) -> DataFrame:
        rolled = sash.stream(data, time="ts", key="k", delay=DELAY).rolling("1 minute")
        return rolled.agg(n=sash.count(), s=sash.sum("x")).dataframe()

    times = turns(
        {
            "sash": lambda: drain(features(stream(spark, path))),
            "files": lambda: drain(features(files_of(path))),
            "pass": lambda: drain(_passed_through(stream(spark, path))),
        },
        rounds=rounds,
    )
    table = Table("Spark stream: rolling 1 minute, 1,000 keys, count and sum", "opponent")
    table.start()
    table.against(Opponent("mapInArrow, rows as they came", rows, times["sash"], times["pass"]), limit=2.2)
    table.add("sash, read_stream_parquet", times["files"].best, times["files"].best / times["pass"].best)
    return [table]


def trickle(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """100 rows per micro-batch: what is left is what a micro-batch costs.

    In short turns and many of them: Java goes on compiling for some hundred micro-batches of each."""
    batches = rows // 100
    path = written(folder / "all", events(rows, 20, batches), files=batches)
    window = sash.tumbling("10 seconds")
    medians: dict[str, list[float]] = {"sash": [], "native": []}
    for _ in range(3 * rounds):
        ours = drain(_windows(stream(spark, path, files=1), window))
        native = drain(_native(stream(spark, path, files=1), "10 seconds", None))
        medians["sash"].append(median_batch(ours, last=batches // 3))
        medians["native"].append(median_batch(native, last=batches // 3))
    times = {name: Times(tuple(taken)) for name, taken in medians.items()}
    title = f"Spark stream: micro-batches of 100 rows, the median of the last {batches // 3}"
    table = Table(title, "opponent")
    table.start()
    table.against(Opponent("Spark, tumbling sum", rows, times["sash"], times["native"]), limit=1.3)
    return [table]


def _windows(data: Any, window: Any) -> DataFrame:
    windowed = sash.stream(data, time="ts", key="k", delay=DELAY).window(window)
    df: DataFrame = windowed.agg(s=sash.sum("x")).dataframe()
    return df


def _native(df: DataFrame, size: str, slide: str | None) -> DataFrame:
    from pyspark.sql import functions as F

    window = F.window("ts", size) if slide is None else F.window("ts", size, slide)
    return df.withWatermark("ts", DELAY).groupBy("k", window).agg(F.sum("x").alias("s"))


def _passed_through(df: DataFrame) -> DataFrame:
    def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return df.mapInArrow(same, df.schema)
