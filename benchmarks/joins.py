"""The ScaleJoin benchmark: comparisons per second, band cells against exhaustive, and the join on Spark.

Two streams, left (x int, y float) and right (a int, b float, c double, d bool), values from 1 to 10,000,
joined within five minutes where |x − a| ≤ 10 and |y − b| ≤ 10 (Gulisano et al., ScaleJoin, 2021).

A rate is sustained when the tuples of a second of event time take one core a second, with the windows full.
The exhaustive join compares a tuple with a whole window, so that a rate costs its square: from one
measured cost follows the rate that is sustained. The same join with band cells then runs at ten times that
rate. What is measured on one core is the time of that core, so that a busy machine changes little.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sash
from benchmarks.harness import Table, finish, options
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.joins.join_operator import JoinOperator
from sash.semantics.expression import Side

SECOND = 1_000_000
MINUTES = 5
WINDOW = 60 * MINUTES
FIRST = 1_700_000_000 * SECOND


def searched(left: Any, right: Any) -> Any:
    """The benchmark's predicate, as comparisons that can be searched for."""
    return (abs(left.x - right.a) <= 10) & (abs(left.y - right.b) <= 10)


def exhaustive(left: Any, right: Any) -> Any:
    """The same in words that leave nothing to search for, but can be vectorised."""
    return (abs(left.x - right.a) <= 10) & (abs(left.y - right.b) <= 10) | False


def tuples(side: Side, rate: int, begin: int, end: int) -> pa.Table:
    """`rate` tuples per second of event time, from one second to another."""
    random = np.random.default_rng(begin * 2 + (side is Side.RIGHT))
    count = rate * (end - begin)
    times = FIRST + begin * SECOND + np.arange(count) * SECOND // rate
    names = ("x", "y") if side is Side.LEFT else ("a", "b")
    columns: dict[str, Any] = {
        "ts": pa.array(times, pa.timestamp("us", "UTC")),
        names[0]: pa.array(random.integers(1, 10_001, count), pa.int32()),
        names[1]: pa.array(random.integers(1, 10_001, count), pa.float32()),
    }
    if side is Side.RIGHT:
        columns |= {"c": random.random(count), "d": random.random(count) < 0.5}
    return pa.table(columns)


def joined(left: Any, right: Any, where: Any) -> Any:
    streams = [sash.stream(data, time="ts") for data in (left, right)]
    return streams[0].join(streams[1], within=f"{MINUTES} minutes", where=where)


def bound(where: Any) -> BoundJoin:
    query: BoundJoin = joined(*(tuples(side, 1, 0, 1) for side in Side), where).bound
    return query


class TimedRun:
    """An operator with full windows, at a rate, second after second."""

    def __init__(self, where: Any, rate: int) -> None:
        self.operator, self.rate, self.now = JoinOperator(bound(where)), rate, WINDOW
        full = {side: tuples(side, rate, 0, WINDOW) for side in Side}
        for side, rows in full.items():
            self.operator.insert(side, rows, np.arange(rows.num_rows))
        # Rows that fill the windows need not meet each other.
        self.operator.store.remember({side: self.operator._passed(side, flush=True) for side in Side})
        self.operator.watermark = FIRST + WINDOW * SECOND

    def seconds(self, count: int) -> float:
        """How long a second of event time takes: the best of several."""
        best = float("inf")
        for _ in range(count):
            begin_at, end_at = self.now, self.now + 1
            rows = {side: tuples(side, self.rate, begin_at, end_at) for side in Side}
            begin = time.process_time()
            for side, table in rows.items():
                self.operator.insert(side, table, np.arange(table.num_rows))
            self.operator.advance(FIRST + end_at * SECOND)
            best = min(best, time.process_time() - begin)
            self.now = end_at
        return best


def compared(rate: int, rounds: int) -> tuple[float, float]:
    """Comparisons per second of the exhaustive join on one core, and the seconds that a second takes."""
    run = TimedRun(exhaustive, rate)
    run.seconds(1)
    before, took, made = run.operator.store.comparisons, float("inf"), 0
    for _ in range(rounds):
        before = run.operator.store.comparisons
        elapsed = run.seconds(1)
        if elapsed < took:
            took, made = elapsed, run.operator.store.comparisons - before
    return made / took, took


def on_spark(rate: int, seconds: int, batches: int) -> tuple[float, int]:
    """Input tuples per second of the streaming join on two cores without its first batches; its pairs."""
    spark = sash.spark_session(master="local[2]", app="joins", spark_sql_shuffle_partitions="2")
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        frames = []
        for side in Side:
            (Path(folder) / side.value).mkdir()
            for batch in range(batches):
                rows = tuples(side, rate, batch * seconds, (batch + 1) * seconds)
                path = Path(folder) / side.value / f"{batch:04}.parquet"
                pq.write_table(rows, path)
                os.utime(path, (batch + 1, batch + 1))  # Spark takes files by their time of change
            schema = spark.read.parquet(str(Path(folder) / side.value)).schema
            reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            frames.append(reader.parquet(str(Path(folder) / side.value)))
        pairs = 0

        def count(df: Any, number: int) -> None:
            nonlocal pairs
            pairs += df.count()

        query = (
            joined(*frames, searched)
            .dataframe()
            .writeStream.foreachBatch(count)
            .option("checkpointLocation", str(Path(folder) / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        timed = [p for p in query.recentProgress if p.numInputRows][batches // 3 :]
        took = sum(p.durationMs["triggerExecution"] for p in timed) / 1000
        tuples_in = sum(p.numInputRows for p in timed)
    spark.stop()
    return tuples_in / took, pairs


def require_same_pairs() -> None:
    """Both ways must find the same, or their times mean nothing."""
    small = [tuples(side, 20, 0, 60) for side in Side]
    one, two = (joined(*small, where).collect() for where in (searched, exhaustive))
    assert one.equals(two)
    assert one.num_rows


def main() -> int:
    chosen = options("The ScaleJoin benchmark, exhaustively, with band cells, and on Spark.")
    require_same_pairs()
    rate = 40 if chosen.quick else 1000
    speed, took = compared(rate, chosen.rounds)
    sustained = int(rate / took**0.5)
    tables = [Table("the cost of 10⁹ comparisons on one core, exhaustive", "a second")]
    tables[0].start()
    tables[0].add(f"{speed / 1e9:.2f} · 10⁹ comparisons per second", 1e9 / speed, 1e9 / speed, limit=1.0)

    ten = 10 * sustained if not chosen.quick else 200
    fast = TimedRun(searched, ten)
    fast.seconds(1)
    second = fast.seconds(chosen.rounds)
    title = f"a second of event time at 10 × the exhaustive rate of {sustained:,} tuples/s and stream"
    tables.append(Table(title, "a second"))
    tables[1].start()
    tables[1].add(f"band cells at {ten:,} tuples/s and stream", second, second, limit=1.0)

    size = (20, 30, 3) if chosen.quick else (1000, 200, 8)
    tuples_a_second, pairs = on_spark(*size)
    tables.append(Table(f"10⁵ tuples on Spark, streaming, two cores ({pairs:,} pairs)", "a second"))
    tables[2].start()
    spent = 1e5 / tuples_a_second
    tables[2].add(f"band cells: {tuples_a_second:,.0f} tuples/s", spent, spent, limit=1.0)
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
