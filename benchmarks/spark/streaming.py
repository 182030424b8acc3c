"""Streaming DataFrames, read to their end: windows against Spark's, features against a pass-through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import sash
from benchmarks.harness import Table, race
from benchmarks.spark.inputs import events, written
from benchmarks.spark.runs import drain, files_of, median_batch, stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELAY = "1 second"


def sliding(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """60 s every second: Spark copies each row 60 times."""
    share = 10
    path = written(folder / "all", events(rows, 100, 3600), files=8)
    part = written(folder / "part", events(rows // share, 100, 3600), files=8)
    window = sash.sliding("60 seconds", every="1 second")
    seconds = race(
        {
            "sash": lambda: drain(_windows(stream(spark, path), window)),
            "files": lambda: drain(_windows(files_of(path), window)),
            "native": lambda: drain(_native(stream(spark, part), "60 seconds", "1 second")),
        },
        rounds=rounds,
    )
    native = seconds["native"] * share
    table = Table(f"streaming: {rows:,} rows, 100 keys, sum, 60 s every 1 s", "Spark")
    table.start()
    table.add("sash", seconds["sash"], seconds["sash"] / native, limit=0.1)
    table.add("sash, read_stream_parquet", seconds["files"], seconds["files"] / native)
    table.add(f"Spark, {share} × its time for a {share}th of the rows", native, 1.0)
    return [table]


def tumbling(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """10 s, 1,000 keys: what Spark's generated code is best at."""
    path = written(folder / "all", events(rows, 1000, 3600), files=8)
    window = sash.tumbling("10 seconds")
    seconds = race(
        {
            "sash": lambda: drain(_windows(stream(spark, path), window)),
            "files": lambda: drain(_windows(files_of(path), window)),
            "native": lambda: drain(_native(stream(spark, path), "10 seconds", None)),
        },
        rounds=rounds,
    )
    table = Table(f"streaming: {rows:,} rows, 1,000 keys, sum, tumbling 10 s", "Spark")
    table.start()
    table.add("sash", seconds["sash"], seconds["sash"] / seconds["native"], limit=1.25)
    table.add("sash, read_stream_parquet", seconds["files"], seconds["files"] / seconds["native"])
    table.add("Spark", seconds["native"], 1.0)
    return [table]


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

    seconds = race(
        {
            "sash": lambda: drain(features(stream(spark, path))),
            "files": lambda: drain(features(files_of(path))),
            "pass": lambda: drain(_passed_through(stream(spark, path))),
        },
        rounds=rounds,
    )
    table = Table(f"streaming: rolling 1 minute, {rows:,} rows, 1,000 keys", "mapInArrow")
    table.start()
    table.add("sash", seconds["sash"], seconds["sash"] / seconds["pass"], limit=2.0)
    table.add("sash, read_stream_parquet", seconds["files"], seconds["files"] / seconds["pass"])
    table.add("mapInArrow, rows as they came", seconds["pass"], 1.0)
    return [table]


def trickle(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """100 rows per micro-batch: what is left is what a micro-batch costs.

    In short turns and many of them: Java goes on compiling for some hundred micro-batches of each."""
    batches = rows // 100
    path = written(folder / "all", events(rows, 20, batches), files=batches)
    window = sash.tumbling("10 seconds")
    best = {"sash": float("inf"), "native": float("inf")}
    for _ in range(3 * rounds):
        ours = drain(_windows(stream(spark, path, files=1), window))
        native = drain(_native(stream(spark, path, files=1), "10 seconds", None))
        best["sash"] = min(best["sash"], median_batch(ours, last=batches // 3))
        best["native"] = min(best["native"], median_batch(native, last=batches // 3))
    table = Table(f"streaming: micro-batches of 100 rows, the median of the last {batches // 3}", "Spark")
    table.start()
    table.add("sash", best["sash"], best["sash"] / best["native"], limit=1.3)
    table.add("Spark", best["native"], 1.0)
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
