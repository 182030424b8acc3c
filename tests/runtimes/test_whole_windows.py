"""Whole windows handed to a user's function, against the extents of the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings

import sash
from sash.aggregation import built_in
from sash.errors import ArgumentError, PredicateError, Unsupported
from sash.semantics.event import Row
from sash.semantics.query import Query
from sash.semantics.reference import Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HELD = {"held": built_in.collect("e")}
TABLE = pa.table({"t": [1, 2, 6], "x": [10, 20, 30]})


@settings(max_examples=100, deadline=None)
@given(window=any_window, stream=arrivals())
def test_oracle_apply_and_fold_see_the_events_of_each_window_in_order(window: Window, stream: list) -> None:
    windowed = sash.stream(table_of(stream, {"e": pa.int64(), "x": pa.int64()}), time="t", key="k").window(
        window
    )
    oracle = evaluate(Query((window,), HELD), [Batch(tuple(stream))])
    expected = expected_rows(oracle.reports, HELD, named=False)
    schema = "held array<bigint>"
    applied = windowed.apply(lambda events: {"held": events["e"].to_pylist()}, schema=schema)
    folded = windowed.fold([], lambda held, row: [*held, row.e], schema=schema)
    assert rows_of(applied.collect(), HELD) == expected
    assert rows_of(folded.collect(), HELD) == expected


def test_a_function_may_answer_with_no_row_or_with_several() -> None:
    query = (
        sash.stream(TABLE, time="t")
        .window(sash.tumbling(5))
        .apply(lambda events: [{"x": x} for x in events["x"].to_pylist() if x < 30], schema="x bigint")
    )
    rows = query.collect().to_pylist()
    assert [(row["window"]["id"], row["x"]) for row in rows] == [(0, 10), (0, 20)]


def test_a_fold_begins_anew_in_every_window_also_when_its_start_is_mutable() -> None:
    def keep(seen: list[int], row: Row) -> list[int]:
        seen.append(row.x)
        return seen

    windowed = sash.stream(TABLE, time="t").window(sash.tumbling(5))
    for init in ([], list):
        rows = windowed.fold(init, keep, schema="xs array<bigint>").collect()
        assert rows["xs"].to_pylist() == [[10, 20], [30]]


def test_a_fold_may_answer_with_a_tuple_or_a_dict() -> None:
    windowed = sash.stream(TABLE, time="t").window(sash.tumbling(5))
    as_tuple = windowed.fold((0, 0), lambda a, row: (a[0] + 1, a[1] + row.x), schema="n bigint, s bigint")
    as_dict = windowed.fold(
        {"n": 0, "s": 0}, lambda a, row: {"n": a["n"] + 1, "s": a["s"] + row.x}, schema="n bigint, s bigint"
    )
    assert as_tuple.collect().to_pylist() == as_dict.collect().to_pylist()
    assert as_tuple.collect()["s"].to_pylist() == [30, 30]


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (lambda events: 1 / 0, r"ZeroDivisionError.*id 0 and 2 events with the columns \['t', 'x'\]"),
        (lambda events: 7, "not a dict, a list of dicts or a table"),
        (lambda events: {"y": 1}, r"must return the columns \['x'\]; got \['y'\]"),
        (lambda events: {"x": "seven"}, "does not fit the schema"),
    ],
)
def test_a_function_that_fails_is_reported_with_its_window(fn, message: str) -> None:
    query = sash.stream(TABLE, time="t").window(sash.tumbling(5)).apply(fn, schema="x bigint")
    with pytest.raises(PredicateError, match=message):
        query.collect()


def test_what_cannot_work_is_refused_when_the_query_is_built() -> None:
    windowed = sash.stream(TABLE, time="t").window(sash.tumbling(5))
    with pytest.raises(ArgumentError, match="fn must be a function"):
        windowed.apply("mean", schema="x bigint")
    with pytest.raises(ArgumentError, match="'decimal' is none"):
        windowed.apply(len, schema="x decimal")
    with pytest.raises(ArgumentError, match="name type"):
        windowed.apply(len, schema="x")
    with pytest.raises(ArgumentError, match="the output already has a column"):
        windowed.apply(len, schema="window bigint")
    with pytest.raises(Unsupported, match="slide_by_tuple"):
        sash.stream(TABLE, time="t").rolling(5).apply(len, schema="x bigint")


@pytest.mark.spark
def test_whole_windows_work_on_spark(spark: SparkSession) -> None:
    df = spark.range(20).selectExpr("id AS t", "id % 2 AS k", "CAST(id AS DOUBLE) AS x")
    query = (
        sash.stream(df, time="t", key="k")
        .window(sash.rows(5))
        .apply(
            lambda events: {"spread": events["x"][-1].as_py() - events["x"][0].as_py()},
            schema="spread double",
        )
    )
    assert query.collect()["spread"].to_pylist() == [8.0] * 4
    assert "whole windows" in query.explain("plan")
