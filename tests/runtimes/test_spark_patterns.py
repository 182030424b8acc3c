"""Patterns on Spark: the same answer as the reference, whoever computes which window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import NotCommutative, Unsupported
from sash.operators.patterns.allowed import refusal
from sash.operators.patterns.declared import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

NUMBERS = {"n": built_in.count(), "s": built_in.sum("x"), "hi": built_in.max("x")}
OBJECTS = {"n": built_in.count(), "most": built_in.top_k("x", 2), "kinds": built_in.count_distinct("x")}
ORDERED = NUMBERS | {"held": built_in.collect("e")}
TYPES = {"e": pa.int64(), "x": pa.int64()}

# A failing example is not made smaller here, job by job: the same property without Spark does that.
ONCE = [Phase.explicit, Phase.generate]

degree = st.integers(1, 3)
split = st.one_of(st.builds(PaneFarm, degree, degree), st.builds(WinMapReduce, degree, degree))


def frame(spark: SparkSession, stream: list[Arrival]) -> DataFrame:
    return spark.createDataFrame(table_of(stream, TYPES))


def same_as_reference(
    df: DataFrame,
    stream: list[Arrival],
    chosen: Pattern,
    window: Window,
    names: dict[str, Any],
    **options: Any,
) -> None:
    query = sash.stream(df, time="t", key="k").window(window, **options).agg(**names)
    assume(refusal(chosen, query.bound) is None)
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    reports = query.parallel(chosen).collect()
    assert rows_of(reports, names) == expected_rows(oracle.reports, names, named=False)


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), phases=ONCE)
@given(
    size=st.integers(1, 12), every=st.integers(1, 12), inner=st.one_of(st.just(WinSeq()), split),
    farm=st.sampled_from([KeyFarm, WinFarm, None]), n=degree, stream=arrivals(),
    flush=st.booleans(), empty=st.booleans(),
)  # fmt: skip
def test_oracle_active_workers_on_spark_answer_as_the_reference_does(
    spark: SparkSession,
    size: int,
    every: int,
    inner: Any,
    farm: Any,
    n: int,
    stream: list[Arrival],
    flush: bool,
    empty: bool,
) -> None:
    chosen = inner if farm is None else farm(inner, replicas=n)
    window = sash.sliding(size, every=every, origin=1)
    names = ORDERED if isinstance(inner, WinSeq) else OBJECTS
    same_as_reference(frame(spark, stream), stream, chosen, window, names, flush=flush, empty=empty)


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), phases=ONCE)
@given(
    window=any_window, chosen=st.one_of(
        st.builds(KeyFarm, degree), st.builds(lambda n: WinFarm(n, model="agnostic"), degree)
    ), stream=arrivals(), empty=st.booleans(),
)  # fmt: skip
def test_oracle_any_window_can_be_farmed_out_by_key_or_to_agnostic_workers(
    spark: SparkSession, window: Window, chosen: Pattern, stream: list[Arrival], empty: bool
) -> None:
    same_as_reference(frame(spark, stream), stream, chosen, window, ORDERED, empty=empty)


def test_the_windows_of_one_key_are_computed_by_all_agnostic_workers(spark: SparkSession) -> None:
    def where(events: pa.Table) -> dict[str, int]:
        from pyspark import TaskContext

        return {"task": TaskContext.get().partitionId(), "n": events.num_rows}

    df = spark.range(100).selectExpr("id AS t", "1 AS k")
    query = (
        sash.stream(df, time="t", key="k")
        .window(sash.rows(10, every=5))
        .parallel(sash.WinFarm(3, model="agnostic"))
        .apply(where, schema="task bigint, n bigint")
    )
    rows = query.collect().to_pylist()
    assert [row["window"]["id"] for row in rows] == list(range(20))
    assert [row["n"] for row in rows] == [10] * 19 + [5]
    assert {row["task"] for row in rows} == {0, 1, 2}
    assert "whatever the key" in query.explain("plan")


def test_each_worker_of_a_window_farm_has_all_events_of_its_windows_in_order(spark: SparkSession) -> None:
    # Worker 0 has windows 0 and 2, worker 1 has window 1; every window sees all of its own events:
    #     window 0: [0, 10)    window 1: [10, 20)    window 2: [20, 30)
    def seen(events: pa.Table) -> dict[str, list[int]]:
        return {"t": events["t"].to_pylist()}

    df = spark.range(30).selectExpr("id AS t")
    query = (
        sash.stream(df, time="t")
        .window(sash.tumbling(10))
        .parallel(sash.WinFarm(2))
        .apply(seen, schema="t array<bigint>")
    )
    assert query.collect()["t"].to_pylist() == [[*range(a, a + 10)] for a in (0, 10, 20)]


@pytest.mark.parametrize(
    ("chosen", "window", "names", "error", "message"),
    [
        (sash.WinFarm(2), sash.rows(3), NUMBERS, Unsupported, "these known from the row alone"),
        (sash.PaneFarm(2, 2), sash.rows(3), NUMBERS, Unsupported, "over time or cumulate windows"),
        (sash.PaneFarm(2, 2), sash.tumbling(3), ORDERED, NotCommutative, "before they are in order"),
    ],
)
def test_what_spark_cannot_do_of_a_pattern_is_refused_with_the_reason(
    spark: SparkSession, chosen: Pattern, window: Window, names: dict[str, Any], error: Any, message: str
) -> None:
    query = sash.stream(frame(spark, []), time="t", key="k").window(window).agg(**names)
    with pytest.raises(error, match=message):
        query.parallel(chosen)
