"""What a batch costs, counted and never timed: it depends on what it brings, not on what is held."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from sash.aggregation import built_in
from sash.operators.arena import ArenaHome
from sash.operators.bound_query import BoundQuery, BoundRolling, BoundWhole
from sash.operators.engine import WindowOperator
from sash.operators.engine.groups.session_and_growing_group import RunGroup
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.operators.engine.saving import operator_journal as journal
from sash.operators.folding.whole_windows import Apply
from sash.semantics import windows
from sash.semantics.query import Query
from sash.semantics.window import Window
from tests.runtimes.operator_runtime import Store, Way, elements_of, small_journals

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.int64()), ("x", pa.float64())])
AGGREGATES = {"n": built_in.count(), "hi": built_in.max("x"), "s": built_in.sum("x")}
LAST = {"last": built_in.last("x"), "hi": built_in.max("x")}
"""With an aggregate that does not commute there are no panes."""


def rolling(*lookbacks: int) -> BoundQuery:
    named = tuple(windows.slide_by_tuple(size, 1).named(str(size)) for size in lookbacks)
    return BoundRolling(Query(named, AGGREGATES, flush=False), SCHEMA, "t", ("k",))


def bound_to(window: Window, aggregates: Any = AGGREGATES) -> BoundQuery:
    return BoundQuery(Query((window,), aggregates, flush=False), SCHEMA, "t", ("k",))


class Stream:
    """Batches of one bucket; what it writes is kept, and it goes on as wanted."""

    def __init__(self, bound: BoundQuery, *, way: Way = Way.SAME, name: str | None = None) -> None:
        self.bound, self.way, self.name = bound, way, name
        self.store, self.header = Store(), b""
        self.operator = WindowOperator.load(bound, None, self.store, name=name)
        self.random = np.random.default_rng(7)

    def batch(self, keys: np.ndarray, times: np.ndarray, watermark: int | None = None) -> int:
        """How many rows are emitted."""
        rows = pa.table({"k": keys, "t": times, "x": self.random.random(len(keys))}, schema=SCHEMA)
        if self.bound.schema is WORDS:
            text = pa.array([f"the word for {key}" for key in keys])
            rows = rows.set_column(0, "k", text).append_column("w", text)
        self.operator.insert(rows.select(self.bound.columns), np.arange(len(keys)))
        return self.advance(int(times.max()) if watermark is None else watermark)

    def advance(self, watermark: int) -> int:
        emitted: int = self.operator.advance(watermark).reports.num_rows
        saved = self.operator.save()
        self.header = saved.header
        self.store.take(saved)
        if self.way is Way.SAME:
            self.operator.resume(self.header, self.store)
        else:
            self.operator = WindowOperator.load(self.bound, self.header, self.store, name=self.name)
        return emitted

    def fill(self, events: int, keys: int, *, apart: int = 1) -> int:
        """So many events of these keys; the time after the last."""
        now = 0
        while now < events * apart:
            size = min(2_000, events - now // apart)
            times = now + apart * np.arange(size)
            self.batch(np.arange(size) % keys, times)
            now += apart * size
        return now

    @property
    def durable(self) -> int:
        return len(self.header) + self.store.bytes

    @property
    def combines(self) -> int:
        lanes = (group.lane for group in self.operator.groups)
        return sum(lane.combines.total() for lane in lanes if isinstance(lane, RingLane))


# What is read

READ: dict[str, BoundQuery] = {
    "rolling": rolling(5_000, 50_000),
    "sliding": bound_to(windows.time(5_000, 50)),
    "events": bound_to(windows.time(5_000, 50), LAST),
    "rows": bound_to(windows.rows(500, every=3)),
    "slide_by_tuple": bound_to(windows.slide_by_tuple(5_000, 7)),
    "session": bound_to(windows.session(100)),
    "delta": bound_to(windows.delta("t", 5_000, 50)),
}


@pytest.fixture
def name() -> Iterator[str]:
    yield "counted"
    ArenaHome.default().remove("counted")


@pytest.mark.parametrize("kind", READ)
def test_a_worker_that_never_served_the_bucket_reads_no_chunk_where_the_arena_is(
    kind: str, name: str
) -> None:
    stream = Stream(READ[kind], way=Way.ARENA, name=name)
    with small_journals(20_000):
        stream.fill(20_000, 10)
    assert stream.store.reads == 0


@pytest.mark.parametrize("kind", READ)
def test_nor_when_entries_are_put_together(kind: str, name: str) -> None:
    stream = Stream(READ[kind], way=Way.ARENA, name=name)
    with patch.object(journal, "FAN", 6), patch.object(journal, "LEAST", 10**9):
        stream.fill(35 * 2_000, 10)
        head = stream.operator.journal.head
        assert len(head.runs) == 5
        assert (head.young, stream.store.reads) == (5, 0)
        # The runs themselves are put together once in FAN² batches, and are read for it.
        stream.batch(np.arange(10), 70_000 + np.arange(10))
        assert 0 < stream.store.reads <= 30


def test_an_arena_that_was_behind_copies_no_entries_of_others(name: str) -> None:
    """Entries of two machines in turn: what each has a copy of is not what the journal ends with."""
    stream, other = Stream(READ["rolling"], way=Way.ARENA, name=name), "counted-elsewhere"
    with patch.object(journal, "FAN", 6), patch.object(journal, "LEAST", 10**9):
        for number in range(40):
            stream.batch(np.arange(10), 10 * number + np.arange(10))
            if number % 4 == 3:
                stream.operator.arena.close()
                stream.name = other if stream.name == name else name
                stream.operator = WindowOperator.load(
                    stream.bound, stream.header, stream.store, name=stream.name
                )
    entries = list(stream.operator.journal.contents()[1])
    assert [int(entry.inserts[0]["t"][0].as_py()) for entry in entries] == [10 * n for n in range(40)]
    ArenaHome.default().remove(other)


def test_an_arena_that_missed_some_batches_reads_those_and_the_one_before_them(name: str) -> None:
    stream = Stream(READ["rolling"], way=Way.ARENA, name=name)
    now = stream.fill(20_000, 10)
    stream.name = "counted-elsewhere"
    stream.operator = WindowOperator.load(stream.bound, stream.header, stream.store, name=stream.name)
    for number in range(4):
        stream.batch(np.arange(10), now + 10 * number + np.arange(10))
    stream.operator.arena.close()
    stream.store.reads = 0
    WindowOperator.load(stream.bound, stream.header, stream.store, name=name)
    assert stream.store.reads == 5
    ArenaHome.default().remove(stream.name)


# What is stored


@pytest.mark.parametrize("kind", ["rolling", "tumbling", "session", "rows"])
def test_durable_bytes_are_bounded_by_what_is_alive_also_before_the_first_snapshot(kind: str) -> None:
    bound = {
        "rolling": rolling(10**9),
        "tumbling": bound_to(windows.tumbling(10**9)),
        "session": bound_to(windows.session(10**9)),
        "rows": bound_to(windows.rows(10, every=10)),
    }[kind]
    stream, now = Stream(bound), 0
    for _ in range(60):
        size = 2_000
        stream.batch(np.arange(size) * 7 % 5_003, now + np.arange(size))
        now += size
        live = stream.operator.size
        if live > 2 * journal.LEAST:
            assert stream.durable <= 2.5 * live


# What is combined

FOLDED: dict[str, Any] = {
    "rolling": lambda held: rolling(held),
    "rolling, three look-backs": lambda held: rolling(held, held // 2, held // 10),
    "sliding, panes": lambda held: bound_to(windows.time(held, held // 200)),
    "sliding, events": lambda held: bound_to(windows.time(held, 5), LAST),
    "rows": lambda held: bound_to(windows.rows(held // 10, every=1)),
    "slide_by_tuple": lambda held: bound_to(windows.slide_by_tuple(held, 3)),
    "slide_by_time": lambda held: bound_to(windows.slide_by_time(held // 10, 5)),
    "delta": lambda held: bound_to(windows.delta("t", held, 5)),
}


@pytest.mark.parametrize("kind", FOLDED)
def test_combines_per_event_do_not_grow_with_what_is_held(kind: str) -> None:
    """Ten keys, whose windows hold 100 and 10,000 events each: a fold has twice as many levels."""
    each = [_combines_per_fold(FOLDED[kind](held), held) for held in (1_000, 100_000)]
    assert each[1] <= 2.5 * each[0]
    assert each[1] <= 4 * math.log2(10_000)


def _combines_per_fold(bound: BoundQuery, held: int) -> float:
    stream = Stream(bound)
    now = stream.fill(held + held // 4, 10)
    before, emitted = stream.combines, 0
    for number in range(20):
        emitted += stream.batch(np.arange(100) % 10, now + 100 * number + np.arange(100))
    aggregates, lookbacks = len(bound.aggregates), len(bound.query.windows)
    return (stream.combines - before) / max(2_000, emitted) / aggregates / lookbacks


# What is written

WRITTEN: dict[str, Any] = {
    **FOLDED,
    "session": lambda held: bound_to(windows.session(held)),
    "tumbling": lambda held: bound_to(windows.tumbling(held)),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_a_batch_writes_does_not_grow_with_what_is_held(kind: str) -> None:
    usual, average = zip(*(_written(WRITTEN[kind](held), held) for held in (1_000, 100_000)), strict=True)
    assert usual[1] <= 1.2 * usual[0]
    # Snapshots included, each byte is written about twice.
    assert average[1] <= 3 * usual[1]


def _written(bound: BoundQuery, held: int) -> tuple[float, float]:
    stream = Stream(bound)
    now = stream.fill(held, 10)
    filled = len(stream.store.writings)
    with small_journals(20_000):
        for number in range(100):
            stream.batch(np.arange(100) % 10, now + 100 * number + np.arange(100))
    writings = stream.store.writings[filled:]
    return median(writings), sum(writings) / len(writings)


# What is durable

KEPT: dict[str, BoundQuery] = {
    "rolling": rolling(1_000, 100),
    "session": bound_to(windows.session(100)),
    "sliding": bound_to(windows.time(1_000, 10)),
    "sliding, events": bound_to(windows.time(1_000, 10), LAST),
    "tumbling": bound_to(windows.tumbling(1_000)),
}


def _live_bytes(operator: WindowOperator) -> int:
    """Of elements, running folds and keys, as they lie in the arena."""
    lanes = [group.lane for group in operator.groups if isinstance(group.lane, RingLane)]
    words = sum(lane.form.width for lane in lanes)
    return 8 * (elements_of(operator) * words + len(operator.slots) * operator.slots.rows.shape[1])


@pytest.mark.parametrize("kind", KEPT)
def test_durable_bytes_are_at_most_two_and_a_half_times_those_of_live_elements(kind: str) -> None:
    stream, durable, live = Stream(KEPT[kind]), [], []
    with small_journals(1):
        for number in range(200):
            times = 20 * number + np.arange(400) // 20
            stream.batch(stream.random.integers(0, 200, 400), times)
            durable.append(stream.durable)
            live.append(_live_bytes(stream.operator))
    assert max(np.array(durable[100:]) / np.array(live[100:])) <= 2.5


@pytest.mark.parametrize("kind", KEPT)
def test_keys_that_are_dead_leave_no_trace_in_the_store(kind: str) -> None:
    dead, new = Stream(KEPT[kind]), Stream(KEPT[kind])
    with small_journals(20_000):
        for start in range(0, 40_000, 4_000):
            dead.batch(np.arange(start, start + 4_000), start // 100 + np.arange(4_000) // 100)
        for number in range(60):  # of other keys
            times = 10**6 + 20 * number + np.arange(200) // 10
            for stream in (dead, new):
                stream.batch(10**6 + np.arange(200) % 20, times)
    assert dead.durable <= 2 * new.durable
    assert len(dead.operator.slots) == len(new.operator.slots)
    assert elements_of(dead.operator) == elements_of(new.operator)


# What is kept in memory


@pytest.mark.parametrize("kind", KEPT)
def test_slots_of_dead_keys_are_used_again(kind: str) -> None:
    stream = Stream(KEPT[kind])
    for number in range(40):
        keys, times = np.arange(1_000) + 1_000 * number, 3_000 * number + np.arange(1_000) // 10
        stream.batch(keys, times)
    assert len(stream.operator.slots) <= 1_000
    assert len(stream.operator.slots.rows) <= 8_000
    stream.advance(10**9)
    stream.advance(10**9 + 1)
    assert len(stream.operator.slots) == 0
    assert elements_of(stream.operator) == 0


WORDS = pa.schema([("k", pa.string()), ("t", pa.int64()), ("x", pa.float64()), ("w", pa.string())])
OBJECTS = {"words": built_in.collect("w"), "n": built_in.count()}
IN_HEAPS = {
    "text as a key": BoundQuery(Query((windows.time(1_000, 10),), AGGREGATES), WORDS, "t", ("k",)),
    "text in elements": BoundQuery(Query((windows.time(1_000, 10),), OBJECTS), WORDS, "t", ("k",)),
    "text in folds": BoundQuery(Query((windows.session(100),), OBJECTS), WORDS, "t", ("k",)),
    "whole rows": BoundWhole(
        Query((windows.session(100),)), WORDS, "t", ("k",),
        Apply(lambda rows: {"n": rows.num_rows}, pa.schema([("n", pa.int64())])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", [*KEPT, *IN_HEAPS])
def test_the_arena_does_not_grow_with_the_stream(kind: str) -> None:
    """A hundred keys at a time, of which half are new and half are dead with each batch."""
    stream, sizes = Stream(KEPT.get(kind) or IN_HEAPS[kind]), []
    for number in range(300):
        keys, times = np.arange(100) + 50 * number, 200 * number + np.arange(100)
        stream.batch(keys, times)
        sizes.append(stream.operator.arena.size)
    assert sizes[-1] <= 1.2 * sizes[99]


def test_keys_with_open_sessions_are_left_alone_until_they_can_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_work: list[int] = []
    process = RunGroup.process

    def counted(group: RunGroup, turn: Any, emit: Any) -> None:
        at_work.append(len(turn.slots))
        process(group, turn, emit)

    monkeypatch.setattr(RunGroup, "process", counted)
    stream = Stream(bound_to(windows.session(10_000)))
    stream.batch(np.arange(500), np.arange(500))
    for now in range(1_000, 1_010):
        stream.batch(np.array([500]), np.array([now]))
    assert at_work[-5:] == [1] * 5
