"""Look-backs from every event: one row each, against the reference and against Spark's own windows."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import ArgumentError, DurationError, UnitError, Unsupported
from sash.semantics.query import Query
from sash.semantics.reference import Batch, evaluate
from sash.semantics.windows import slide_by_tuple
from tests.runtimes.strategies import arrivals
from tests.runtimes.tables import table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AGGREGATES = {"n": built_in.count(), "s": built_in.sum("x"), "held": built_in.collect("e")}


@settings(max_examples=150, deadline=None)
@given(stream=arrivals(), lookbacks=st.lists(st.integers(1, 30), min_size=1, max_size=3, unique=True))
def test_oracle_each_event_sees_what_slide_by_tuple_sees(stream: list, lookbacks: list[int]) -> None:
    table = table_of(stream, {"e": pa.int64(), "x": pa.int64()})
    query = sash.stream(table, time="t", key="k").rolling(*lookbacks).agg(**AGGREGATES)
    rows = query.collect().to_pylist()
    assert len(rows) == sum(arrival.time is not None for arrival in stream)
    for lookback in lookbacks:
        oracle = evaluate(Query((slide_by_tuple(lookback, 1),), AGGREGATES), [Batch(tuple(stream))])
        expected = {(report.key, report.id): dict(report.values) for report in oracle.reports}
        position: dict[str | None, int] = {}
        for row in rows:
            at = position[row["k"]] = position.get(row["k"], -1) + 1
            assert {name: row[f"{name}_{lookback}"] for name in AGGREGATES} == expected[row["k"], at]


@settings(max_examples=60, deadline=None)
@given(stream=arrivals())
def test_oracle_a_lifetime_looks_back_without_end(stream: list) -> None:
    table = table_of(stream, {"e": pa.int64(), "x": pa.int64()})
    query = sash.stream(table, time="t", key="k").rolling(5, sash.lifetime()).agg(**AGGREGATES)
    seen: dict[str | None, list[dict]] = {}
    rows = query.collect().to_pylist()
    for row in rows:
        seen.setdefault(row["k"], []).append(row)
    for row in rows:
        held = [other for other in seen[row["k"]] if other["t"] <= row["t"]]
        values = [other["x"] for other in held if other["x"] is not None]
        assert row["n_lifetime"] == len(held)
        assert row["s_lifetime"] == (sum(values) if values else None)
        assert sorted(row["held_lifetime"]) == sorted(other["e"] for other in held)


def test_a_lifetime_has_no_unit_of_time_and_fits_the_farthest_of_them() -> None:
    far = sash.stream(pa.table({"t": [-(2**61), 2**61]}), time="t").rolling(sash.lifetime())
    assert far.agg(n=sash.count()).collect()["n_lifetime"].to_pylist() == [1, 2]
    stamps = pa.table({"t": pa.array([0, 10**15], pa.timestamp("us"))})
    both = sash.stream(stamps, time="t").rolling("1 hour", sash.lifetime()).agg(n=sash.count())
    assert both.collect().column_names == ["t", "n_1_hour", "n_lifetime"]
    assert both.collect()["n_lifetime"].to_pylist() == [1, 2]
    assert "E(w) = { τ : τ ≤ τ_r }" in both.explain("plan")
    with pytest.raises(ArgumentError, match=r"durations such as '5 minutes', or sash.lifetime\(\)"):
        far.stream.rolling(sash.slide_by_tuple(5, 1))


def test_features_are_named_by_aggregate_and_lookback_as_it_was_given() -> None:
    table = pa.table({"ts": pa.array([0], pa.timestamp("us")), "x": [1.0]})
    lookbacks = ("5 minutes", "24 hours", timedelta(hours=1))
    query = sash.stream(table, time="ts").rolling(*lookbacks).agg(n=sash.count(), high=sash.max("x"))
    assert query.collect().column_names == [
        "ts", "x", "n_5_minutes", "high_5_minutes", "n_24_hours", "high_24_hours",
        "n_1_hour", "high_1_hour",
    ]  # fmt: skip


def test_an_event_without_a_time_has_no_features_and_is_in_the_late_output() -> None:
    table = pa.table({"t": pa.array([1, None], pa.int64()), "x": [1.0, 2.0]})
    query = sash.stream(table, time="t").rolling(5).agg(n=sash.count())
    assert query.collect()["x"].to_pylist() == [1.0]
    assert query.late().collect()["x"].to_pylist() == [2.0]


def test_lookbacks_that_make_no_sense_are_refused() -> None:
    stream = sash.stream(pa.table({"t": [1], "n_5": [1]}), time="t")
    with pytest.raises(ArgumentError, match="at least one duration"):
        stream.rolling()
    with pytest.raises(DurationError, match="look-back must be longer than zero"):
        stream.rolling(0)
    with pytest.raises(Unsupported, match="Give a longer delay instead"):
        sash.stream(pa.table({"t": [1]}), time="t", allowed_lateness=5).rolling(5)
    with pytest.raises(UnitError, match="write integers"):
        stream.rolling("5 minutes").agg(n=sash.count())
    with pytest.raises(ArgumentError, match="the output already has a column"):
        stream.rolling(5).agg(n=sash.count())
    with pytest.raises(ArgumentError, match="look-backs must be given once each; got '3'"):
        stream.rolling(3, 5, 3)
    arriving = sash.stream(pa.table({"t": [1]}), time="t", order="arrival")
    for look_back in (arriving.rolling, arriving.latest):
        with pytest.raises(Unsupported, match=r"with \.rolling\(…, emit='arrival'\)"):
            look_back(5)


@pytest.mark.spark
def test_rolling_equals_sparks_range_between(spark: SparkSession) -> None:
    from pyspark.sql import Window, functions as F

    df = spark.range(500).selectExpr("id * 7 % 400 AS t", "id % 3 AS k", "CAST(id % 11 AS DOUBLE) AS x")
    ours = sash.stream(df, time="t", key="k").rolling(10, 50).agg(n=sash.count(), s=sash.sum("x"))
    expected = df
    for lookback in (10, 50):
        over = Window.partitionBy("k").orderBy("t").rangeBetween(1 - lookback, 0)
        expected = expected.withColumn(f"n_{lookback}", F.count("*").over(over))
        expected = expected.withColumn(f"s_{lookback}", F.sum("x").over(over))
    assert sorted(map(str, ours.dataframe().collect())) == sorted(map(str, expected.collect()))
