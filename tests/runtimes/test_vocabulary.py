"""Smoothing, counters, histograms and last n over windows, against the reference."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import UnitError, UnknownColumn, Unsupported
from sash.operators.folding.panes import Panes
from sash.semantics.reference import Batch, evaluate
from tests.aggregation.kernel_monoids import MACHINE_CODE
from tests.runtimes.strategies import any_window, arrivals, lifetimes
from tests.runtimes.tables import expected_rows, rows_of, table_of

AGGREGATES = {
    "by_events": built_in.ewm("x", alpha=0.3),
    "by_time": built_in.ewm("x", half_life=4, by="time", where="x != 5"),
    "grown": built_in.increase("x"),
    "pace": built_in.rate("x", where="x > 1"),
    "kinds": built_in.count_distinct("x"),
    "counts": built_in.histogram("x", edges=[0, 3, 9], where="e != 4"),
    "many": built_in.histogram("x", edges=range(20)),
    "bins": built_in.histogram("x", bins=3),
    "tails": built_in.kurtosis("x"),
    "latest": built_in.last("x", 3),
    "first": built_in.first("x", 2, distinct=True),
}


def alike(one: Any, two: Any) -> bool:
    """Equal, but for the last bits of floats; a tuple of the reference is a list or a struct in a table."""
    if isinstance(one, dict):
        one = list(one.values())
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(alike, one, two))
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == two)


@settings(max_examples=150, deadline=None)
@given(
    window_list=st.lists(st.one_of(any_window, lifetimes), min_size=1, max_size=2),
    stream=arrivals(),
    number=st.sampled_from([int, float]),
)
def test_oracle_they_are_computed_as_the_reference_defines_them(
    window_list: list, stream: list, number: type
) -> None:
    named = [window.named(f"w{number}") for number, window in enumerate(window_list)]
    stream = [
        replace(
            one, values={**one.values, "x": None if one.values["x"] is None else number(one.values["x"])}
        )
        for one in stream
    ]
    table = table_of(stream, {"e": pa.int64(), "x": pa.int64() if number is int else pa.float64()})
    query = sash.stream(table, time="t", key="k").window(*named).agg(**AGGREGATES)
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    found = sorted(rows_of(query.collect(), AGGREGATES), key=lambda row: repr(row[:5]))
    expected = expected_rows(oracle.reports, AGGREGATES, named=len(named) > 1)
    assert alike(found, sorted(expected, key=lambda row: repr(row[:5])))


def counter(type_: pa.DataType) -> pa.Table:
    start = dt.datetime(2026, 1, 1)
    seconds = [0, 10, 20, 50, 60]
    stamps = pa.array([start + dt.timedelta(seconds=s) for s in seconds], pa.timestamp("us"))
    return pa.table({"when": stamps.cast(type_), "x": [5, 15, 3, 9, 12]})


@pytest.mark.parametrize(
    "type_",
    [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "Europe/Rome"), pa.timestamp("ns")],
    ids=str,
)
def test_the_time_of_events_is_read_from_the_column_that_the_stream_names(type_: pa.DataType) -> None:
    stream = sash.stream(counter(type_), time="when").window(sash.tumbling("2 minutes"))
    query = stream.agg(
        pace=sash.rate("x"), smooth=sash.ewm("x", half_life="10 seconds"), grown=sash.increase("x")
    )
    (row,) = query.collect().to_pylist()
    assert row["grown"] == 10 + 3 + 6 + 3
    assert row["pace"] == 22 / 60
    weights = [2.0 ** (-(60 - s) / 10) for s in (0, 10, 20, 50, 60)]
    values = [5, 15, 3, 9, 12]
    expected = sum(w * x for w, x in zip(weights, values, strict=True)) / sum(weights)
    assert math.isclose(row["smooth"], expected, rel_tol=1e-12)
    assert query.bound.aggregates["pace"].columns == ("x", "when")
    assert "pace: rate(x, when)" in query.explain("plan")
    assert "smooth: ewm(x, when, half_life='10 seconds')" in query.explain("plan")


def test_the_half_life_of_a_stream_of_ticks_is_in_ticks() -> None:
    stream = sash.stream(pa.table({"t": [0, 10], "x": [0.0, 3.0]}), time="t").window(sash.tumbling(100))
    smooth = stream.agg(v=sash.ewm("x", half_life=10, by="time")).collect()
    assert smooth["v"].to_pylist() == [2.0]
    with pytest.raises(UnitError, match=r"half_life must be a number with"):
        stream.agg(v=sash.ewm("x", half_life="10 seconds"))


def test_means_by_time_are_folded_in_panes_and_those_by_events_are_not() -> None:
    stream = sash.stream(counter(pa.timestamp("us")), time="when").window(
        sash.sliding("1 minute", every="10 seconds")
    )
    by_time = stream.agg(
        v=sash.ewm("x", half_life="20 seconds", where="x > 3"), n=sash.count(where="x > 3")
    )
    assert (Panes.of(by_time.bound) is not None) is MACHINE_CODE  # what is interpreted is not worth a pane
    assert Panes.of(stream.agg(v=sash.ewm("x", alpha=0.5)).bound) is None
    whole = by_time.collect().to_pylist()
    farmed = by_time.parallel(sash.PaneFarm(2, 2)).collect().to_pylist()
    assert [row["n"] for row in farmed] == [row["n"] for row in whole]
    assert all(map(alike, (row["v"] for row in farmed), (row["v"] for row in whole)))


def test_every_pattern_gives_the_same_lists_and_counts() -> None:
    stream = sash.stream(counter(pa.timestamp("us")), time="when").window(
        sash.sliding("1 minute", every="10 seconds")
    )
    query = stream.agg(
        latest=sash.last("x", 2),
        counts=sash.histogram("x", edges=[0, 10, 20]),
        kinds=sash.count_distinct("x"),
    )
    expected = query.collect()
    for pattern in (sash.WinFarm(2), sash.PaneFarm(2, 2), sash.KeyFarm(2)):
        assert query.parallel(pattern).collect().equals(expected)


def test_text_and_times_have_first_and_last_values_too() -> None:
    table = pa.table(
        {"t": [1, 2, 3], "s": ["a", "b", "a"], "when": pa.array([7, 8, 9], pa.timestamp("us"))}
    )
    out = (
        sash.stream(table, time="t")
        .window(sash.tumbling(10))
        .agg(s=sash.last("s", 2, distinct=True), when=sash.first("when", 2), kinds=sash.count_distinct("s"))
        .collect()
    )
    assert out.schema.field("when").type == pa.list_(pa.timestamp("us"))
    assert out["s"].to_pylist() == [["b", "a"]]
    assert out["kinds"].to_pylist() == [2]


def test_a_window_without_values_has_the_value_that_spark_gives() -> None:
    table = pa.table({"t": [1], "x": pa.array([None], pa.float64())})
    query = (
        sash.stream(table, time="t")
        .window(sash.tumbling(10))
        .agg(**{name: monoid for name, monoid in AGGREGATES.items() if monoid.where is None})
    )
    row = query.collect().drop(["window"]).to_pylist()[0]
    empty = {"kinds": 0, "many": [0] * 19, "bins": [], "latest": [], "first": []}
    assert row == {**dict.fromkeys(row, None), **empty}


def test_what_cannot_work_is_refused_when_the_query_is_built() -> None:
    stream = sash.stream(pa.table({"t": [1], "s": ["a"]}), time="t").window(sash.tumbling(10))
    with pytest.raises(Unsupported, match="the input of rate"):
        stream.agg(v=sash.rate("s"))
    with pytest.raises(UnknownColumn, match="'s'"):
        stream.agg(v=sash.rate("x"))


def test_a_half_life_of_the_other_kind_of_time_is_named_with_the_reason() -> None:
    table = pa.table({"t": [1], "d": [1.5], "x": [1.0]})
    with pytest.raises(UnitError, match=r"half_life must be a number .* times are integers"):
        sash.stream(table, time="t").window(sash.rows(3)).agg(v=sash.ewm("x", half_life="1 minute"))
    with pytest.raises(Unsupported, match="time must be a timestamp or an integer column; got 'd: double'"):
        sash.stream(table, time="d").window(sash.rows(3)).agg(v=sash.ewm("x", half_life="1 minute"))


def test_a_bloom_filter_of_a_window_can_be_asked() -> None:
    table = pa.table({"t": [1, 2, 11], "card": ["a", "b", "c"]})
    out = sash.stream(table, time="t").window(sash.tumbling(10)).agg(seen=sash.bloom("card")).collect()
    first, second = out["seen"].to_pylist()
    assert sash.might_contain(first, "a")
    assert not sash.might_contain(second, "a")


@pytest.mark.parametrize("type", [pa.float64(), pa.float32(), pa.int32(), pa.decimal128(5, 2)])
def test_a_bloom_filter_is_asked_by_value_whatever_the_type_of_the_column(type: pa.DataType) -> None:
    numbers = pa.array([Decimal(1), Decimal(2)], pa.decimal128(5, 2)).cast(type)
    table = pa.table({"t": [1, 2], "x": numbers})
    (seen,) = sash.stream(table, time="t").window(sash.tumbling(10)).agg(v=sash.bloom("x")).collect()["v"]
    assert all(sash.might_contain(seen.as_py(), x) for x in (1, 1.0, Decimal("1.000"), np.int64(2)))
