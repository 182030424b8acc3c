"""One hot key on Spark: the planner's choice against plain grouping by key; streams: `hot_key_streams`.

    python -m benchmarks.hot_key [--quick] [--json PATH] [--rounds 3] [--only PART …]

    batch       99 of 100 rows have one key: the planner's choice against grouping by key
    rolling     look-backs of a key with 90 % of the rows: two workers against one bucket
    counted     without Spark: what the busiest task gets, on streams and of static look-backs
    turned      without Spark: the skew turns to another key in the middle of a run
    ranges      without Spark: what sharing by ranges could save
    streams     batches of streams against even keys
    costs       what looking for hot keys costs where there are none
    busy        processor time of the busiest task against the mean of all

`batch`: grouped by key, one task computes almost all rows while the others wait; the planner has panes
folded where rows lie, so that all tasks work on that key. Both plans write to nowhere. Two cores; the
planner's choice must be at least 1.5 times as fast.
"""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import sash
from benchmarks import hot_key_busy, hot_key_changes, hot_key_look_backs, hot_key_runs, hot_key_streams
from benchmarks.harness import Table, finish, options, race
from benchmarks.spark.inputs import written
from sash.operators.bound_query import BoundQuery
from sash.planner.plans.cheapest_pattern import Plan
from sash.runtimes.spark.batch.static_source import SparkSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTS = ("batch", "rolling", "counted", "turned", "ranges", "streams", "costs", "busy")
ON_SPARK = {"batch", "rolling", "streams", "costs", "busy"}


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
    chosen = options("One hot key on Spark.", parts=PARTS)
    tables: list[Table] = []
    if "counted" in chosen.only:
        tables += [of.counted(quick=chosen.quick) for of in (hot_key_streams, hot_key_look_backs)]
        tables.append(hot_key_look_backs.counted_on_streams(quick=chosen.quick))
    if "turned" in chosen.only:
        tables.append(hot_key_changes.turned(quick=chosen.quick))
    if "ranges" in chosen.only:
        tables.append(hot_key_streams.ranges(quick=chosen.quick, rounds=chosen.rounds))
    if ON_SPARK & set(chosen.only):
        tables += on_spark(chosen)
    return finish(tables, chosen)


def on_spark(chosen: Namespace) -> list[Table]:
    wanted = [part for part in PARTS if part in ON_SPARK & set(chosen.only)]
    tables: list[Table] = []
    # Where all buckets have a task of their own, that may be more than there are cores.
    for cores, parts in ((2, {*wanted} - {"busy"}), (hot_key_streams.BUCKETS, {*wanted} & {"busy"})):
        if parts:
            tables += on_cores(cores, [part for part in wanted if part in parts], chosen)
    return tables


def on_cores(cores: int, parts: list[str], chosen: Namespace) -> list[Table]:
    spark = sash.spark_session(master=f"local[{cores}]", app="hot key", spark_sql_shuffle_partitions="2")
    spark.sparkContext.setLogLevel("OFF")
    tables: list[Table] = []
    with tempfile.TemporaryDirectory() as folder:
        for part in parts:
            static = part in ("batch", "rolling")
            spark.conf.set("spark.sql.shuffle.partitions", "2" if static else str(hot_key_streams.BUCKETS))
            tables += measured(spark, part, Path(folder), chosen)
    spark.stop()
    return tables


def measured(spark: SparkSession, part: str, folder: Path, chosen: Namespace) -> list[Table]:
    """The tables of a part."""
    quick, rounds = chosen.quick, 1 if chosen.quick else chosen.rounds
    match part:
        case "batch":
            return [compare(trades(spark, 50_000 if quick else 5_000_000, folder), rounds=rounds)]
        case "rolling":
            path = written(
                folder / "rolling", hot_key_streams.events(20_000 if quick else 3_000_000, 0.9), files=2
            )
            return [hot_key_look_backs.against_one_bucket(spark.read.parquet(str(path)), rounds=rounds)]
        case "streams":
            return hot_key_runs.streamed(spark, folder, quick=quick, rounds=rounds)
        case "costs":
            return hot_key_runs.costs(spark, folder, quick=quick, rounds=rounds)
    return [hot_key_busy.busy(spark, folder, quick=quick, rounds=rounds)]


if __name__ == "__main__":
    sys.exit(main())
