"""Joins in process against the definition: whole inputs, and batch after batch with restarts between."""

from __future__ import annotations

import warnings
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sash.errors import CorruptValue, SashWarning
from sash.operators.joins import matcher
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.joins.bounded_join import join_tables
from sash.operators.joins.join_operator import JoinOperator
from sash.semantics.expression import Side
from sash.semantics.join import How, JoinBatch
from sash.semantics.reference import Arrival
from tests.joins.streams import (
    FUNCTIONS,
    INTERPRETED,
    TRACED,
    Numbers,
    batches,
    bound,
    expected,
    numbers_in,
    numbers_of,
    table_of,
)
from tests.joins.two_sided_runtime import TwoSidedRuntime

PREDICATES: dict[str, Any] = TRACED | FUNCTIONS | INTERPRETED
HOWS: list[How] = ["inner", "left", "right", "full"]


def answered(join: BoundJoin, given: list[JoinBatch], *, shares: int) -> pa.Table:
    inputs = {side: table_of(side, [a for batch in given for a in batch.arrivals(side)]) for side in Side}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SashWarning)
        return join_tables(join, inputs, shares=shares)


@pytest.mark.parametrize("name", PREDICATES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_oracle_whole_inputs_give_the_pairs_of_the_definition_in_order(
    name: str, data: st.DataObject
) -> None:
    keys, nulls = data.draw(st.booleans()), data.draw(st.booleans())
    given = data.draw(batches(keys=keys, nulls=nulls))
    how = data.draw(st.sampled_from(HOWS))
    join = bound(PREDICATES[name], within=data.draw(st.integers(0, 12)), keys=keys, how=how)
    (whole,) = [JoinBatch(*([a for b in given for a in b.arrivals(side)] for side in Side))]
    answer = answered(join, given, shares=data.draw(st.integers(1, 4)))
    # Rows without a time have no ordinal in the definition, and one as rows of a table.
    assert numbers_in(answer) == numbers_of(expected(join, [whole]))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_oracle_python_judges_so_many_candidates_at_a_time(data: st.DataObject) -> None:
    keys = data.draw(st.booleans())
    join = bound(INTERPRETED["words"], within=data.draw(st.integers(0, 12)), keys=keys)
    given = data.draw(batches(keys=keys, nulls=False))
    (whole,) = [JoinBatch(*([a for b in given for a in b.arrivals(side)] for side in Side))]
    with mock.patch.object(matcher, "JUDGED", data.draw(st.integers(1, 9))):
        answer = answered(join, given, shares=1)
    assert numbers_in(answer) == numbers_of(expected(join, [whole]))


class Runtime(TwoSidedRuntime[JoinOperator, Numbers]):
    """Of a window join, shared out."""

    def __init__(self, join: BoundJoin, *, shares: int, restart: bool) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SashWarning)
            super().__init__(JoinOperator(join, shares=shares), numbers_in, restart=restart)


