"""Static DataFrames: sliding windows against `F.window` and SQL panes, look-backs against segment trees."""

# ruff: noqa: N805 (a monoid's functions have no self)

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import sash
from benchmarks.harness import Opponent, Table, turns
from benchmarks.spark import sql_panes
from benchmarks.spark.inputs import SCHEMA, events, written
from benchmarks.spark.runs import finish

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = 86_400


@sash.monoid(commutative=True)
class Total:
    def identity():
        return 0

    def lift(x):
        return x

    def combine(a, b):
        return a + b

    def lower(s):
        return s


def sliding(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """60 s and 3600 s every second; a user's monoid against the built-in sum.

    Spark's own 3600 s are not here: the copies of a row become more code than Java takes in one method, and
    10,000 rows then need four minutes.
    """
    df = spark.read.parquet(str(written(folder / "all", events(rows, 100, 3600), files=4)))
    found = sql_panes.digest(_sliding(df, "60 seconds", sash.sum("x")))
    assert found == sql_panes.digest(sql_panes.one(df))
    times = turns(
        {
            "sash, 60 s": lambda: finish(_sliding(df, "60 seconds", sash.sum("x"))),
            "F.window, 60 s": lambda: finish(_native(df, "60 seconds")),
            **sql_panes.contenders(spark, lambda: finish(sql_panes.one(df))),
            "sash, 3600 s": lambda: finish(_sliding(df, "3600 seconds", sash.sum("x"))),
            "sash, 60 s, a user's sum": lambda: finish(_sliding(df, "60 seconds", Total("x"))),
        },
        rounds=rounds,
    )
    ours = times["sash, 60 s"]
    native = Table("Spark batch: 60 s every 1 s, 100 keys, sum", "opponent")
    native.start()
    native.against(Opponent("Spark, F.window", rows, ours, times["F.window, 60 s"]), limit=0.25)
    for name in sql_panes.FRAMES:
        native.against(Opponent(name, rows, ours, times[name]), limit=1.0)
    own = Table("batch: the same, against our own 60 s", "sash, 60 s")
    own.start()
    for name, limit in (("sash, 3600 s", 1.5), ("sash, 60 s, a user's sum", 1.3)):
        own.add(name, times[name].best, times[name].best / ours.best, limit=limit)
    return [native, own]


def _sliding(df: DataFrame, size: str, monoid: sash.Monoid) -> DataFrame:
    windowed = sash.stream(df, time="ts", key="k").window(sash.sliding(size, every="1 second"))
    return windowed.agg(s=monoid).dataframe()


def _native(df: DataFrame, size: str) -> DataFrame:
    from pyspark.sql import functions as F

    return df.groupBy("k", F.window("ts", size, "1 second")).agg(F.sum("x").alias("s"))


def rolling(spark: SparkSession, folder: Path, *, rows: int, rounds: int) -> list[Table]:
    """Count, sum, mean, max and standard deviation of three look-backs, for every event of a day.

    Against Spark with its segment tree, which is off by default (Spark 4.2 and later).
    """
    path = written(folder / "day", events(rows, 100, DAY), files=4)
    half = written(folder / "half", events(rows // 2, 100, DAY), files=4)
    whole_day, thin_day = spark.read.parquet(str(path)), spark.read.parquet(str(half))
    with sql_panes.segment_tree(spark):
        times = turns(
            {
                "all": lambda: finish(_features(whole_day)),
                "half": lambda: finish(_features(thin_day)),
                "segment tree": lambda: finish(_ranges(whole_day)),
                "floor": lambda: finish(_as_wide(whole_day)),
            },
            rounds=rounds,
        )
    table = Table("Spark batch: rolling, 3 look-backs × 5 aggregates, 100 keys, one day", "opponent")
    table.start()
    for name, limit, opponent in (
        ("segment tree", 0.2, "Spark, rangeBetween with its segment tree"),
        ("floor", 1.35, "a shuffle and mapInArrow that adds as many columns"),
    ):
        table.against(Opponent(opponent, rows, times["all"], times[name]), limit=limit)
    growth = Table("batch: rolling features, twice the rows", "sash, half")
    growth.start()
    growth.add("sash, all rows", times["all"].best, times["all"].best / times["half"].best, limit=2.4)
    return [table, growth]


LOOKBACKS = {"5 minutes": 300, "1 hour": 3600, "24 hours": DAY}


def _features(df: DataFrame) -> DataFrame:
    rolled = sash.stream(df, time="ts", key="k").rolling(*LOOKBACKS)
    v = "v"
    return rolled.agg(
        n=sash.count(), s=sash.sum(v), m=sash.mean(v), hi=sash.max(v), sd=sash.stddev(v)
    ).dataframe()


def _ranges(df: DataFrame) -> DataFrame:
    from pyspark.sql import Window, functions as F

    micros = F.unix_micros("ts")
    for name, length in LOOKBACKS.items():
        over = Window.partitionBy("k").orderBy(micros).rangeBetween(1 - int(length * 1e6), 0)
        for function in (F.count, F.sum, F.avg, F.max, F.stddev):
            df = df.withColumn(f"{function.__name__} {name}", function("v").over(over))
    return df


def _as_wide(df: DataFrame) -> DataFrame:
    """The rows through a shuffle by key and through Python, with as many columns more as features."""
    more = [(f"f{number}", "double") for number in range(5 * len(LOOKBACKS))]
    schema = ", ".join([SCHEMA, *(f"{name} {kind}" for name, kind in more)])

    def widened(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names, v = [*batch.schema.names, *(name for name, _ in more)], batch.column("v")
            yield pa.RecordBatch.from_arrays([*batch.columns, *([v] * len(more))], names)

    return df.repartition("k").mapInArrow(widened, schema)
