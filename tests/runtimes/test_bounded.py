"""A bounded input in process, against the reference evaluated over one batch."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import ArgumentError, DataError, UnitError, UnknownColumn, Unsupported
from sash.semantics.event import Order
from sash.semantics.reference import Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.strategies import any_window, arrivals, lifetimes
from tests.runtimes.tables import expected_rows, rows_of, table_of

TYPES = {"e": pa.int64(), "x": pa.int64()}
AGGREGATES = {
    "n": built_in.count(),
    "nx": built_in.count("x"),
    "s": built_in.sum("x"),
    "held": built_in.collect("e"),
}


@settings(max_examples=300, deadline=None)
@given(
    window_list=st.lists(st.one_of(any_window, lifetimes), min_size=1, max_size=3),
    stream=arrivals(),
    empty=st.booleans(),
    flush=st.booleans(),
    delay=st.integers(0, 10),
    arrival=st.booleans(),
)
def test_oracle_a_bounded_input_is_answered_as_the_reference_answers_one_batch(
    window_list: list[Window], stream: list, empty: bool, flush: bool, delay: int, arrival: bool
) -> None:
    named = [window.named(f"w{number}") for number, window in enumerate(window_list)]
    arrival = arrival and all(Order.ARRIVAL in window.orders for window in named)
    order, delay = ("arrival", 0) if arrival else ("event-time", delay)
    query = (
        sash.stream(table_of(stream, TYPES), time="t", key="k", delay=delay, order=order)
        .window(*named, empty=empty, flush=flush)
        .agg(**AGGREGATES)
    )
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    named_windows = len(named) > 1
    assert rows_of(query.collect(), AGGREGATES) == expected_rows(
        oracle.reports, AGGREGATES, named=named_windows
    )
    if flush:
        late = sorted(
            (entry.arrival.values["e"], entry.reason, entry.window or "") for entry in oracle.late
        )
        shown = query.late().collect().to_pylist()
        assert sorted((row["e"], row["late_reason"], row["late_window"] or "") for row in shown) == late


def test_collect_orders_rows_by_key_then_window_then_identifier() -> None:
    table = pa.table({"k": ["b", "a", "b"], "t": [5, 1, 0], "x": [1, 2, 3]})
    rows = sash.stream(table, time="t", key="k").window(sash.tumbling(5)).agg(n=sash.count()).collect()
    assert [(row["k"], row["window"]["id"]) for row in rows.to_pylist()] == [("a", 0), ("b", 0), ("b", 1)]


def test_pandas_in_gives_pandas_out_and_polars_polars() -> None:
    import polars

    table = pa.table({"t": pa.array([dt.datetime(2026, 1, 1)], pa.timestamp("us")), "x": [1.5]})
    window = sash.tumbling("1 hour")
    for frame, kind in ((table.to_pandas(), "pandas"), (polars.from_arrow(table), "polars")):
        out = sash.stream(frame, time="t").window(window).agg(s=sash.sum("x")).dataframe()
        assert type(out).__module__.startswith(kind)
        assert out["s"].to_list() == [1.5]


def test_categories_of_pandas_are_keys_like_their_values() -> None:
    import pandas as pd

    keys = pd.Categorical(["b", None, "b", "a"], categories=["unused", "a", "b"])
    frame = pd.DataFrame({"t": [1, 2, 3, 4], "k": keys})
    out = sash.stream(frame, time="t", key="k").window(sash.tumbling(10)).agg(n=sash.count()).collect()
    assert {(row["k"], row["n"]) for row in out.to_pylist()} == {("a", 1), ("b", 2), (None, 1)}


def test_no_key_means_one_key_for_all() -> None:
    table = pa.table({"t": [1, 2, 3]})
    out = sash.stream(table, time="t").window(sash.rows(2)).agg(n=sash.count()).collect()
    assert out.column_names == ["window", "n"]
    assert out["n"].to_pylist() == [2, 1]


def test_an_empty_input_has_no_windows_and_the_right_columns() -> None:
    table = pa.table({"t": pa.array([], pa.int64()), "x": pa.array([], pa.float64())})
    out = sash.stream(table, time="t").window(sash.tumbling(5)).agg(s=sash.sum("x")).collect()
    assert out.num_rows == 0
    assert out.schema.field("s").type == pa.float64()


def test_a_revision_column_appears_only_where_reports_can_be_corrected() -> None:
    table = pa.table({"t": [1]})
    plain = sash.stream(table, time="t").window(sash.tumbling(5)).agg(n=sash.count())
    corrected = (
        sash.stream(table, time="t", allowed_lateness=5).window(sash.tumbling(5)).agg(n=sash.count())
    )
    assert "revision" not in plain.collect().column_names
    assert corrected.collect()["revision"].to_pylist() == [0]


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda s: s(time="ts"), UnknownColumn, "Did you mean 't'"),
        (lambda s: s(time="name"), Unsupported, "a timestamp or an integer column"),
        (lambda s: s(time="t", key="kk"), UnknownColumn, "key: there is no column"),
        (lambda s: s(time="t", order="sideways"), ArgumentError, "'event-time' or 'arrival'"),
        (lambda s: s(time="t", delay=-1), ArgumentError, "delay must be zero or longer"),
        (lambda s: s(time=3), ArgumentError, "the name of a column"),
    ],
)
def test_a_stream_that_cannot_work_is_refused_when_it_is_built(build, error, message: str) -> None:
    table = pa.table({"t": [1], "x": [1.0], "name": ["a"], "k": ["b"]})
    with pytest.raises(error, match=message):
        build(lambda **named: sash.stream(table, **named)).window(sash.rows(2)).agg(n=sash.count())


@pytest.mark.parametrize(
    ("window", "aggregates", "error", "message"),
    [
        (
            sash.tumbling("1 hour"),
            {"n": sash.count()},
            UnitError,
            "For this column write integers",
        ),
        (sash.rows(2), {}, ArgumentError, "at least one aggregate"),
        (sash.rows(2), {"n": "sum"}, ArgumentError, "an aggregate such as"),
        (sash.rows(2), {"window": sash.count()}, ArgumentError, "the output already has a column"),
        (sash.rows(2), {"s": sash.sum("y")}, UnknownColumn, "s = sum\\('y'\\): there is no column 'y'"),
        (sash.delta("y", 1, 1), {"n": sash.count()}, UnknownColumn, "there is no column"),
        (sash.rows(2), {"s": sash.sum("name")}, Unsupported, "sum"),
    ],
)
def test_a_query_that_cannot_work_is_refused_when_it_is_built(
    window, aggregates, error, message: str
) -> None:
    table = pa.table({"t": [1], "x": [1.0], "name": ["a"]})
    with pytest.raises(error, match=message):
        sash.stream(table, time="t").window(window).agg(**aggregates)


def test_what_is_not_a_table_is_refused_by_name() -> None:
    with pytest.raises(
        ArgumentError, match="a PySpark DataFrame, an Arrow table, a pandas or polars frame, or an iterator"
    ):
        sash.stream({1, 2, 3}, time="t")


def test_early_reports_of_a_bounded_input_are_refused() -> None:
    with pytest.raises(Unsupported, match="'close' for a bounded input"):
        sash.stream(pa.table({"t": [1]}), time="t").window(sash.tumbling(5), emit="change").agg(
            n=sash.count()
        )


def test_times_that_window_arithmetic_could_not_hold_are_refused() -> None:
    query = sash.stream(pa.table({"t": [2**62]}), time="t").window(sash.tumbling(5)).agg(n=sash.count())
    with pytest.raises(DataError, match="within"):
        query.collect()


def test_timestamps_of_any_unit_and_zone_are_microseconds() -> None:
    stamps = [dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(2026, 1, 1)]
    for type_ in (pa.timestamp("ms"), pa.timestamp("ns"), pa.timestamp("us", "Europe/Rome")):
        table = pa.table({"t": pa.array(stamps, pa.timestamp("us")).cast(type_)})
        out = sash.stream(table, time="t").window(sash.tumbling("1 second")).agg(n=sash.count()).collect()
        assert [row["id"] for row in out["window"].to_pylist()] == [-1, 1767225600]
        assert out["window"].type.field("start").type == pa.timestamp("us", type_.tz)


def test_explain_says_what_the_windows_mean_and_how_they_are_computed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    query = (
        sash.stream(pa.table({"t": [1]}), time="t").window(sash.sliding(10, every=5)).agg(n=sash.count())
    )
    text = query.explain("plan")
    assert capsys.readouterr().out.strip() == text
    assert "E(w) = { τ : w·(5) ≤ τ < w·(5) + 10 }" in text
    assert "context-free" in text
    assert repr(query) == "<sash query: sliding(10, every=5) over t → n = count()>"