@pytest.mark.parametrize("name", ["two bands", "an equality and a band", "theta", "or", "words"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_oracle_batches_say_what_the_definition_says_after_each_of_them(
    name: str, data: st.DataObject
) -> None:
    keys, nulls = data.draw(st.booleans()), data.draw(st.booleans())
    given = data.draw(batches(keys=keys, nulls=nulls))
    delays = data.draw(st.tuples(st.integers(0, 15), st.integers(0, 15)))
    how = data.draw(st.sampled_from(HOWS))
    within = data.draw(st.integers(0, 12) | st.integers(40, 80))  # chunks are merged below a quarter of it
    join = bound(PREDICATES[name], within=within, keys=keys, delays=delays, how=how)
    runtime = Runtime(join, shares=data.draw(st.integers(1, 4)), restart=data.draw(st.booleans()))
    emitted: list[Numbers] = []
    for count, batch in enumerate(given, start=1):
        emitted += runtime.step(batch)
        assert emitted == numbers_of(expected(join, given[:count], flush=False))
    assert emitted + runtime.flush() == numbers_of(expected(join, given))
    missed = expected(join, given).late
    assert sorted(runtime.late, key=str) == sorted(
        ((late.side.value, late.arrival.values["e"], late.reason) for late in missed), key=str
    )


def on_time(side: Side, times: range) -> list[Arrival]:
    """One event a tick, all of one value."""
    names = ("x", "y") if side is Side.LEFT else ("a", "b")
    return [Arrival(t, None, {"t": t, "e": t, "k": None, names[0]: 1, names[1]: 1.0}) for t in times]


def test_state_is_bounded_by_the_window_and_not_by_the_stream() -> None:
    runtime = Runtime(bound(TRACED["two bands"], within=20, keys=False), shares=2, restart=False)
    held, chunks = [], []
    for start in range(0, 1000, 10):
        step = range(start, start + 10)
        runtime.step(JoinBatch(on_time(Side.LEFT, step), on_time(Side.RIGHT, step)))
        held.append(runtime.operator.store.stored)
        chunks.append(len(runtime.chunks))
    # 20 ticks of both sides, and at most a chunk each that is not yet wholly expired
    assert max(held) <= 2 * (20 + 20 // 4 + 10)
    assert max(chunks) <= 2 * (20 // 10 + 2)


DAY, SMALL_BATCHES = 86_400, 1_000


def test_small_batches_within_a_long_window_leave_few_chunks_and_write_little() -> None:
    runtime = Runtime(bound(TRACED["never"], within=DAY, keys=False), shares=1, restart=False)
    chunks = []
    for time in range(0, 3 * DAY // 2, DAY // SMALL_BATCHES):
        runtime.step(JoinBatch(*(on_time(side, range(time, time + 1)) for side in Side)))
        chunks.append(max(len(runtime.operator._chunks.of(side)) for side in Side))
    assert len(chunks) > SMALL_BATCHES
    assert runtime.operator.store.stored <= 2 * SMALL_BATCHES * 1.3
    assert max(chunks) <= 2 * np.log2(SMALL_BATCHES)
    assert len(runtime.chunks) == len(runtime.operator._chunks)
    small, first, second = runtime.written[0], *np.array_split(runtime.written[1:], 2)
    assert np.mean(first) < 4 * small
    assert np.mean(second) < 1.5 * np.mean(first), "it does not grow with time"


def test_an_idle_operator_wakes_when_a_row_is_passed_and_when_all_have_expired() -> None:
    runtime = Runtime(bound(TRACED["a band"], within=20, keys=False), shares=1, restart=True)
    assert runtime.operator.next_timer() is None
    runtime.step(JoinBatch(on_time(Side.LEFT, range(5, 8)), on_time(Side.RIGHT, range(6, 7))))
    # watermark 6: the left row of 5 is stored; 6 (both) and 7 wait
    assert runtime.operator.next_timer() == 7
    assert len(numbers_in(runtime.operator.advance(8))) == 3
    assert runtime.operator.next_timer() == 7 + 20 + 1
    runtime.operator.advance(28)
    assert runtime.operator.store.stored == 0
    assert runtime.operator.next_timer() is None


def test_an_operator_wakes_when_a_row_is_known_to_stay_alone_and_forgets_it() -> None:
    join = bound(lambda p, q: p.x == q.a, within=20, keys=False, how="full")
    runtime = Runtime(join, shares=1, restart=True)
    # left   5 (x = 1)                 5 meets nobody: known when the watermark has passed 5 + 20
    # right         6 (a = null)       6 can meet nobody, and waits all the same
    left = Arrival(5, None, {"t": 5, "e": 5, "x": 1})
    right = Arrival(6, None, {"t": 6, "e": 6, "a": None})
    runtime.step(JoinBatch([left], [right]))
    assert numbers_in(runtime.operator.advance(7)) == []
    assert runtime.operator.next_timer() == 26
    assert numbers_in(runtime.operator.advance(26)) == [(25, 5, None)]
    assert runtime.operator.next_timer() == 27
    assert numbers_in(runtime.operator.advance(27)) == [(26, None, 6)]
    assert (runtime.operator.next_timer(), runtime.operator.store.stored) == (None, 0)


def test_groups_that_no_row_is_in_are_forgotten() -> None:
    join = bound(TRACED["an equality"], within=3, keys=False)
    operator = JoinOperator(join)
    rows = [{"t": t, "e": t, "a": t, "x": t} for t in range(6000)]
    for start in range(0, 6000, 500):
        for side in Side:
            own = [Arrival(row["t"], None, row) for row in rows[start : start + 500]]
            operator.insert(side, table_of(side, own), np.arange(500))
        operator.advance(start + 500)
    assert len(operator.store._index.groups) < 3000


def test_state_that_lacks_a_chunk_or_is_damaged_is_refused() -> None:
    runtime = Runtime(bound(None, within=20, keys=False), shares=1, restart=False)
    runtime.operator.insert(Side.LEFT, table_of(Side.LEFT, on_time(Side.LEFT, range(5))), np.arange(5))
    saved = runtime.operator.save()
    with pytest.raises(CorruptValue, match="lacks the chunk 0"):
        JoinOperator.load(runtime.operator.bound, saved.header, {})
    damaged = saved.written[0][:-1] + bytes([saved.written[0][-1] ^ 1])
    with pytest.raises(CorruptValue, match="checksum"):
        JoinOperator.load(runtime.operator.bound, saved.header, {0: damaged})
