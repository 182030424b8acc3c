"""Panes that are folded before events are arranged, against the reference and against events."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.aggregation.kernels.rows.key_and_pane_groups import pane_cells
from sash.aggregation.monoid import Monoid
from sash.operators.bounded_input import answer
from sash.operators.folding.early_panes import Early
from sash.semantics import windows
from sash.semantics.reference import Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.strategies import arrivals
from tests.runtimes.tables import expected_rows, rows_of, table_of

TYPES = {"e": pa.int64(), "x": pa.int64()}
COMMUTE = {
    "n": built_in.count(),
    "nx": built_in.count("x"),
    "s": built_in.sum("x"),
    "hi": built_in.max("x"),
    "mean": built_in.mean("x"),
}
small = st.integers(1, 12)
cut_by_the_clock: st.SearchStrategy[Window] = st.one_of(
    st.builds(lambda size, every, origin: windows.time(size, every, origin=origin), small, small, small),
    st.builds(lambda step, steps: windows.cumulate(step * steps, step), small, st.integers(1, 4)),
)


def always(*, workers: int = 2, block: int = 5) -> Early:
    return Early(workers, block=block, least=0, gain=0.0)


@settings(max_examples=150, deadline=None)
@given(
    window_list=st.lists(cut_by_the_clock, min_size=1, max_size=3),
    stream=arrivals(),
    empty=st.booleans(),
    flush=st.booleans(),
    delay=st.integers(0, 10),
    workers=st.integers(1, 3),
    block=st.integers(1, 50),
)
def test_oracle_panes_first_answer_as_the_reference_does(
    window_list: list[Window], stream: list, empty: bool, flush: bool, delay: int, workers: int, block: int
) -> None:
    named = [window.named(f"w{number}") for number, window in enumerate(window_list)]
    table = table_of(stream, TYPES)
    query = (
        sash.stream(table, time="t", key="k", delay=delay)
        .window(*named, empty=empty, flush=flush)
        .agg(**COMMUTE)
    )
    computed = answer(query.bound, table, early=always(workers=workers, block=block))
    oracle = evaluate(query.bound.query, [Batch(tuple(stream))])
    expected = expected_rows(oracle.reports, COMMUTE, named=len(named) > 1)
    assert rows_of(computed.reports, COMMUTE) == expected
    assert computed.late["e"].to_pylist() == [one.arrival.values["e"] for one in oracle.late]


def many(events: int) -> pa.Table:
    random = np.random.default_rng(5)
    return pa.table(
        {
            "t": random.integers(0, 1_000, events),
            "a": random.integers(0, 3, events),
            "b": pa.array(random.choice(["x", "y"], events)),
            "x": random.normal(size=events),
        }
    )


def test_differential_the_public_way_folds_early_under_every_pattern_but_agnostic_farms() -> None:
    table = many(1_200_000)
    query = (
        sash.stream(table, time="t", key=["a", "b"])
        .window(sash.sliding(100, every=50))
        .agg(n=sash.count(), s=sash.sum("x"), sd=sash.stddev("x"), lo=sash.min("x"))
    )
    assert Early(2).fold(query.bound, table, table["t"].to_numpy()) is not None
    assert "as they stand" in query.explain("plan")
    agnostic = query.parallel(sash.WinFarm(2, model="agnostic"))
    assert "as they stand" not in agnostic.explain("plan")
    plain = agnostic.collect()
    patterns = (
        sash.WinSeq(),
        sash.KeyFarm(2),
        sash.WinFarm(2),
        sash.PaneFarm(2, 1),
        sash.WinMapReduce(3, 2),
    )
    for early in (query.collect(), *(query.parallel(pattern).collect() for pattern in patterns)):
        exact = ["a", "b", "window", "n", "lo"]
        assert early.select(exact).equals(plain.select(exact))
        for name in ("s", "sd"):
            np.testing.assert_allclose(early[name], plain[name], rtol=1e-12, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(-30, 30)), max_size=40),
    origin=st.integers(-5, 5),
    length=st.integers(1, 20),
)
def test_oracle_cells_are_the_pairs_of_slot_and_pane(rows: list, origin: int, length: int) -> None:
    slots, times = np.array(rows, np.int64).reshape(-1, 2).T
    found = pane_cells(slots, times, origin=origin, length=length)
    if found is None:  # more cells than a table should have
        return
    codes, firsts = found
    pairs = [(slot, (time - origin) // length) for slot, time in rows]
    assert [pairs[row] for row in firsts] == list(dict.fromkeys(pairs))
    assert [pairs[firsts[code]] for code in codes] == pairs


def test_the_answer_does_not_depend_on_how_many_threads_fold() -> None:
    table = many(20_000)
    bound = sash.stream(table, time="t", key="b").window(sash.tumbling(100)).agg(s=sash.sum("x")).bound
    one, *others = (
        answer(bound, table, early=always(workers=workers, block=1_000)).reports for workers in (1, 2, 5)
    )
    assert all(other.equals(one) for other in others)


@pytest.mark.parametrize(
    ("window", "aggregate"),
    [
        (windows.rows(10, every=5), built_in.sum("x")),
        (windows.session(3), built_in.sum("x")),
        (windows.time(10, 5), built_in.last("x")),
        (windows.time(10, 5), built_in.collect("x")),
    ],
    ids=["positions", "sessions", "order", "objects"],
)
def test_what_needs_its_events_is_not_folded_early(window: Window, aggregate: Monoid) -> None:
    table = many(100)
    bound = sash.stream(table, time="t", key="a").window(window).agg(v=aggregate).bound
    assert always().fold(bound, table, table["t"].to_numpy()) is None


def test_events_stay_events_when_they_are_few_or_when_panes_would_hold_few_of_them() -> None:
    table = many(10_000)
    times = table["t"].to_numpy()
    wide = sash.stream(table, time="t").window(sash.tumbling(100)).agg(n=sash.count()).bound
    narrow = sash.stream(table, time="t").window(sash.tumbling(1)).agg(n=sash.count()).bound
    assert Early(2).fold(wide, table, times) is None
    assert Early(2, least=1_000).fold(wide, table, times) is not None
    assert Early(2, least=1_000, gain=100.0).fold(narrow, table, times) is None
