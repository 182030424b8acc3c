"""Kafka → windows → Kafka on one broker, rows per second against Spark's own tumbling count.

    python -m benchmarks.kafka [--quick] [--json PATH] [--rounds 3]

Records in JSON, counted by key in tumbling windows of ten seconds, whose rows go to another topic in JSON.
Both sides run in one session, in turns, and of each the best round counts. Spark's side is given the state
store that is faster for it, ours the way to a sink that is faster for us. `make kafka` fetches the broker.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash
from benchmarks.harness import Table, finish, options
from benchmarks.spark.runs import PROVIDER, STORES
from tests.kafka.broker import Broker, connector

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS, SIZE, DELAY = 1_000, "10 seconds", "1 second"
COLUMNS = "ts timestamp, k bigint, x bigint"
BATCHES = 4
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


class Race:
    """Both sides over the same records; each run has a checkpoint of its own and ends with its topic."""

    def __init__(self, spark: SparkSession, broker: Broker, folder: Path, rows: int) -> None:
        self._spark, self._broker, self._folder, self._rows, self._runs = spark, broker, folder, rows, 0

    def ways(self) -> dict[tuple[str, str], Callable[[], Any]]:
        return {
            ("sash", "writeStream"): lambda: self._written(self._windows().dataframe()),
            ("sash", "start()"): self._started,
            **{("Spark", store): partial(self._native, store) for store in STORES},
        }

    def _arriving(self) -> DataFrame:
        from pyspark.sql import functions as F

        records = self._broker.stream(
            self._spark, "in", maxOffsetsPerTrigger=str(max(1, self._rows // BATCHES))
        )
        value = F.from_json(F.col("value").cast("string"), COLUMNS)
        arriving: DataFrame = records.select(value.alias("row")).select("row.*")
        return arriving

    def _windows(self) -> Any:
        stream = sash.stream(self._arriving(), time="ts", key="k", delay=DELAY)
        return stream.window(sash.tumbling(SIZE), flush=False).agg(n=sash.count())

    def _started(self) -> None:
        sink = sash.sinks.kafka("out", servers=self._broker.address, key="k")
        running = self._windows().start(sink, checkpoint=self._checkpoint(), trigger="available now")
        running.awaitTermination()

    def _native(self, store: str) -> None:
        from pyspark.sql import functions as F

        before = self._spark.conf.get(PROVIDER)
        self._spark.conf.set(PROVIDER, STORES[store])
        try:
            rows = self._arriving().withWatermark("ts", DELAY).groupBy("k", F.window("ts", SIZE))
            self._written(rows.agg(F.count("*").alias("n")))
        finally:
            self._spark.conf.set(PROVIDER, before)

    def _written(self, rows: DataFrame) -> None:
        from pyspark.sql import functions as F

        to = {"kafka.bootstrap.servers": self._broker.address, "topic": "out"}
        sent = rows.select(F.col("k").cast("string").alias("key"), F.to_json(F.struct("*")).alias("value"))
        writer = sent.writeStream.format("kafka").options(**to).outputMode("append")
        writer = writer.option("checkpointLocation", str(self._checkpoint())).trigger(availableNow=True)
        writer.start().awaitTermination()

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
        ways = Race(spark, broker, folder, rows).ways()
        best = dict.fromkeys(ways, float("inf"))
        for turn in range(rounds + 1):
            for way, run in ways.items():
                begin = time.perf_counter()
                run()
                if turn:
                    best[way] = min(best[way], time.perf_counter() - begin)
    finally:
        broker.kill()
        spark.stop()
    table = Table(f"Kafka → tumbling count → Kafka, {rows:,} records", "Spark")
    table.start()
    fastest = {side: min(best[way] for way in best if way[0] == side) for side in ("sash", "Spark")}
    for (side, how), seconds in best.items():
        judged = side == "sash" and seconds == fastest[side]
        ratio = seconds / fastest["Spark"]
        table.add(
            f"{side}, {how}, {rows / seconds:,.0f}/s", seconds, ratio, limit=LIMIT if judged else None
        )
    return table


def main() -> int:
    chosen = options(__doc__ or "")
    rows, rounds = (20_000, 1) if chosen.quick else (1_000_000, chosen.rounds)
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as folder:
        return finish([measure(Path(folder), rows=rows, rounds=rounds)], chosen)


if __name__ == "__main__":
    sys.exit(main())
