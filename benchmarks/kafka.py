"""Kafka → windows → Kafka on one broker, rows per second against Spark's own tumbling count.

    python -m benchmarks.kafka [--quick] [--json PATH] [--rounds 3]

Records in JSON, counted by key in tumbling windows of ten seconds, whose rows go to another topic in JSON.
All run in one session, in turns. A round is what its micro-batches took but the first, in which a query
starts, as seconds for all records; what whole runs took, start and end included, is printed too. Spark has
both of its state stores, and Sash the fastest of its ways to a sink, which is named. `make kafka` fetches
the broker.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
from benchmarks.harness import Opponent, Table, Times, finish, options
from benchmarks.spark.runs import STORES, state_store
from tests.kafka.broker import PARTITIONS, Broker, connector

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

KEYS, SIZE, DELAY = 1_000, "10 seconds", "1 second"
COLUMNS = "ts timestamp, k bigint, x bigint"
BATCHES = 8
"""Of a run, and one more without records, in which the last windows close."""
LIMIT = 1 / 0.8
"""0.8 of its rows per second, as a ratio of times."""


def fill(spark: SparkSession, broker: Broker, rows: int) -> None:
    """A thousand records a second of event time, in order."""
    from pyspark.sql import functions as F

    record = F.struct(
        F.timestamp_millis(F.lit(1_700_000_000_000) + F.col("id")).alias("ts"),
        (F.xxhash64("id") % KEYS).alias("k"),
        (F.col("id") % 100).alias("x"),
    )
    records = spark.range(0, rows, numPartitions=1).select(F.to_json(record).alias("value"))
    to = {"kafka.bootstrap.servers": broker.address, "topic": "in"}
    records.write.format("kafka").options(**to).save()


@dataclass(frozen=True)
class Run:
    """How one went."""

    whole: float
    """Seconds from start to end."""
    steady: float
    """Seconds for all rows, at the rate of its batches but the first."""

    @classmethod
    def of(cls, query: StreamingQuery, rows: int, began: float) -> Run:
        query.awaitTermination()
        whole = time.perf_counter() - began
        later = [one for one in query.recentProgress if one.batchId > 0]
        milliseconds = sum(one.durationMs["triggerExecution"] for one in later)
        return cls(whole, milliseconds / 1000 * rows / sum(one.numInputRows for one in later))


class Race:
    """All over the same records; each run has a checkpoint of its own and ends with its topic."""

    def __init__(self, spark: SparkSession, broker: Broker, folder: Path, rows: int) -> None:
        self._spark, self._broker, self._folder, self._rows, self._runs = spark, broker, folder, rows, 0

    def ours(self) -> dict[str, Callable[[], Run]]:
        return {
            "writeStream": lambda: self._written(self._windows().dataframe()),
            "start()": self._started,
            "start(elastic=…)": lambda: self._started(elastic=sash.Elastic(min=2, max=2, buckets=2)),
        }

    def theirs(self) -> dict[str, Callable[[], Run]]:
        return {store: partial(self._native, store) for store in STORES}

    def _arriving(self) -> DataFrame:
        from pyspark.sql import functions as F

        # One more than its part for each partition: a batch for what was rounded off would be one too many.
        most = self._rows // BATCHES + PARTITIONS
        records = self._broker.stream(self._spark, "in", maxOffsetsPerTrigger=str(most))
        value = F.from_json(F.col("value").cast("string"), COLUMNS)
        arriving: DataFrame = records.select(value.alias("row")).select("row.*")
        return arriving

    def _windows(self) -> Any:
        stream = sash.stream(self._arriving(), time="ts", key="k", delay=DELAY)
        return stream.window(sash.tumbling(SIZE), flush=False).agg(n=sash.count())

    def _started(self, **how: Any) -> Run:
        sink = sash.sinks.kafka("out", servers=self._broker.address, key="k")
        began = time.perf_counter()
        running = self._windows().start(sink, checkpoint=self._checkpoint(), trigger="available now", **how)
        return Run.of(running, self._rows, began)

    def _native(self, store: str) -> Run:
        from pyspark.sql import functions as F

        with state_store(self._spark, store):
            rows = self._arriving().withWatermark("ts", DELAY).groupBy("k", F.window("ts", SIZE))
            return self._written(rows.agg(F.count("*").alias("n")))

    def _written(self, rows: DataFrame) -> Run:
        from pyspark.sql import functions as F

        began = time.perf_counter()
        to = {"kafka.bootstrap.servers": self._broker.address, "topic": "out"}
        sent = rows.select(F.col("k").cast("string").alias("key"), F.to_json(F.struct("*")).alias("value"))
        writer = sent.writeStream.format("kafka").options(**to).outputMode("append")
        writer = writer.option("checkpointLocation", str(self._checkpoint())).trigger(availableNow=True)
        return Run.of(writer.start(), self._rows, began)

    def _checkpoint(self) -> Path:
        self._runs += 1
        return self._folder / f"checkpoint-{self._runs}"


def measure(folder: Path, *, rows: int, rounds: int) -> Table:
    spark = sash.spark_session(
        master="local[2]", app="kafka", spark_sql_shuffle_partitions="2", **connector()
    )
    broker = Broker(folder / "broker")
    try:
        broker.create(spark, "in", "out")
        fill(spark, broker, rows)
        race = Race(spark, broker, folder, rows)
        contenders = race.ours() | race.theirs()
        runs: dict[str, list[Run]] = {name: [] for name in contenders}
        for turn in range(rounds + 1):
            for name, run in contenders.items():
                done = run()
                print(f"round {turn}, {name}: {done.steady:.2f} s of {done.whole:.2f} s", file=sys.stderr)
                if turn > 0:  # the first round compiles
                    runs[name].append(done)
    finally:
        broker.kill()
        spark.stop()
    times = {name: Times(tuple(run.steady for run in done)) for name, done in runs.items()}
    ours = min(race.ours(), key=lambda way: times[way].best)
    table = Table(f"Kafka → tumbling count → Kafka by {ours}", "opponent")
    table.start()
    for store in race.theirs():
        table.against(Opponent(f"Spark, state in {store}", rows, times[ours], times[store]), limit=LIMIT)
    yardstick = min(run.whole for store in race.theirs() for run in runs[store])
    for name, done in runs.items():
        whole = min(run.whole for run in done)
        rate = f"{rows / times[name].best:,.0f}/s"
        table.add(f"{name}, {rate}; whole run", whole, whole / yardstick)
    return table


def main() -> int:
    chosen = options(__doc__ or "")
    rows, rounds = (40_000, 1) if chosen.quick else (2_000_000, chosen.rounds)
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as folder:
        return finish([measure(Path(folder), rows=rows, rounds=rounds)], chosen)


if __name__ == "__main__":
    sys.exit(main())
