"""The operator that holds panes: equal to the reference after every batch, small whatever the window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.aggregation import monoids
from sash.errors import CorruptValue
from sash.operators.bound import BoundQuery
from sash.operators.streaming import operator_for
from sash.operators.streaming.operator import WindowOperator
from sash.operators.streaming.paned import PanedOperator
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.watermark import Watermark
from sash.semantics.window import Window
from tests.runtimes.tables import table_of
from tests.runtimes.test_streaming_operator import Shown, expected, lates, shown, unplaced

TYPES = {"e": pa.int64(), "x": pa.int64()}
AGGREGATES = {"n": monoids.count(), "s": monoids.sum("x"), "hi": monoids.max("x"), "m": monoids.mean("x")}


class Counted(Mapping[int, bytes]):
    """A store that counts what is read and written."""

    def __init__(self) -> None:
        self.kept: dict[int, bytes] = {}
        self.read = self.written = 0

    def __getitem__(self, number: int) -> bytes:
        value = self.kept[number]
        self.read += len(value)
        return value

    def __iter__(self) -> Iterator[int]:
        raise AssertionError("an operator asks for what it needs")

    def __len__(self) -> int:
        return len(self.kept)


class Runtime:
    """Feeds batches, follows the watermark, and keeps the operator as bytes in between."""

    def __init__(self, bound: BoundQuery, *, restart: bool) -> None:
        self.bound, self.restart, self.store = bound, restart, Counted()
        self.operator = PanedOperator.load(bound, None, self.store)
        self.watermark = Watermark(delay=bound.query.delay.length)

    def step(self, batch: Batch) -> tuple[list[Shown], list[Shown]]:
        rows = table_of(list(batch.arrivals), TYPES)
        late = self.operator.insert(rows, np.arange(rows.num_rows))
        self.watermark.observe(a.time for a in batch.arrivals if a.time is not None)
        if batch.watermark is not None:
            self.watermark.advance_to(batch.watermark)
        said = self.operator.advance(self._now)
        self.pause()
        return shown(self.bound, said.reports), unplaced(late)

    def flush(self) -> list[Shown]:
        return shown(self.bound, self.operator.advance(self._now, flush=True).reports)

    @property
    def _now(self) -> int:
        return self.watermark.value if self.watermark.value is not None else -(2**60)

    def pause(self) -> None:
        saved = self.operator.save()
        self.store.kept |= saved.written
        for number in saved.dropped:
            self.store.kept.pop(number, None)
        self.store.written += len(saved.header) + sum(map(len, saved.written.values()))
        if self.restart:
            self.store.read += len(saved.header)
            self.operator = PanedOperator.load(self.bound, saved.header, self.store)


def bind(*asked: Window, delay: int = 0, aggregates: Mapping[str, Any] = AGGREGATES) -> BoundQuery:
    named = tuple(window.named(f"w{number}") for number, window in enumerate(asked))
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
    asked=st.lists(clock_windows, min_size=1, max_size=3),
    stream=streams(),
    delay=st.sampled_from([0, 0, 5, 60]),
    restart=st.booleans(),
)
def test_oracle_every_batch_is_answered_as_the_reference_answers_it(
    asked: list[Window], stream: list[Batch], delay: int, restart: bool
) -> None:
    bound = bind(*asked, delay=delay)
    runtime, reports, late = Runtime(bound, restart=restart), 0, 0
    quiet = Query(**{**bound.query.__dict__, "flush": False})
    for count in range(1, len(stream) + 1):
        outcome = evaluate(quiet, stream[:count])
        said, misfits = runtime.step(stream[count - 1])
        assert said == expected(bound, outcome.reports[reports:]), f"batch {count}"
        assert misfits == lates(outcome.late[late:]), f"batch {count}"
        reports, late = len(outcome.reports), len(outcome.late)
    assert runtime.flush() == expected(bound, evaluate(bound.query, stream).reports[reports:]), "flush"


@settings(max_examples=60, deadline=None)
@given(asked=st.lists(clock_windows, min_size=1, max_size=2), stream=streams())
def test_it_wakes_no_later_than_something_closes(asked: list[Window], stream: list[Batch]) -> None:
    runtime = Runtime(bind(*asked), restart=False)
    for batch in stream:
        runtime.step(batch)
    for _ in range(50):
        wakes_at = runtime.operator.wakes_at()
        if wakes_at is None:
            assert not runtime.flush()
            return
        assert not runtime.operator.advance(wakes_at - 1).reports.num_rows
        runtime.operator.advance(wakes_at)


def steady(length: int, *, restart: bool) -> Runtime:
    """A window of `length`, sliding by 1, over four keys, until it is full; then what 32 batches cost. Each
    of those brings ten panes of each key."""
    runtime = Runtime(bind(windows.time(length, 1)), restart=False)
    for start in range(-400 * (length // 400 + 2), 0, 400):
        runtime.step(Batch(tuple(four_keys(start, start + 400))))
    runtime.restart = restart
    runtime.store.read = runtime.store.written = 0
    for start in range(0, 320, 10):
        runtime.step(Batch(tuple(four_keys(start, start + 10))))
    return runtime


def four_keys(start: int, stop: int) -> list[Arrival]:
    return [Arrival(time, key, {"e": 0, "x": 1}) for time in range(start, stop) for key in "abcd"]


@pytest.mark.parametrize("restart", [False, True])
def test_what_a_batch_reads_and_writes_does_not_grow_with_the_window(restart: bool) -> None:
    short, long = (steady(length, restart=restart) for length in (64, 6400))
    assert short.store.written < long.store.written < 1.5 * short.store.written
    assert long.store.read < 4 * short.store.read
    assert len(long.operator.past.rows()) < 64


def test_a_pane_that_lasts_for_many_batches_is_merged() -> None:
    runtime = Runtime(bind(windows.time(10**6, 10**6)), restart=True)
    most = 0
    for time in range(600):
        runtime.step(Batch((Arrival(time, "a", {"e": 0, "x": 1}),)))
        most = max(most, len(runtime.store.kept))
    assert most <= 48
    assert [row[5:7] for row in runtime.flush()] == [(600, 600)]


def test_keys_that_have_nothing_left_are_forgotten() -> None:
    runtime = Runtime(bind(windows.time(10, 5)), restart=False)
    for start in range(0, 1000, 10):
        rows = [Arrival(time, f"key {time}", {"e": 0, "x": 1}) for time in range(start, start + 10)]
        runtime.step(Batch(tuple(rows)))
    assert len(runtime.operator.keyring) <= 60
    assert len(runtime.store.kept) <= 4


def test_state_that_is_damaged_or_incomplete_is_refused() -> None:
    runtime = Runtime(bind(windows.time(10, 5)), restart=False)
    runtime.step(Batch((Arrival(1, "a", {"e": 0, "x": 1}),)))
    header = runtime.operator.save().header
    with pytest.raises(CorruptValue, match="checksum"):
        PanedOperator.load(runtime.bound, header[:-1] + b"!", runtime.store)
    with pytest.raises(CorruptValue, match="lacks chunk 0"):
        PanedOperator.load(runtime.bound, header, {})


def test_queries_that_need_their_events_hold_them() -> None:
    sliding = windows.time(10, 5)
    assert operator_for(bind(sliding)) is PanedOperator
    for bound in (
        bind(windows.count(3)),
        bind(sliding, windows.session(3)),
        bind(sliding, aggregates={"all": monoids.collect("x")}),
        bind(sliding, aggregates={"last": monoids.last("x")}),
    ):
        assert operator_for(bound) is WindowOperator
