"""Many ranges of one key in one batch are folded by two stacks: the same folds, with fewer combines."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.aggregation.kernels.state import busy_key_folds
from sash.aggregation.kernels.state.busy_key_folds import LEAST, SUFFIXES, long_runs
from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.engine import WindowOperator
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.semantics import windows
from sash.semantics.query import Query

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("x", pa.int64()), ("y", pa.int64())])


@sash.monoid
class Composed:
    """x ↦ a·x + b modulo a prime, one after the other: no two of them commute."""

    def identity():
        return (1, 0)

    def lift(x, y):  # noqa: N805
        return (x % 7919 + 2, y % 7907)

    def combine(a, b):  # noqa: N805
        return (a[0] * b[0] % 7919, (a[1] * b[0] + b[1]) % 7919)

    def lower(s):  # noqa: N805
        return s[0] * 8000 + s[1]


AGGREGATES = {
    "n": built_in.count(), "s": built_in.sum("x"), "hi": built_in.max("x"), "first": built_in.first("x"),
    "last": built_in.last("x"), "some": built_in.count(where="y > 5"), "composed": Composed("x", "y"),
}  # fmt: skip


def rolling(*sizes: int) -> BoundQuery:
    named = tuple(windows.slide_by_tuple(size, 1).named(str(size)) for size in sizes)
    return BoundRolling(Query(named, AGGREGATES, flush=False), SCHEMA, "t", ("k",))


QUERIES = {
    "one look-back": rolling(900),
    "three look-backs": rolling(1, 40, 100_000),
    **{
        name: BoundQuery(Query((window,), AGGREGATES, flush=False), SCHEMA, "t", ("k",))
        for name, window in {
            "rows": windows.rows(150, every=1),
            "rows by three": windows.rows(20, every=3),
            "slide_by_tuple": windows.slide_by_tuple(700, 2),
            "delta": windows.delta("t", 500, 3),
            "sliding": windows.time(600, 4),
        }.items()
    },
}


def rows_of(random: np.random.Generator, count: int, since: int, *, nulls: float) -> pa.Table:
    times = since + np.sort(random.integers(0, max(count * 2, 1), count))
    keys = np.where(random.random(count) < 0.8, 0, random.integers(0, 40, count))
    values = [random.integers(-50, 50, count) for _ in range(2)]
    masked = [pa.array(value, mask=random.random(count) < nulls) for value in values]
    return pa.table([pa.array(keys), pa.array(times), *masked], schema=SCHEMA)


def only_tree(which: Ints, lo: Ints, hi: Ints, dealt: int) -> tuple[Ints, Ints]:
    return np.empty((0, 2), np.int64), np.array([[0, len(which)]], np.int64)


def emitted(bound: BoundQuery, batches: list[pa.Table]) -> tuple[pa.Table, int]:
    """What is reported, and the combines of an aggregate."""
    operator, found = WindowOperator.load(bound, None, {}), []
    for batch in batches:
        operator.insert(batch.select(bound.columns), np.arange(batch.num_rows))
        found.append(operator.advance(int(batch["t"][-1].as_py())).reports)
    lanes = [group.lane for group in operator.groups if isinstance(group.lane, RingLane)]
    return pa.concat_tables(found), sum(lane.combines["s"] for lane in lanes)


@pytest.mark.parametrize("kind", QUERIES)
@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32),
    sizes=st.lists(st.sampled_from([1, 7, 60, 900, 6_000]), min_size=1, max_size=4),
    nulls=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_differential_two_stacks_and_tree(kind: str, seed: int, sizes: list[int], nulls: float) -> None:
    random, batches, since = np.random.default_rng(seed), list[pa.Table](), 0
    for size in sizes:
        batches.append(rows_of(random, size, since, nulls=nulls))
        since += 2 * size
    reports, _ = emitted(QUERIES[kind], batches)
    with patch.object(busy_key_folds, "long_runs", only_tree):
        from_tree, _ = emitted(QUERIES[kind], batches)
    assert reports.equals(from_tree)


@pytest.mark.parametrize("size", [100, 10_000, 1_000_000])
def test_a_key_with_many_events_in_a_batch_takes_about_three_combines_for_each(size: int) -> None:
    bound, per_batch = rolling(size), 3 * SUFFIXES
    times = np.arange(3 * per_batch)
    rows = pa.table([np.zeros(len(times), np.int64), times, times % 11, times % 5], schema=SCHEMA)
    batches = [rows.slice(at, per_batch) for at in range(0, len(times), per_batch)]
    reports, combines = emitted(bound, batches)
    # Nodes of the tree take one and a quarter: they are there for batches that are small.
    assert combines <= 4.5 * reports.num_rows
    with patch.object(busy_key_folds, "long_runs", only_tree):
        _, from_tree = emitted(bound, batches)
    assert combines < from_tree / 2


@given(
    events=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4)), max_size=120),
    dealt=st.integers(1, 3),
)
def test_runs_and_what_lies_between_them_are_all_ranges_once(
    events: list[tuple[int, int, int]], dealt: int
) -> None:
    which = np.repeat(np.sort(np.array([key for key, _, _ in events], np.int64)), dealt)
    lo = np.repeat(np.cumsum([move for _, move, _ in events], dtype=np.int64), dealt)
    hi = np.repeat(np.cumsum([move for _, _, move in events], dtype=np.int64), dealt) + 500
    runs, others = long_runs(which, lo, hi, dealt)
    covered = sorted((*map(tuple, runs.tolist()), *map(tuple, others.tolist())))
    assert [index for begin, end in covered for index in range(begin, end)] == list(range(len(which)))
    for begin, end in runs.tolist():
        assert end - begin >= LEAST * dealt
        assert len(set(which[begin:end].tolist())) == 1
