"""Windows of thousands of elements: middles are remembered, regions grow, shrink and change hands.

The whole input at once is folded by other kernels, over sorted columns; here it is the definition, because
the reference takes minutes for as many events.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation import built_in
from sash.aggregation.monoid import Monoid
from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.bounded_input import answer
from sash.operators.engine import WindowOperator
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.operators.windows.ranges import Ranges
from sash.semantics import windows
from sash.semantics.query import Query
from tests.runtimes.operator_runtime import Runtime, Way, small_journals

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("x", pa.int64()), ("w", pa.string())])
AGGREGATES = {
    "n": built_in.count(), "s": built_in.sum("x"), "hi": built_in.max("x"), "first": built_in.first("x"),
    "last": built_in.last("x"),
}  # fmt: skip
"""Exact ones, some of which depend on the order."""
OBJECTS = {
    "words": built_in.count_distinct("w"), "least": built_in.min("w"), "all": built_in.collect("x"),
    "about": built_in.distinct("x"), "top": built_in.top_k("x", 3), "n": built_in.count(),
}  # fmt: skip
"""Objects: sets, texts, sketches, and lists that nodes would only hold a second time."""
LOOK_BACKS = tuple(windows.slide_by_tuple(size, 1).named(str(size)) for size in (700, 2_500, 100_000))
QUERIES: dict[str, BoundQuery] = {
    "rolling": BoundRolling(Query(LOOK_BACKS, AGGREGATES), SCHEMA, "t", ("k",)),
    "lifetime": BoundRolling(
        Query((LOOK_BACKS[0], windows.lifetime(), LOOK_BACKS[1]), AGGREGATES), SCHEMA, "t", ("k",)
    ),
    "only lifetime": BoundRolling(Query((windows.lifetime(),), AGGREGATES), SCHEMA, "t", ("k",)),
    **{
        name: BoundQuery(Query((window,), AGGREGATES), SCHEMA, "t", ("k",))
        for name, window in {
            "sliding": windows.time(3_000, 10),
            "rows": windows.rows(900, every=7),
            "slide_by_tuple": windows.slide_by_tuple(3_000, 3),
            "slide_by_time": windows.slide_by_time(800, 25),
        }.items()
    },
    "two": BoundQuery(
        Query((windows.rows(900, every=5), windows.rows(1_400, every=11).named("more")), AGGREGATES),
        SCHEMA,
        "t",
        ("k",),
    ),
}  # fmt: skip


def events(seed: int, count: int) -> pa.Table:
    """In order of time; a key has bursts and silences that are longer than most windows."""
    random = np.random.default_rng(seed)
    burst = np.repeat(random.integers(0, 3, count // 500 + 1), 500)[:count]
    key = np.where(random.random(count) < 0.8, burst, random.integers(0, 6, count))
    gaps = np.where(random.random(count) < 0.002, 2_000, random.integers(0, 2, count))
    value = pa.array(random.integers(-100, 100, count), mask=random.random(count) < 0.05)
    words = pa.array([f"word {number}" for number in random.integers(0, 40, count)])
    return pa.table([pa.array(key), pa.array(np.cumsum(gaps)), value, words], schema=SCHEMA)


def streamed(bound: BoundQuery, table: pa.Table, cuts: Sequence[int], ways: Sequence[Way]) -> pa.Table:
    runtime = Runtime(bound, ways=ways)
    emitted = []
    try:
        for begin, end in pairwise(cuts):
            rows = table.slice(begin, end - begin)
            runtime.operator.insert(rows.select(bound.columns), np.arange(rows.num_rows))
            emitted.append(runtime.operator.advance(rows["t"][-1].as_py() - 1).reports)
            runtime.pause()
        emitted.append(runtime.operator.advance(table["t"][-1].as_py(), flush=True).reports)
    finally:
        runtime.close()
    return pa.concat_tables(emitted)


@settings(max_examples=3)
@given(data=st.data())
def test_objects_have_trees_too(data: st.DataObject) -> None:
    look_backs = tuple(windows.slide_by_tuple(size, 1).named(str(size)) for size in (40, 300))
    bound = BoundRolling(Query(look_backs, OBJECTS), SCHEMA, "t", ("k",))
    table = events(data.draw(st.integers(0, 2**32)), 1_500)
    inner = data.draw(st.lists(st.integers(1, 1_499), min_size=3, max_size=20, unique=True))
    ways = data.draw(st.lists(st.sampled_from(Way), min_size=1, max_size=4))
    with small_journals(data.draw(st.sampled_from([1, 50_000]))):
        found = streamed(bound, table, [0, *sorted(inner), 1_500], ways)
    assert bound.ordered(found).to_pylist() == bound.ordered(answer(bound, table).reports).to_pylist()


def test_a_look_back_without_end_keeps_no_events() -> None:
    query = Query((windows.lifetime(),), AGGREGATES)
    runtime = Runtime(BoundRolling(query, SCHEMA, "t", ("k",)))
    table, sizes = events(3, 8_000), []
    for begin in range(0, 8_000, 1_000):
        rows = table.slice(begin, 1_000)
        runtime.operator.insert(rows.select(runtime.bound.columns), np.arange(1_000))
        runtime.operator.advance(rows["t"][-1].as_py() + 1)
        runtime.pause()
        sizes.append(runtime.operator.size)
    runtime.close()
    assert sizes[-1] == sizes[1]


def lane_with(aggregate: Monoid, values: pa.Array) -> RingLane:
    """Of a window that holds them all."""
    schema = pa.schema([("t", pa.int64()), ("x", values.type)])
    query = Query((windows.rows(len(values) + 1),), {"a": aggregate})
    operator = WindowOperator(BoundQuery(query, schema, "t", ()))
    rows = pa.table([pa.array(np.arange(len(values))), values], schema=schema)
    operator.insert(rows.select(operator.bound.columns), np.arange(len(values)))
    operator.advance(len(values))
    (group,) = operator.groups
    assert isinstance(group.lane, RingLane)
    return group.lane


def steps_of_all(lane: RingLane, count: int) -> int:
    held, one = lane.held(np.zeros(1, np.int64)), np.zeros(1, np.int64)
    whole = Ranges(one, one, one + 3, one + count - 3, one, one, one)
    (aggregate,) = lane.form.aggregates.values()
    return len(lane.steps(held, whole, lengths=lane.nodes[:, aggregate.node + 1])[1])


SPARSE = pa.array([f"word {at}" if at % 20 == 0 else None for at in range(8_000)])


@pytest.mark.parametrize(
    ("aggregate", "values"),
    [
        (built_in.distinct("x"), pa.array(np.arange(8_000))),  # a sketch that is larger at 512 values
        (built_in.count_distinct("x"), pa.array(np.arange(8_000) % 40)),
        (built_in.min("x"), SPARSE),
        (built_in.quantile("x", 0.5), pa.array(np.arange(8_000) / 7)),
    ],
)
def test_a_range_of_objects_has_few_steps(aggregate: Monoid, values: pa.Array) -> None:
    assert steps_of_all(lane_with(aggregate, values), len(values)) <= 80


def test_nodes_do_not_copy_lists() -> None:
    lane = lane_with(built_in.collect("x"), pa.array(np.arange(8_000)))
    assert lane.folds.size <= 3 * 8_000 * 10


@pytest.mark.parametrize("name", ["words", "least"])
def test_a_fold_of_objects_takes_a_logarithm_of_combines(name: str) -> None:
    """A window of 2,000 events that slides by one: folding it from scratch would take 2,000."""
    query = Query((windows.rows(2_000, every=1),), {name: OBJECTS[name]})
    runtime = Runtime(BoundQuery(query, SCHEMA, "t", ("k",)))
    table = events(7, 4_000)
    table = table.set_column(0, "k", pa.array(np.zeros(4_000, np.int64)))
    combines = []
    for begin, end in [(0, 3_900), *((at, at + 1) for at in range(3_900, 4_000))]:
        (group,) = runtime.operator.groups
        assert isinstance(group.lane, RingLane)
        before = group.lane.combines.total()
        rows = table.slice(begin, end - begin).select(runtime.bound.columns)
        runtime.operator.insert(rows, np.arange(rows.num_rows))
        runtime.operator.advance(rows["t"][-1].as_py())
        combines.append(group.lane.combines.total() - before)
        runtime.pause()
    runtime.close()
    assert max(combines[1:]) <= 2 * 8 + 4 * 11


@pytest.mark.parametrize("kind", QUERIES)
@settings(max_examples=4)
@given(data=st.data())
def test_streams_of_long_windows_equal_the_whole_input(kind: str, data: st.DataObject) -> None:
    bound = QUERIES[kind]
    table = events(data.draw(st.integers(0, 2**32)), 12_000)
    inner = data.draw(st.lists(st.integers(1, 11_999), min_size=3, max_size=20, unique=True))
    ways = data.draw(st.lists(st.sampled_from(Way), min_size=1, max_size=4))
    with small_journals(data.draw(st.sampled_from([1, 50_000]))):
        found = streamed(bound, table, [0, *sorted(inner), 12_000], ways)
    expected = bound.ordered(answer(bound, table).reports)
    assert bound.ordered(found).to_pylist() == expected.to_pylist()


def test_the_middle_of_a_long_range_is_folded_once() -> None:
    """One event per batch, which moves both ends of each look-back."""
    bound = QUERIES["rolling"]
    count = 6_000
    ones = pa.array(np.ones(count, np.int64))
    table = pa.table([ones, pa.array(np.arange(count)), ones, ones.cast(pa.string())], schema=SCHEMA)
    runtime = Runtime(bound)
    combines = []
    for begin, end in [(0, 5_000), *((at, at + 1) for at in range(5_000, 5_300))]:
        rows = table.slice(begin, end - begin)
        (group,) = runtime.operator.groups
        assert isinstance(group.lane, RingLane)
        before = group.lane.combines.total()
        runtime.operator.insert(rows.select(bound.columns), np.arange(rows.num_rows))
        runtime.operator.advance(end)
        combines.append(group.lane.combines.total() - before)
        runtime.pause()
    runtime.close()
    # Per aggregate and look-back: at most 7 elements and 3 nodes on either side, and the middle; the middle
    # itself and the nodes that become complete are paid now and then.
    assert np.mean(combines[1:]) <= len(AGGREGATES) * len(LOOK_BACKS) * 13
