"""Queries that hold panes: equal to the reference after every batch, small whatever the window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation import built_in
from sash.errors import CorruptValue
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import WindowOperator, keeps_panes
from sash.operators.engine.saving import operator_journal as journal
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch
from sash.semantics.window import Window
from tests.runtimes.operator_runtime import (
    ALWAYS_REBUILT,
    NEVER_REBUILT,
    TYPES,
    Runtime,
    Way,
    elements_of,
    leasts,
    require_answered_as_the_reference,
    small_journals,
    ways,
)
from tests.runtimes.tables import table_of

AGGREGATES = {
    "n": built_in.count(),
    "s": built_in.sum("x"),
    "hi": built_in.max("x"),
    "m": built_in.mean("e"),
}


def bind(*window_list: Window, delay: int = 0, aggregates: Mapping[str, Any] = AGGREGATES) -> BoundQuery:
    named = tuple(window.named(f"w{number}") for number, window in enumerate(window_list))
    query = Query(named, aggregates, delay=Duration(delay, Unit.TICKS))
    return BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))


clock_windows = st.one_of(
    st.builds(windows.time, st.integers(1, 30), st.integers(1, 30), origin=st.integers(-20, 20)),
    # Long enough for cells of two levels, with panes of length 1.
    st.builds(windows.time, st.integers(64, 400), st.integers(1, 7), origin=st.integers(-20, 20)),
    st.builds(lambda step, n: windows.cumulate(step * n, step), st.integers(1, 9), st.integers(1, 9)),
)


@st.composite
def streams(draw: st.DrawFn) -> list[Batch]:
    """Batches whose time goes on by anything from nothing to more than a window."""
    batches, now = [], draw(st.integers(-300, 300))
    for _ in range(draw(st.integers(1, 12))):
        arrivals = []
        for number in range(draw(st.integers(0, 6))):
            time = draw(st.one_of(st.none(), *[st.integers(now - 40, now + 40)] * 5))
            x = draw(st.one_of(st.none(), st.integers(-9, 9)))
            arrivals.append(Arrival(time, draw(st.sampled_from(["a", "b", None])), {"e": number, "x": x}))
        watermark = draw(st.one_of(st.none(), st.none(), st.integers(now - 30, now + 30)))
        batches.append(Batch(tuple(arrivals), watermark))
        now += draw(st.one_of(st.integers(0, 30), st.integers(0, 2000)))
    return batches


@settings(max_examples=150, deadline=None)
@given(
    window_list=st.lists(clock_windows, min_size=1, max_size=3),
    stream=streams(),
    delay=st.sampled_from([0, 0, 5, 60]),
    ways=ways,
    least=leasts,
)
def test_oracle_every_batch_is_answered_as_the_reference_answers_it(
    window_list: list[Window], stream: list[Batch], delay: int, ways: list[Way], least: int
) -> None:
    bound = bind(*window_list, delay=delay)
    assert keeps_panes(bound)
    with small_journals(least):
        require_answered_as_the_reference(Runtime(bound, ways=ways), stream)


@settings(max_examples=60, deadline=None)
@given(window_list=st.lists(clock_windows, min_size=1, max_size=2), stream=streams())
def test_it_wakes_no_later_than_something_closes(window_list: list[Window], stream: list[Batch]) -> None:
    runtime = Runtime(bind(*window_list))
    for batch in stream:
        runtime.step(batch)
    for _ in range(50):
        next_timer = runtime.operator.next_timer()
        if next_timer is None:
            assert runtime.flush() == ([], [])
            return
        assert not runtime.operator.advance(next_timer - 1).reports.num_rows
        runtime.operator.advance(next_timer)


def steady(length: int, *, ways: Sequence[Way]) -> Runtime:
    """A window of `length`, sliding by 1, over four keys, until it is full; then what 32 batches cost. Each
    of those brings ten panes of each key."""
    runtime = Runtime(bind(windows.time(length, 1)))
    for start in range(-400 * (length // 400 + 2), 0, 400):
        runtime.step(Batch(tuple(four_keys(start, start + 400))))
    runtime.ways = cycle(ways)
    for start in range(0, 60, 10):  # arenas are made
        runtime.step(Batch(tuple(four_keys(start, start + 10))))
    runtime.store.read = 0
    for start in range(60, 380, 10):
        runtime.step(Batch(tuple(four_keys(start, start + 10))))
    return runtime


def four_keys(start: int, stop: int) -> list[Arrival]:
    return [Arrival(time, key, {"e": 0, "x": 1}) for time in range(start, stop) for key in "abcd"]


@pytest.mark.parametrize(
    "ways",
    [(Way.SAME,), (Way.ARENA,), (Way.ARENA, Way.SAME, Way.ELSEWHERE)],
    ids=["same", "arena", "moves"],
)
def test_what_a_batch_reads_and_writes_does_not_grow_with_the_window(ways: Sequence[Way]) -> None:
    short, long = (steady(length, ways=ways) for length in (64, 6400))
    usual = [median(runtime.store.writings[-32:]) for runtime in (short, long)]  # without snapshots
    assert max(usual) <= 1.2 * min(usual)
    # Entries are read once when they are put together: those of these batches, and some before them.
    together = sum(long.store.writings[-32 - journal.FAN :])
    assert long.store.read <= 1.5 * short.store.read + together
    if Way.ELSEWHERE not in ways:
        assert long.store.read <= together
    for runtime in (short, long):
        runtime.close()


def test_a_pane_that_lasts_for_many_batches_is_one_element() -> None:
    runtime = Runtime(bind(windows.time(10**6, 10**6)), ways=ALWAYS_REBUILT)
    most = 0
    with small_journals(5_000):
        for time in range(200):
            runtime.step(Batch((Arrival(time, "a", {"e": 0, "x": 1}),)))
            assert elements_of(runtime.operator) <= 1
            most = max(most, len(runtime.store))
    assert most <= 30
    assert [row[5:7] for row in runtime.flush()[0]] == [(200, 200)]


def test_many_events_of_few_panes_are_few_elements() -> None:
    runtime = Runtime(bind(windows.time(100, 50)))
    for start in range(0, 1000, 10):
        runtime.step(Batch(tuple(four_keys(start, start + 10))))
        assert elements_of(runtime.operator) <= 4 * 3


def test_keys_that_have_nothing_left_are_forgotten() -> None:
    runtime = Runtime(bind(windows.time(10, 5)))
    with small_journals(5_000):
        for start in range(0, 1000, 10):
            rows = [Arrival(time, f"key {time}", {"e": 0, "x": 1}) for time in range(start, start + 10)]
            runtime.step(Batch(tuple(rows)))
    assert len(runtime.operator.slots) <= 25
    assert runtime.store.bytes <= 20_000


def test_state_that_is_damaged_or_incomplete_is_refused() -> None:
    runtime = Runtime(bind(windows.time(10, 5)), ways=NEVER_REBUILT)
    runtime.step(Batch((Arrival(1, "a", {"e": 0, "x": 1}),)))
    with pytest.raises(CorruptValue, match="checksum"):
        WindowOperator.load(runtime.bound, runtime.header[:-1] + b"!", runtime.store)
    with pytest.raises(CorruptValue, match="lacks the chunk 0"):
        WindowOperator.load(runtime.bound, runtime.header, {})


def test_queries_that_need_their_events_hold_them() -> None:
    sliding = windows.time(10, 5)
    assert keeps_panes(bind(sliding))
    for bound in (
        bind(windows.rows(3)),
        bind(sliding, windows.session(3)),
        bind(sliding, aggregates={"all": built_in.collect("x")}),
        bind(sliding, aggregates={"last": built_in.last("x")}),
    ):
        assert not keeps_panes(bound)
