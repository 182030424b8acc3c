"""Patterns on Spark: the same answer as the reference, whoever computes which window."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings, strategies as st
from pyspark.sql import functions as F

import sash
from sash.aggregation import built_in
from sash.errors import NotCommutative, Unsupported
from sash.operators.patterns.allowed import refusal
from sash.operators.patterns.declared import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.object_aggregates import OBJECTS
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

NUMBERS = {"n": built_in.count(), "s": built_in.sum("x"), "hi": built_in.max("x")}
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
    *,
    drawn: bool = True,
    **options: Any,
) -> None:
    query = sash.stream(df, time="t", key="k").window(window, **options).agg(**names)
    if drawn:
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
    names = OBJECTS if isinstance(inner, WinMapReduce) else ORDERED
    same_as_reference(frame(spark, stream), stream, chosen, window, names, flush=flush, empty=empty)


@pytest.mark.parametrize(
    ("chosen", "window", "options"),
    [
        (WinFarm(3), sash.session(3), {}),
        (KeyFarm(WinMapReduce(2, 1), replicas=2), sash.slide_by_tuple(6, 2), {"empty": True}),
        (PaneFarm(3, 2), sash.rows(5, every=2), {"flush": False}),
    ],
    ids=str,
)
def test_oracle_windows_that_an_owner_finds_are_shared_whole_and_in_parts(
    spark: SparkSession, chosen: Pattern, window: Window, options: dict[str, Any]
) -> None:
    stream = random_arrivals(len(str(chosen)))
    df = frame(spark, stream).repartition(3).sort("e")
    names = ORDERED if isinstance(chosen, PaneFarm) else OBJECTS
    same_as_reference(df, stream, chosen, window, names, drawn=False, **options)
    query = sash.stream(df, time="t", key="k").window(window, **options).agg(n=sash.count())
    found = query.parallel(chosen).explain("plan")
    same = "WinFarm(3) is planned as WinFarm(3, model='agnostic'), which is the same"
    assert (same if chosen == WinFarm(3) else "put windows together from their parts") in found


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


def random_arrivals(seed: int) -> list[Arrival]:
    rng = random.Random(seed)
    return [
        Arrival(
            None if rng.random() < 0.1 else rng.randrange(40) ** 3,
            rng.choice(["a", "a", "a", "b", None]),
            {"e": number, "x": rng.randrange(9)},
        )
        for number in range(80)
    ]


COUNTED = [sash.rows(4, every=3).named("some"), sash.rows(2, every=5).named("few")]


@pytest.mark.parametrize(
    ("chosen", "names", "stamps"),
    [
        (PaneFarm(2, 2), OBJECTS, False),
        (KeyFarm(WinMapReduce(2, 2), replicas=2), NUMBERS, True),
        (WinFarm(3), ORDERED, False),
        (PaneFarm(2, 2), ORDERED, True),
    ],
    ids=str,
)
def test_oracle_count_windows_are_shared_by_positions(
    spark: SparkSession, chosen: Pattern, names: dict[str, Any], stamps: bool
) -> None:
    """Ties, keys and times that are null, several windows; start and end are times of events."""
    stream = random_arrivals(len(names))
    df = frame(spark, stream).repartition(3).sort("e")
    if stamps:
        df = df.withColumn("t", F.timestamp_micros("t"))
    query = sash.stream(df, time="t", key="k").window(*COUNTED).agg(**names)
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    found = query.parallel(chosen).collect()
    assert found.schema == query.bound.output
    if stamps:
        found = found.set_column(1, "window", _in_microseconds(found["window"]))
    assert rows_of(found, names) == expected_rows(oracle.reports, names, named=True)
    assert "number the events of each key" in query.parallel(chosen).explain("plan")


def _in_microseconds(windows: pa.ChunkedArray) -> pa.Array:
    parts = windows.combine_chunks().flatten()
    names = [field.name for field in windows.type]
    return pa.StructArray.from_arrays(
        [
            part.cast(pa.int64()) if name in ("start", "end") else part
            for name, part in zip(names, parts, strict=True)
        ],
        names,
    )


def test_functions_over_count_windows_are_shared_by_positions_too(spark: SparkSession) -> None:
    df = spark.range(20).selectExpr("id * 10 AS t", "id")
    windowed = sash.stream(df, time="t").window(sash.rows(6, every=4))
    query = windowed.parallel(WinFarm(3)).apply(
        lambda events: {"columns": events.column_names, "ids": events["id"].to_pylist()},
        schema="columns array<string>, ids array<bigint>",
    )
    rows = query.collect().to_pylist()
    assert [row["ids"] for row in rows] == [[*range(a, min(a + 6, 20))] for a in range(0, 20, 4)]
    assert {tuple(row["columns"]) for row in rows} == {("t", "id")}
    assert [(row["window"]["start"], row["window"]["end"]) for row in rows][-2:] == [(120, 170), (160, 190)]


@pytest.mark.parametrize(
    ("chosen", "window", "names", "error", "message"),
    [
        (sash.PaneFarm(2, 2, optimize=0), sash.tumbling(3), NUMBERS, Unsupported, "through a shuffle"),
        (sash.PaneFarm(2, 2), sash.session(3), NUMBERS, Unsupported, "tiled by panes"),
        (
            sash.WinMapReduce(2, 2),
            sash.tumbling(3),
            ORDERED,
            NotCommutative,
            "deals events out round-robin",
        ),
    ],
)
def test_what_spark_cannot_do_of_a_pattern_is_refused_with_the_reason(
    spark: SparkSession, chosen: Pattern, window: Window, names: dict[str, Any], error: Any, message: str
) -> None:
    query = sash.stream(frame(spark, []), time="t", key="k").window(window).agg(**names)
    with pytest.raises(error, match=message):
        query.parallel(chosen)
