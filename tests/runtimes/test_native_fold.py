"""Panes and windows that Spark's generated code folds, against the reference and the in-process runtime."""

# ruff: noqa: N805 (a monoid's functions have no self)

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import ArgumentError
from sash.semantics import windows
from sash.semantics.condition import condition
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.aggregation import values_of_monoids
from tests.runtimes.strategies import arrivals, shift, small
from tests.runtimes.tables import expected_rows, rows_of, table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

CLOCK_WINDOWS = st.one_of(
    st.builds(lambda size, origin: windows.time(size, size, origin=origin), small, shift),
    st.builds(lambda size, every, origin: windows.time(size, every, origin=origin), small, small, shift),
    st.builds(
        lambda step, steps: windows.cumulate(step * steps, step), st.integers(1, 4), st.integers(1, 4)
    ),
)
FLOATS = [0.0, -0.0, 0.5, 1.0, -2.25, 1e9, math.inf, math.nan, None, 3.0]
AGGREGATES = {
    "n": sash.count(),
    "known": built_in.count("x", "v"),
    "s": sash.sum("x"),
    "low": sash.min("x"),
    "high": sash.max("x"),
    "mean": sash.mean("x"),
    "spread": sash.stddev("x"),
    "fs": sash.sum("v"),
    "flow": sash.min("v"),
    "fhigh": sash.max("v"),
    "fmean": sash.mean("v"),
    "var": sash.variance("v"),
    "width": sash.range("v"),
    "some": sash.sum("x", where="v >= 1 and x != 3"),
    "odd": sash.count(where="v != 1.0 or x == None"),
    "same": sash.count("v", where="v == v"),
}


def _with_floats(stream: list[Arrival]) -> list[Arrival]:
    floats = [FLOATS[(arrival.values["x"] or arrival.values["e"]) % len(FLOATS)] for arrival in stream]
    return [
        replace(arrival, values={**arrival.values, "v": v})
        for arrival, v in zip(stream, floats, strict=True)
    ]


def _folded_by(query: Any) -> str:
    return str(json.loads(query.explain("json"))["algorithm"]["name"])


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12) or (one != one and other != other)
    return bool(one == other)


