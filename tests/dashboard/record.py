"""Record what two real queries say of themselves: `python -m tests.dashboard.record FOLDER [SECONDS]`.

The messages under `recorded/` were made with it. One query is fixed, the other elastic; events come from
Spark's rate source, in waves, out of order, a few of them too late. Both run for a while before they are
recorded, with state of their own: a JVM that has just started takes many times as long for a batch.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import sash
from sash.dashboard import MessageFolder, watch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sash.dashboard.query_watcher import Watching

RATE = 3_000
WARM_UP = 60.0


def record(folder: Path, *, seconds: float) -> None:
    spark = sash.spark_session(master="local[2]", app="record", spark_sql_shuffle_partitions="2")
    spark.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as scratch:
        _run(spark, Path(scratch), seconds=WARM_UP)
    watching = watch(spark, MessageFolder(folder))
    with tempfile.TemporaryDirectory() as scratch:
        _run(spark, Path(scratch), seconds=seconds, watching=watching)
        time.sleep(1)
        watching.stop()
    spark.stop()


def _run(spark: SparkSession, place: Path, *, seconds: float, watching: Watching | None = None) -> None:
    vwap = (
        sash.stream(quotes(spark), time="ts", key="symbol", delay="2 seconds")
        .window(sash.sliding("20 seconds", every="2 seconds"))
        .agg(n=sash.count(), high=sash.max("price"), mean=sash.mean("price"))
    )
    bars = (
        sash.stream(quotes(spark), time="ts", key="symbol", delay="2 seconds")
        .window(sash.tumbling("5 seconds"))
        .agg(n=sash.count(), low=sash.min("price"), high=sash.max("price"))
    )
    elastic = sash.Elastic(min=1, max=4, buckets=8, controller=in_waves)
    running = [
        (vwap, vwap.start(place / "vwap", checkpoint=place / "vc", trigger="1 second", name="vwap")),
        (bars, bars.start(place / "bars", checkpoint=place / "bc", elastic=elastic, name="bars")),
    ]
    for query, handle in running:
        if watching is not None:
            watching.add(handle, query=query, reports=place / handle.name)
    time.sleep(seconds)
    for _, handle in running:
        handle.stop()


def quotes(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as F

    rows = spark.readStream.format("rate").option("rowsPerSecond", RATE).load()
    drawn = F.pmod(F.xxhash64("value"), F.lit(10_000))
    late = F.when(drawn % 997 == 0, 6_000).otherwise(drawn % 1_500)
    second = F.unix_timestamp("timestamp")
    shown = drawn < 4_000 + 5_000 * (1 + F.sin(second / 4.0)) / 2
    skewed = F.floor(F.pow(drawn / 10_000, F.lit(3)) * 24)
    return rows.where(shown).select(
        F.timestamp_millis(F.unix_millis("timestamp") - late).alias("ts"),
        F.format_string("SYM%02d", skewed.cast("int")).alias("symbol"),
        (100 + 5 * F.sin(second / 7.0) + drawn / 5_000).alias("price"),
    )


def in_waves(samples: object) -> int:
    """A degree that comes and goes, whatever the load: what is recorded is how it is shown."""
    return (1, 2, 4, 2)[int(time.time()) // 12 % 4]


if __name__ == "__main__":
    record(Path(sys.argv[1]), seconds=float(sys.argv[2]) if len(sys.argv) > 2 else 60.0)
