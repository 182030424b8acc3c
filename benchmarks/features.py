"""Features on streams: rows written by `.latest`, and from arrival to row with `emit="arrival"`.

    python -m benchmarks.features [--quick] [--json PATH]

latest    Micro-batches of 2,000 events of 5,000 keys, three look-backs. The rows that a batch writes are
          compared, key by key, with those that a brute force over all events finds changed: they must be
          the same, neither more nor fewer.
arrival   1,000 rows a second in small files, each row stamped when it is written. Measured is how long
          after that it reaches the sink: with `emit="arrival"`, with the default, which waits for the delay
          and a newer event, and through a stream that only hands rows on. Wanted: at most 1.5 times that.
          Beside it stands what Spark itself takes for a stateful step in Python that does nothing. All of
          them take turns.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sash
from benchmarks.harness import Table, finish, options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOOK_BACKS = (60, 600, 3_600)
ROWS, KEYS, SPAN = 2_000, 5_000, 30
"""Events of a micro-batch, keys, and how many seconds of event time a micro-batch brings."""
PER_FILE, PAUSE = 50, 0.05
"""Rows of a file, and seconds between two."""
WARM_UP = 3.0
"""Seconds of the first turn."""
THROUGH = "rows as they came, through mapInArrow"
Started = Callable[..., Any]
"""A stream of rows, a sink and the folder of a checkpoint → the running query."""


def latest(spark: SparkSession, folder: Path, *, batches: int) -> Table:
    """Rows written, to keys whose row has changed."""
    random = np.random.default_rng(11)
    times = np.sort(random.integers(0, batches * SPAN, batches * ROWS))
    keys, values = random.integers(0, KEYS, len(times)), random.integers(0, 10, len(times))
    source = folder / "events"
    source.mkdir()
    for number in range(batches):
        part = slice(number * ROWS, (number + 1) * ROWS)
        table = pa.table({"t": times[part], "k": keys[part], "x": values[part]})
        pq.write_table(table, source / f"{number:04}.parquet")
        os.utime(source / f"{number:04}.parquet", (10**9 + number, 10**9 + number))
    written: list[pa.Table] = []
    df = spark.readStream.schema("t long, k long, x long").option("maxFilesPerTrigger", 1)
    query = (
        sash.stream(df.parquet(str(source)), time="t", key="k")
        .latest(*LOOK_BACKS)
        .agg(n=sash.count(), s=sash.sum("x"), hi=sash.max("x"))
    )
    running = query.start(
        lambda rows, batch: written.append(rows.toArrow()),
        checkpoint=folder / "checkpoint", trigger="available now",
    )  # fmt: skip
    running.awaitTermination()
    seconds = [p["durationMs"]["addBatch"] / 1e3 for p in running.recentProgress]
    rows, changed, active, before = 0, 0, 0, rows_at(times, keys, values, -1)
    for number, table in enumerate(written, 1):
        (now,) = set(table["updated_at"].to_pylist())
        # A later batch may bring events of this very instant.
        after = rows_at(*(column[: number * ROWS] for column in (times, keys, values)), now)
        different = np.flatnonzero((after != before).any(axis=1))
        assert sorted(table["k"].to_pylist()) == different.tolist(), "other keys than those that changed"
        rows, changed, before = rows + table.num_rows, changed + len(different), after
        active += int((after[:, -3] > 0).sum())  # in the longest look-back
    table = Table(f"latest: {len(written)} micro-batches, {ROWS:,} events of {KEYS:,} keys", "changed")
    table.start()
    median = float(np.median(seconds))
    table.add(f"rows written ({rows:,} for {changed:,} changes)", median, rows / changed, limit=1.0)
    table.add("rows of all keys that are not silent", median, active / changed)
    return table


def rows_at(times: Any, keys: Any, values: Any, now: int) -> Any:
    """The latest row of every key at this instant, by brute force."""
    columns = []
    for length in LOOK_BACKS:
        held = (times <= now) & (times > now - length)
        columns.append(np.bincount(keys[held], minlength=KEYS))
        columns.append(np.bincount(keys[held], values[held], minlength=KEYS))
        highest = np.full(KEYS, -1)
        np.maximum.at(highest, keys[held], values[held])
        columns.append(highest)
    return np.stack(columns, axis=1)


def arrival(spark: SparkSession, folder: Path, *, seconds: float) -> list[Table]:
    """Seconds from arrival to row: the median, and what one in a hundred takes longer than."""

    def rolling(emit: Any) -> Started:
        def features(df: DataFrame, sink: Any, checkpoint: Path) -> Any:
            stream = sash.stream(df, time="ts", key="k", delay="1 second")
            rolled = stream.rolling("1 minute", "10 minutes", emit=emit)
            return rolled.agg(n=sash.count(), s=sash.sum("x")).start(sink, checkpoint=checkpoint)

        return features

    def of_spark(made: Callable[[DataFrame], DataFrame]) -> Started:
        def plain(df: DataFrame, sink: Any, checkpoint: Path) -> Any:
            writer = made(df).writeStream.foreachBatch(sink)
            return writer.option("checkpointLocation", str(checkpoint)).start()

        return plain

    contenders: dict[str, Started] = {
        'rolling, emit="arrival"': rolling("arrival"),
        "rolling, as it is by default": rolling("close"),
        THROUGH: of_spark(_passed_through),
        "rows as they came, through an empty transformWithStateInPandas": of_spark(_through_state),
    }
    waits: dict[str, Any] = {}
    # They take turns, and what the first turn takes is left out: Spark compiles itself as it runs.
    for turn, length in enumerate((WARM_UP, seconds / 2, seconds / 2)):
        for number, (name, started) in enumerate(contenders.items()):
            found = measured(spark, folder / f"{turn}-{number}", started, seconds=length)
            if turn:
                waits[name] = np.concatenate([waits.get(name, np.empty(0)), found])
    tables = []
    for share in (50, 99):
        table = Table(f"arrival to row, 1,000 rows/s, p{share}", "pass-through")
        table.start()
        yardstick = float(np.percentile(waits[THROUGH], share))
        for name, found in waits.items():
            took = float(np.percentile(found, share))
            table.add(name, took, took / yardstick, limit=1.5 if "arrival" in name else None)
        tables.append(table)
    return tables


def measured(spark: SparkSession, folder: Path, started: Started, *, seconds: float) -> Any:
    """How long the rows of the last two thirds took to the sink."""
    source = folder / "events"
    source.mkdir(parents=True)
    found: list[tuple[float, Any]] = []

    def sink(rows: DataFrame, batch: int) -> None:
        # A correction is no arrival.
        first = rows.filter("revision = 0") if "revision" in rows.columns else rows
        stamps = first.select("ts").toArrow()["ts"].cast(pa.int64()).to_numpy() / 1e6
        found.append((time.time(), stamps))

    write(source, 0)
    df = spark.readStream.schema("ts timestamp, k long, x long").parquet(str(source))
    running = started(df, sink, folder / "checkpoint")
    try:
        for number in range(1, 6):  # these start Python and load kernels
            running.processAllAvailable()
            write(source, number)
        stopped = threading.Event()
        events = threading.Thread(target=keep_writing, args=(source, stopped))
        begin = time.time()
        events.start()
        time.sleep(seconds)
        stopped.set()
        events.join()
        running.processAllAvailable()
    finally:
        running.stop()
    waits = [at - stamps[stamps > begin + seconds / 3] for at, stamps in found]
    return np.concatenate(waits)


def keep_writing(folder: Path, stopped: threading.Event) -> None:
    """A file of 50 rows every 50 ms."""
    number, due = 10, time.time()
    while not stopped.is_set():
        write(folder, number)
        number, due = number + 1, due + PAUSE
        time.sleep(max(0.0, due - time.time()))


def write(folder: Path, number: int) -> None:
    now = int(time.time() * 1e6)
    random = np.random.default_rng(number)
    table = pa.table(
        {
            "ts": pa.array(np.full(PER_FILE, now), pa.timestamp("us", "UTC")),
            "k": random.integers(0, 100, PER_FILE),
            "x": random.integers(0, 10, PER_FILE),
        }
    )
    hidden = folder / f".{number:07}.parquet"
    pq.write_table(table, hidden)
    hidden.rename(folder / f"{number:07}.parquet")


def _passed_through(df: DataFrame) -> DataFrame:
    def same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return df.mapInArrow(same, df.schema)


def _through_state(df: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.streaming import StatefulProcessor

    class Nothing(StatefulProcessor):
        def init(self, handle: Any) -> None: ...

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            return rows

        def close(self) -> None: ...

    one_key = df.withColumn("bucket", F.lit(0))
    step = one_key.groupBy("bucket").transformWithStateInPandas(Nothing(), one_key.schema, "append", "None")
    return step.drop("bucket")


def main() -> int:
    chosen = options("Rows written by .latest, and from arrival to row.")
    spark = sash.spark_session(master="local[2]", app="features", spark_sql_shuffle_partitions="1")
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory(prefix="sash-features-") as place:
        folder = Path(place)
        tables = [latest(spark, folder, batches=8 if chosen.quick else 60)]
        tables += arrival(spark, folder, seconds=6.0 if chosen.quick else 60.0)
    spark.stop()
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
