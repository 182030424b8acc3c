"""One hot key on Spark: the planner's choice against plain grouping by key; streams: `hot_key_streams`.

    python -m benchmarks.hot_key [--quick] [--json PATH] [--rounds 3] [--only batch counted ranges streams]

99 of 100 rows have the same key. Grouped by key, one task computes almost all of them while the others
wait; the planner has panes folded where rows lie, so that all tasks work on that key. Both plans write to
nowhere. Two cores; the planner's choice must be at least 1.5 times as fast.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import sash
from benchmarks import hot_key_streams
from benchmarks.harness import Table, finish, options, race
from sash.operators.bound_query import BoundQuery
from sash.planner.plans.cheapest_pattern import Plan
from sash.runtimes.spark.batch.static_source import SparkSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class ByKey(SparkSource):
    """What runs where no pattern is chosen: rows grouped by buckets of keys."""

    def plan(self, bound: BoundQuery) -> Plan:
        return replace(super().plan(bound), pattern=None)


def trades(spark: SparkSession, rows: int, folder: Path) -> DataFrame:
    """Rows a millisecond apart, in two files; key 0 has 99 of 100."""
    columns = (
        "timestamp_micros(id * 1000) AS ts",
        "CASE WHEN id % 100 = 0 THEN id % 10007 ELSE 0 END AS symbol",
        "CAST(id % 977 AS DOUBLE) AS price",
        "id % 31 AS size",
    )
    path = str(folder / "trades")
    spark.range(0, rows, 1, 2).selectExpr(*columns).write.parquet(path)
    return spark.read.parquet(path)


def write_to_nowhere(query: sash.WindowQuery) -> None:
    query.dataframe().write.format("noop").mode("overwrite").save()


def compare(df: DataFrame, *, rounds: int) -> Table:
    """Both plans, in turns, with the same answer."""
    auto = (
        sash.stream(df, time="ts", key="symbol")
        .window(sash.sliding("1 minute", every="5 seconds"))
        .agg(n=sash.count(), volume=sash.sum("size"), high=sash.max("price"), mean=sash.mean("price"))
    )
    plain = sash.WindowQuery(ByKey(df), auto.bound)
    assert auto.collect().equals(plain.collect()), "the two plans answer differently"
    chosen = auto.source.plan(auto.bound).chosen.name
    table = Table(f"one key with 99 % of the rows, on Spark; the planner chooses {chosen}", "by key")
    table.start()
    contenders = {"by key": plain, "auto": auto}
    seconds = race(
        {name: lambda query=query: write_to_nowhere(query) for name, query in contenders.items()},
        rounds=rounds,
    )
    for name, spent in seconds.items():
        table.add(name, spent, spent / seconds["by key"], limit=1 / 1.5 if name == "auto" else None)
    return table


def main() -> int:
    chosen = options("One hot key on Spark.", parts=("batch", "counted", "ranges", "streams"))
    tables = [hot_key_streams.counted(quick=chosen.quick)] if "counted" in chosen.only else []
    if "ranges" in chosen.only:
        tables.append(hot_key_streams.ranges(quick=chosen.quick, rounds=chosen.rounds))
    if {"batch", "streams"} & set(chosen.only):
        tables += on_spark(chosen)
    return finish(tables, chosen)


def on_spark(chosen: Namespace) -> list[Table]:
    partitions = {"batch": "2", "streams": str(hot_key_streams.BUCKETS)}
    spark = sash.spark_session(master="local[2]", app="hot key", spark_sql_shuffle_partitions="2")
    spark.sparkContext.setLogLevel("OFF")
    tables: list[Table] = []
    with tempfile.TemporaryDirectory() as folder:
        for part in partitions.keys() & set(chosen.only):
            spark.conf.set("spark.sql.shuffle.partitions", partitions[part])
            if part == "batch":
                df = trades(spark, 50_000 if chosen.quick else 5_000_000, Path(folder))
                tables.append(compare(df, rounds=1 if chosen.quick else chosen.rounds))
            else:
                tables += hot_key_streams.streamed(spark, Path(folder), quick=chosen.quick)
    spark.stop()
    return tables


if __name__ == "__main__":
    sys.exit(main())