def _assert_same(rows: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    assert [row[:5] for row in rows] == [row[:5] for row in expected]
    for row, wanted in zip(rows, expected, strict=True):
        assert all(map(_same, row, wanted)), (row, wanted)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(window_list=st.lists(CLOCK_WINDOWS, min_size=1, max_size=2), stream=arrivals(), data=st.data())
def test_oracle_what_spark_folds_is_what_the_reference_folds(
    spark: SparkSession, window_list: list[Window], stream: list[Arrival], data: st.DataObject
) -> None:
    stream = _with_floats(stream)
    empty, flush = data.draw(st.booleans()), data.draw(st.booleans())
    named = [window.named(f"w{number}") for number, window in enumerate(window_list)]
    df = spark.createDataFrame(table_of(stream, {"x": pa.int32(), "v": pa.float64()}))
    windowed = sash.stream(df, time="t", key="k").window(*named, empty=empty, flush=flush)
    names = data.draw(st.lists(st.sampled_from(list(AGGREGATES)), min_size=1, max_size=5, unique=True))
    aggregates = {name: AGGREGATES[name] for name in names}
    query = windowed.agg(**aggregates)
    assert _folded_by(query) in ("windows in SQL", "panes in SQL, then one pass over panes")
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    _assert_same(
        rows_of(query.collect(), aggregates),
        expected_rows(oracle.reports, aggregates, named=len(named) > 1),
    )


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.range(600).selectExpr(
        "timestamp_micros(id * 700001 - 5000000) AS ts",
        "CAST(timestamp_micros(id * 700001 - 5000000) AS TIMESTAMP_NTZ) AS local",
        "CAST(id - 300 AS SMALLINT) AS tick", "id % 3 AS k", "CAST(id % 2 AS DOUBLE) - 0.0D AS zero",
        "id AS x", "CAST(id / 3 AS FLOAT) AS v", "id % 7 = 0 AS b",
        "date_add(DATE'1969-12-01', INT(id)) AS day", "IF(id % 2 = 0, 'it\\'s \\\\', NULL) AS w",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("time", "key"), [("ts", ()), ("local", "k"), ("tick", "zero"), ("ts", "w"), ("ts", ("b", "day"))]
)
@pytest.mark.parametrize("tumbling", [True, False])
def test_types_and_values_are_those_of_the_in_process_runtime(
    events: DataFrame, time: str, key: Any, tumbling: bool
) -> None:
    size, every = (30, 10) if time == "tick" else ("30 seconds", "10 seconds")
    window = sash.tumbling(size) if tumbling else sash.sliding(size, every=every)
    word = "it's \\"
    where = condition(lambda row: (row.w == word) & (row.b == False))  # noqa: E712
    aggregates = {
        "at": sash.max(time), "from": sash.min("day"), "any": sash.max("b"), "v": sash.max("v"),
        "m": sash.mean("v"), "s": sash.sum("x", where=where),
    }  # fmt: skip
    query = sash.stream(events, time=time, key=key).window(window).agg(**aggregates)
    assert _folded_by(query).startswith("windows in SQL" if tumbling else "panes in SQL")
    local = sash.stream(events.toArrow(), time=time, key=key).window(window).agg(**aggregates)
    ours, expected = query.collect(), local.collect()
    assert ours.schema.equals(query.bound.output)
    assert (
        query.dataframe().schema.simpleString()
        == query.parallel(sash.WinFarm(2)).dataframe().schema.simpleString()
    )
    assert ours.num_rows == expected.num_rows
    for row, wanted in zip(ours.to_pylist(), expected.to_pylist(), strict=True):
        assert row.keys() == wanted.keys()
        assert all(_same(row[name], wanted[name]) for name in row), (row, wanted)


def _physical(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().executedPlan().toString())


def test_no_row_of_a_tumbling_window_crosses_to_python(events: DataFrame) -> None:
    stream = sash.stream(events, time="ts", key="k")
    tumbling = stream.window(sash.tumbling("10 seconds"))
    assert "InArrow" not in _physical(tumbling.agg(n=sash.count(), s=sash.sum("x")).dataframe())
    held = _physical(tumbling.agg(n=sash.count(), first=sash.first("x")).dataframe())
    assert "InArrow" in held
    assert "HashAggregate" not in held


@pytest.mark.parametrize("every", [10, 5])
def test_an_integer_sum_is_exact_or_refused(spark: SparkSession, every: int) -> None:
    def total(*values: int) -> Any:
        df = spark.createDataFrame([(1, value) for value in values], "t long, x long")
        window = sash.sliding(10, every=every, origin=0)
        return sash.stream(df, time="t").window(window).agg(s=sash.sum("x"), m=sash.mean("x"))

    top = 2**63 - 1
    for values in ([top, 1, -1], [-top - 1, top], [top], [-top - 1]):
        rows = total(*values).collect().to_pylist()
        assert {(row["s"], row["m"]) for row in rows} == {(sum(values), sum(values) / len(values))}
    with pytest.raises(Exception, match="an integer sum does not fit in 64 bits"):
        total(top, 1).collect()


def test_a_time_that_is_too_far_away_is_refused(spark: SparkSession) -> None:
    df = spark.createDataFrame([(2**61 + 1, 1)], "t long, x long")
    with pytest.raises(Exception, match=r"times must lie within ±2\*\*61; got 2305843009213693953"):
        sash.stream(df, time="t").window(sash.tumbling(10)).agg(s=sash.sum("x")).collect()


@pytest.mark.parametrize("every", [10, 5])
def test_exact_sums_of_floats_are_compensated_in_python(spark: SparkSession, every: int) -> None:
    df = spark.createDataFrame([(1, v) for v in (1e16, 1.0, -1e16)], "t long, v double").coalesce(1)
    windowed = sash.stream(df, time="t").window(sash.sliding(10, every=every))
    query = windowed.agg(s=sash.sum("v", exact=True), m=sash.mean("v", exact=True))
    assert _folded_by(query) == "panes, then one pass over panes"
    assert "in Python workers, because s: sum(v, exact=True) has no form in SQL" in query.explain("plan")
    assert {(row["s"], row["m"]) for row in query.collect().to_pylist()} == {(1.0, 1 / 3)}
    assert {row["s"] for row in windowed.agg(s=sash.sum("v")).collect().to_pylist()} == {0.0}


def test_a_key_with_a_collation_is_left_to_python(spark: SparkSession) -> None:
    df = spark.sql("SELECT k COLLATE UTF8_LCASE AS k, 1 AS t FROM VALUES ('a'), ('A') AS v(k)")
    query = sash.stream(df, time="t", key="k").window(sash.tumbling(10)).agg(n=sash.count())
    assert "k is compared by a collation in SQL" in query.explain("plan")
    assert sorted(query.collect()["k"].to_pylist()) == ["A", "a"]


def test_arithmetic_in_a_condition_is_left_to_python(events: DataFrame) -> None:
    windowed = sash.stream(events, time="ts").window(sash.tumbling("1 minute"))
    query = windowed.agg(n=sash.count(where="x % 2 == 1"))
    assert "where=(x % 2) == 1 means something else in SQL" in query.explain("plan")
    assert sum(query.collect()["n"].to_pylist()) == 300


def test_panes_that_are_no_fewer_than_rows_are_not_folded(events: DataFrame) -> None:
    windowed = sash.stream(events, time="ts", key="x").window(sash.sliding("1 minute", every="1 second"))
    query = windowed.agg(n=sash.count()).parallel(sash.Auto(sample=True, rows=600))
    assert "would not be fewer rows" in query.explain("plan")


Vwap = sash.monoid(commutative=True, sql=("sum({0} * {1})", "sum({1})"))(values_of_monoids.Vwap)


def test_a_users_monoid_may_have_a_form_in_sql(events: DataFrame) -> None:
    windowed = sash.stream(events, time="ts", key="k").window(sash.tumbling("1 minute"))
    aggregates = {"p": Vwap("v", "x"), "some": Vwap("v", "x", where="x > 50")}
    query = windowed.agg(**aggregates)
    assert _folded_by(query) == "panes in SQL, then one pass over panes"
    local = sash.stream(events.toArrow(), time="ts", key="k").window(sash.tumbling("1 minute"))
    ours, expected = query.collect(), local.agg(**aggregates).collect()
    for name in aggregates:
        assert all(map(_same, ours[name].to_pylist(), expected[name].to_pylist()))


@pytest.mark.parametrize(
    ("properties", "match"),
    [
        ({"sql": ("sum({0})",), "commutative": True}, "2 expressions, one for each field of an element"),
        ({"sql": ("sum({0})", "sum({1})")}, "commutative=True"),
        ({"sql": "sum({0})", "commutative": True}, "2 expressions"),
    ],
)
def test_a_form_that_does_not_fit_its_monoid_is_refused(properties: dict[str, Any], match: str) -> None:
    with pytest.raises(ArgumentError, match=match):

        @sash.monoid(**properties)
        class _Pair:
            def identity():
                return (0.0, 0.0)

            def lift(x, y):
                return (x, y)

            def combine(a, b):
                return (a[0] + b[0], a[1] + b[1])
