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
from benchmarks.spark.runs import (
    STORES,
    files_of,
    median_batch,
    spark_to_folder,
    state_store,
    stream,
    to_folder,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELAY = "1 second"


def sliding(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """60 s every second: Spark copies each row 60 times."""
    path, lengths = written(folder / "all", events(rows, 1000, 3600), files=8), ("60 seconds", "1 second")
    return [against_spark(spark, path, lengths, rows=rows, rounds=rounds, limit=1 / 15)]


def tumbling(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """10 s: what Spark's generated code is best at."""
    path, lengths = written(folder / "all", events(rows, 1000, 3600), files=8), ("10 seconds", None)
    return [against_spark(spark, path, lengths, rows=rows, rounds=rounds, limit=0.9)]


def against_spark(
    spark: SparkSession, path: Path, lengths: tuple[str, str | None],
    *, rows: int, rounds: int, limit: float,
) -> Table:  # fmt: skip
    """`start()` against Spark's own aggregation over both of its state stores, all to parquet files."""

    def native(store: str) -> None:
        with state_store(spark, store):
            spark_to_folder(three_of_spark(stream(spark, path).withWatermark("ts", DELAY), *lengths))

    elastic = sash.Elastic(min=2, max=2)
    times = turns(
        {
            "start": lambda: to_folder(three(stream(spark, path), *lengths)),
            "elastic": lambda: to_folder(three(stream(spark, path), *lengths), elastic=elastic),
            "files": lambda: to_folder(three(files_of(path), *lengths)),
            **{store: partial(native, store) for store in STORES},
        },
        rounds=rounds,
    )
    table = Table(f"Spark stream: {worded(*lengths)}, 1,000 keys, count, sum and max, to files", "opponent")
    table.start()
    for store in STORES:
        opponent = Opponent(f"Spark, state in {store}", rows, times["start"], times[store])
        table.against(opponent, limit=limit)
    best = min(times[store].best for store in STORES)
    for name, what in (("elastic", "sash, elastic"), ("files", "sash, read_stream_parquet")):
        table.add(what, times[name].best, times[name].best / best, times=times[name])
    return table


def worded(size: str, slide: str | None) -> str:
    return f"tumbling {size}" if slide is None else f"{size} every {slide}"


def three(data: Any, size: str, slide: str | None, key: str | None = "k") -> Any:
    window = sash.tumbling(size) if slide is None else sash.sliding(size, every=slide)
    windowed = sash.stream(data, time="ts", key=key, delay=DELAY).window(window)
    return windowed.agg(n=sash.count(), s=sash.sum("x"), hi=sash.max("v"))


def three_of_spark(df: DataFrame, size: str, slide: str | None = None) -> DataFrame:
    from pyspark.sql import functions as F

    window = F.window("ts", size) if slide is None else F.window("ts", size, slide)
    folds = (F.count("*").alias("n"), F.sum("x").alias("s"), F.max("v").alias("hi"))
    return df.groupBy("k", window).agg(*folds)


def many_keys(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """100,000 keys against 1,000."""
    few = written(folder / "few", events(rows, 1000, 3600), files=8)
    many = written(folder / "many", events(rows, 100_000, 3600), files=8)
    seconds = race(
        {
            "few": lambda: to_folder(three(stream(spark, few), "10 minutes", None)),
            "many": lambda: to_folder(three(stream(spark, many), "10 minutes", None)),
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

    def features(data: Any) -> Any:
        rolled = sash.stream(data, time="ts", key="k", delay=DELAY).rolling("1 minute")
        return rolled.agg(n=sash.count(), s=sash.sum("x"))

    times = turns(
        {
            "sash": lambda: to_folder(features(stream(spark, path))),
            "files": lambda: to_folder(features(files_of(path))),
            "pass": lambda: spark_to_folder(_passed_through(stream(spark, path))),
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
    medians: dict[str, list[float]] = {"sash": [], "native": []}
    for _ in range(3 * rounds):
        ours = to_folder(three(stream(spark, path, files=1), "10 seconds", None))
        native = spark_to_folder(
            three_of_spark(stream(spark, path, files=1).withWatermark("ts", DELAY), "10 seconds")
        )
        medians["sash"].append(median_batch(ours, last=batches // 3))
        medians["native"].append(median_batch(native, last=batches // 3))
    times = {name: Times(tuple(taken)) for name, taken in medians.items()}
    title = f"Spark stream: micro-batches of 100 rows, the median of the last {batches // 3}"
    table = Table(title, "opponent")
    table.start()
    table.against(Opponent("Spark, tumbling", rows, times["sash"], times["native"]), limit=1.3)
    return [table]


def _passed_through(df: DataFrame) -> DataFrame:
    def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return df.mapInArrow(same, df.schema)
