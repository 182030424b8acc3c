"""A static Spark DataFrame, against the reference and against Spark's own windows."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import UnknownColumn
from sash.semantics.reference import Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

AGGREGATES = {"n": built_in.count(), "s": built_in.sum("x"), "held": built_in.collect("e")}


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(window_list=st.lists(any_window, min_size=1, max_size=3), stream=arrivals(), empty=st.booleans())
def test_oracle_a_dataframe_is_answered_as_the_reference_answers_one_batch(
    spark: SparkSession, window_list: list[Window], stream: list, empty: bool
) -> None:
    named = [window.named(f"w{number}") for number, window in enumerate(window_list)]
    df = spark.createDataFrame(table_of(stream, {"e": pa.int64(), "x": pa.int64()}))
    query = sash.stream(df, time="t", key="k").window(*named, empty=empty).agg(**AGGREGATES)
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    assert rows_of(query.collect(), AGGREGATES) == expected_rows(
        oracle.reports, AGGREGATES, named=len(named) > 1
    )
    late = sorted((entry.arrival.values["e"], entry.reason) for entry in oracle.late)
    assert sorted((row["e"], row["late_reason"]) for row in query.late().dataframe().collect()) == late


@pytest.fixture(scope="module")
def trades(spark: SparkSession) -> DataFrame:
    """Two hundred trades of three symbols (one of them null), a null time and a few null prices."""
    opening = dt.datetime(2026, 1, 5, 10, 30)
    rows = [
        (
            None if number == 77 else opening + dt.timedelta(seconds=number * 7 % 300, microseconds=number),
            ["A", "B", None][number % 3],
            None if number % 11 == 0 else number * 0.25,
        )
        for number in range(200)
    ]
    return spark.createDataFrame(rows, "ts timestamp, symbol string, price double")


def test_sliding_windows_equal_sparks_own_row_for_row(trades: DataFrame) -> None:
    from pyspark.sql import functions as F

    ours = (
        sash.stream(trades, time="ts", key="symbol")
        .window(sash.sliding("1 minute", every="20 seconds"))
        .agg(total=sash.sum("price"), n=sash.count(), high=sash.max("price"))
        .dataframe()
        .select("symbol", "window.start", "window.end", "total", "n", "high")
    )
    theirs = (
        trades.groupBy("symbol", F.window("ts", "1 minute", "20 seconds"))
        .agg(F.sum("price").alias("total"), F.count("*").alias("n"), F.max("price").alias("high"))
        .select("symbol", "window.start", "window.end", "total", "n", "high")
    )
    assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))


def test_sessions_equal_sparks_own_row_for_row(trades: DataFrame) -> None:
    from pyspark.sql import functions as F

    ours = (
        sash.stream(trades, time="ts", key="symbol")
        .window(sash.session("3 seconds"))
        .agg(n=sash.count(), total=sash.sum("price"))
        .dataframe()
        .select("symbol", "window.start", "window.end", "n", "total")
    )
    theirs = (
        trades.groupBy("symbol", F.session_window("ts", "3 seconds"))
        .agg(F.count("*").alias("n"), F.sum("price").alias("total"))
        .select("symbol", "session_window.start", "session_window.end", "n", "total")
    )
    assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))


def test_the_answer_is_an_ordinary_dataframe(trades: DataFrame) -> None:
    out = sash.stream(trades, time="ts", key="symbol").window(sash.rows(10)).agg(n=sash.count()).dataframe()
    assert out.where("n = 10").groupBy("symbol").count().count() == 3
    assert out.schema["window"].dataType.simpleString() == "struct<id:bigint,start:timestamp,end:timestamp>"


def test_a_null_time_is_in_the_late_output_and_nowhere_else(trades: DataFrame) -> None:
    query = (
        sash.stream(trades, time="ts", key="symbol").window(sash.tumbling("1 minute")).agg(n=sash.count())
    )
    assert sum(query.collect()["n"].to_pylist()) == 199
    (late,) = query.late().collect().to_pylist()
    assert (late["price"], late["late_reason"]) == (None, "time is null")


def test_arrival_order_survives_the_shuffle(spark: SparkSession) -> None:
    df = spark.range(1000).selectExpr("1000 - id AS t", "id % 3 AS k", "id AS e").repartition(1).coalesce(1)
    query = (
        sash.stream(df, time="t", key="k", order="arrival").window(sash.rows(5)).agg(e=sash.collect("e"))
    )
    held = query.collect()["e"].to_pylist()
    assert all(numbers == sorted(numbers) for numbers in held)


@pytest.mark.parametrize("aggregate", [sash.max("ts"), sash.last("ts")], ids=["in SQL", "in Python"])
@pytest.mark.parametrize("every", ["1 minute", "20 seconds"])
def test_the_zone_of_the_session_changes_no_window(
    spark: SparkSession, trades: DataFrame, aggregate: sash.Monoid, every: str
) -> None:
    def reports() -> list[tuple[int, int, int]]:
        windowed = sash.stream(trades, time="ts", key="symbol").window(
            sash.sliding("1 minute", every=every)
        )
        window, at = windowed.agg(at=aggregate).collect().select(["window", "at"]).columns
        instants = (pc.struct_field(window, name) for name in ("start", "end"))
        return sorted(
            zip(*(column.cast(pa.int64()).to_pylist() for column in (*instants, at)), strict=True)
        )

    expected = reports()
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert reports() == expected
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_columns_with_dots_and_backticks_in_their_names_work(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, "a", 2.0)], "`t.x` long, `k``y` string, `v z` double")
    out = sash.stream(df, time="t.x", key="k`y").window(sash.tumbling(5)).agg(s=sash.sum("v z")).collect()
    assert out.to_pylist() == [{"k`y": "a", "window": {"id": 0, "start": 0, "end": 5}, "s": 2.0}]


def test_a_column_that_is_not_there_is_refused_before_any_job_runs(trades: DataFrame) -> None:
    with pytest.raises(UnknownColumn, match="Did you mean 'price'"):
        sash.stream(trades, time="ts").window(sash.rows(2)).agg(s=sash.sum("prise"))
