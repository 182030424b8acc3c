"""The streaming window operator in process, against the reference, step by step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation import built_in
from sash.aggregation.kernels.state import rings
from sash.errors import CorruptValue, StoreError
from sash.operators.bound_query import BoundQuery, BoundRolling, BoundWhole
from sash.operators.engine import WindowOperator
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.operators.engine.saving import operator_journal as journal
from sash.operators.folding.whole_windows import Apply
from sash.operators.kinds import KINDS
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Order
from sash.semantics.query import NO_TIME, Emit, Query
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.run_as_engine import as_engine
from sash.semantics.window import Window
from tests.runtimes.operator_runtime import (
    TYPES,
    Runtime,
    Way,
    elements_of,
    expected,
    leasts,
    require_answered_as_the_reference,
    small_journals,
    ways,
)
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import table_of
from tests.semantics.strategies import KINDS as KINDS_DRAWN

AGGREGATES = {"n": built_in.count(), "s": built_in.sum("x"), "held": built_in.collect("e")}
COMMUTATIVE = {
    "n": built_in.count(),
    "s": built_in.sum("x"),
    "hi": built_in.max("e"),
    "m": built_in.mean("x"),
}
"""With these, windows that the clock cuts are kept as panes."""


def bound_query(query: Query) -> BoundQuery:
    return BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))


@st.composite
def queries(draw: st.DrawFn) -> Query:
    window_list = draw(st.lists(any_window, min_size=1, max_size=3))
    named = tuple(window.named(f"w{number}") for number, window in enumerate(window_list))
    arrival = draw(st.booleans()) and all(Order.ARRIVAL in window.orders for window in named)
    emit = draw(st.sampled_from(["close", "close", "change", "every 7"]))
    aggregates = draw(st.sampled_from([AGGREGATES, COMMUTATIVE]))
    if arrival:
        emit = "close" if emit.startswith("every") else emit
        return Query(
            named, aggregates, order=Order.ARRIVAL, emit=Emit.parse(emit), empty=draw(st.booleans())
        )
    lateness = draw(st.sampled_from([0, 0, 5, 30]))
    return Query(
        named,
        aggregates,
        delay=Duration(draw(st.integers(0, 15)), Unit.TICKS),
        allowed_lateness=Duration(lateness, Unit.TICKS),
        forget_after=Duration(draw(st.sampled_from([0, 0, lateness + 1, lateness + 20])), Unit.TICKS),
        emit=Emit.parse(emit),
        empty=draw(st.booleans()),
    )


@st.composite
def batches(draw: st.DrawFn) -> list[Batch]:
    stream, cut = draw(arrivals()), []
    while stream:
        size = draw(st.integers(0, 12))
        watermark = draw(st.one_of(st.none(), st.none(), st.none(), st.integers(-20, 60)))
        cut.append(Batch(tuple(stream[:size]), watermark))
        stream = stream[size:]
    return cut


@settings(max_examples=300, deadline=None)
@given(query=queries(), stream=batches(), ways=ways, least=leasts)
def test_oracle_every_batch_is_answered_as_the_reference_answers_it(
    query: Query, stream: list[Batch], ways: list[Way], least: int
) -> None:
    with small_journals(least):
        require_answered_as_the_reference(Runtime(bound_query(query), ways=ways), stream)


@st.composite
def engine_queries(draw: st.DrawFn) -> Query:
    """Windows that are reported as an engine with a watermark does: time windows, or one session window."""
    times = st.lists(KINDS_DRAWN[windows.TimeWindow], min_size=1, max_size=2)
    window_list = draw(
        st.one_of(times, st.lists(KINDS_DRAWN[windows.SessionWindow], min_size=1, max_size=1))
    )
    named = tuple(window.named(f"w{number}") for number, window in enumerate(window_list))
    longest = max(getattr(window, "size", getattr(window, "gap", 0)) for window in window_list)
    query = Query(
        named, draw(st.sampled_from([AGGREGATES, COMMUTATIVE])),
        delay=Duration(draw(st.sampled_from([0, 0, 3, 15])), Unit.TICKS),
        forget_after=Duration(draw(st.sampled_from([0, 0, longest + 1, longest + 20])), Unit.TICKS),
    )  # fmt: skip
    return as_engine(query, draw(st.sampled_from(["pyflink", "beam", "bytewax", "spark_structured"])))


@settings(max_examples=300, deadline=None)
@given(query=engine_queries(), stream=batches(), ways=ways, least=leasts)
def test_oracle_late_events_are_judged_as_the_engine_judges_them(
    query: Query, stream: list[Batch], ways: list[Way], least: int
) -> None:
    with small_journals(least):
        require_answered_as_the_reference(Runtime(bound_query(query), ways=ways), stream)


WORDED = {**TYPES, "w": pa.string()}
TEXT = {"words": built_in.collect("w"), "last": built_in.last("w"), "e": built_in.max("e")}


def worded(stream: list[Batch]) -> list[Batch]:
    """With a column of text of any length, or none."""
    words = {number: None if number % 5 == 0 else "ä" * (number % 4) for number in range(200)}
    return [
        replace(
            batch,
            arrivals=tuple(
                replace(arrival, values={**arrival.values, "w": words[arrival.values["e"]]})
                for arrival in batch.arrivals
            ),
        )
        for batch in stream
    ]


@settings(max_examples=100, deadline=None)
@given(query=queries(), stream=batches(), ways=ways, least=leasts)
def test_oracle_aggregates_of_text(query: Query, stream: list[Batch], ways: list[Way], least: int) -> None:
    query = replace(query, aggregates=TEXT)
    bound = BoundQuery(query, table_of([], WORDED).schema, "t", ("k",))
    with small_journals(least):
        require_answered_as_the_reference(Runtime(bound, ways=ways, types=WORDED), worded(stream))


def whole_windows(query: Query, ways: list[Way]) -> Runtime:
    """A function sees the rows of each window, and computes what aggregates would."""
    schema = table_of([], WORDED).schema
    answer = pa.schema([("words", pa.list_(pa.string())), ("last", pa.string()), ("e", pa.int64())])
    bound = BoundWhole(replace(query, aggregates={}), schema, "t", ("k",), Apply(_computed, answer))
    runtime = Runtime(bound, ways=ways, types=WORDED)
    runtime.shown_as = BoundQuery(replace(query, aggregates=TEXT), schema, "t", ("k",))
    return runtime


def _computed(events: pa.Table) -> dict[str, Any]:
    words = events["w"].to_pylist()
    known = [word for word in words if word is not None]
    return {"words": known, "last": known[-1] if known else None, "e": max(events["e"].to_pylist())}


@settings(max_examples=100, deadline=None)
@given(query=queries(), stream=batches(), ways=ways, least=leasts)
def test_oracle_functions_of_whole_windows(
    query: Query, stream: list[Batch], ways: list[Way], least: int
) -> None:
    # A function has nothing to compute of a window without rows.
    query = replace(query, empty=False, emit=Emit(), allowed_lateness=NO_TIME, flush=False)
    runtime = whole_windows(query, ways)
    outcome = evaluate(runtime.shown_as.query, worded(stream))
    with small_journals(least):
        steps = [runtime.step(batch) for batch in worded(stream)]
    runtime.close()
    emitted = sorted((row for reports, _ in steps for row in reports), key=repr)
    assert emitted == expected(runtime.shown_as, outcome.reports)


def test_an_open_window_of_rows_keeps_its_start_when_its_elements_move() -> None:
    runtime = whole_windows(Query((windows.session(3),), flush=False), [Way.SAME])
    stream = [
        Batch(tuple(Arrival(t, "a", {"e": t, "x": 1, "w": "w"}) for t in times))
        for times in (range(5, 8), [*range(8, 14), 90])
    ]
    reports = [row for batch in stream for row in runtime.step(batch)[0]]
    assert [(start, end, e) for _, _, _, start, end, _, _, e, _ in reports] == [(5, 16, 13)]


def test_look_backs_of_different_lengths_fold_objects_of_one_key() -> None:
    named = tuple(windows.slide_by_tuple(lookback, 1).named(str(lookback)) for lookback in (1, 9, 3))
    bound = BoundRolling(Query(named, AGGREGATES), table_of([], TYPES).schema, "t", ("k",))
    runtime = Runtime(bound)
    rows = _features(runtime, Batch(tuple(Arrival(t, "a", {"e": t, "x": 1}) for t in range(12)), 12))
    for lookback in (1, 9, 3):
        held = [row[f"held_{lookback}"] for row in rows]
        assert held == [list(range(max(0, t + 1 - lookback), t + 1)) for t in range(12)]


@settings(max_examples=100, deadline=None)
@given(
    stream=batches(),
    lookbacks=st.lists(st.integers(1, 30), min_size=1, max_size=3, unique=True),
    delay=st.integers(0, 15),
    ways=ways,
    least=leasts,
)
def test_oracle_rolling_features_come_once_for_every_event(
    stream: list[Batch], lookbacks: list[int], delay: int, ways: list[Way], least: int
) -> None:
    named = tuple(windows.slide_by_tuple(lookback, 1).named(str(lookback)) for lookback in lookbacks)
    query = Query(named, AGGREGATES, delay=Duration(delay, Unit.TICKS))
    bound = BoundRolling(query, table_of([], TYPES).schema, "t", ("k",))
    runtime = Runtime(bound, ways=ways)
    with small_journals(least):
        rows = [row for batch in stream for row in _features(runtime, batch)]
    rows += runtime.operator.advance(runtime.now, flush=True).reports.to_pylist()
    runtime.close()
    outcome = evaluate(query, stream)
    for lookback in lookbacks:
        expected = [report for report in outcome.reports if report.window == str(lookback)]
        emitted = sorted(
            ((row["k"], *(row[f"{name}_{lookback}"] for name in AGGREGATES)) for row in rows), key=repr
        )
        assert emitted == sorted(((report.key, *report.values.values()) for report in expected), key=repr)


def _features(runtime: Runtime, batch: Batch) -> list[dict[str, Any]]:
    runtime.operator.insert(table_of(list(batch.arrivals), TYPES), np.arange(len(batch.arrivals)))
    runtime.watermark.observe(a.time for a in batch.arrivals if a.time is not None)
    if batch.watermark is not None:
        runtime.watermark.advance_to(batch.watermark)
    rows = runtime.operator.advance(runtime.now).reports.to_pylist()
    runtime.pause()
    return rows


def test_what_is_held_does_not_grow_with_the_stream() -> None:
    runtime = Runtime(bound_query(Query((windows.time(10, 5),), AGGREGATES)))
    elements, keys, headers = [], [], []
    for start in range(0, 400, 10):
        batch = [Arrival(t, f"key {t}", {"e": t, "x": 1}) for t in range(start, start + 10)]
        runtime.step(Batch(tuple(batch)))
        elements.append(elements_of(runtime.operator))
        keys.append(len(runtime.operator.slots))
        headers.append(len(runtime.header))
    assert max(elements[5:]) <= 15
    assert max(keys[5:]) <= 25
    assert max(headers[5:]) <= 1.2 * headers[5]


@pytest.mark.parametrize("keys", [1, 3, 16, 64])
def test_smaller_regions_of_keys_that_let_most_of_their_elements_go_lie_within_the_table(keys: int) -> None:
    runtime = Runtime(bound_query(Query((windows.time(200, 5),), AGGREGATES)))
    for start in (0, 128):
        batch = [
            Arrival(t, f"key {k}", {"e": t, "x": 1}) for t in range(start, start + 128) for k in range(keys)
        ]
        runtime.step(Batch(tuple(batch)))
    for watermark in range(300, 500, 20):
        runtime.step(Batch((), watermark))
        (group,) = runtime.operator.groups
        assert isinstance(group.lane, RingLane)
        assert group.lane._free[rings.TOP] <= len(group.lane.elements)
    assert elements_of(runtime.operator) == 0


def test_what_is_stored_does_not_grow_with_the_stream() -> None:
    runtime = Runtime(bound_query(Query((windows.time(10, 5),), AGGREGATES)))
    stored = []
    with small_journals(10_000):
        for start in range(0, 2000, 10):
            batch = [Arrival(t, f"key {t}", {"e": t, "x": 1}) for t in range(start, start + 10)]
            runtime.step(Batch(tuple(batch)))
            stored.append(runtime.store.bytes)
    # At most a snapshot and a journal that has grown to its size, or to the least.
    assert max(stored[100:]) <= 1.1 * max(stored[:100]) <= 40_000
    assert min(stored[100:]) < 10_000


def test_a_batch_writes_its_own_events_and_not_those_before_it() -> None:
    runtime = Runtime(bound_query(Query((windows.time(10_000, 5),), AGGREGATES)))
    written = []
    for start in range(0, 1000, 10):
        batch = [Arrival(t, "a", {"e": t, "x": 1}) for t in range(start, start + 10)]
        runtime.operator.insert(table_of(batch, TYPES), np.arange(10))
        runtime.operator.advance(start)
        saved = runtime.operator.save()
        runtime.store.take(saved)
        if not saved.dropped:  # else it is a snapshot, or entries are put together
            written.append(sum(map(len, saved.written.values())))
        runtime.operator.resume(saved.header, runtime.store)
    assert len(written) >= 98 - 100 // journal.FAN
    assert max(written) <= 1.1 * min(written)  # what compression makes of ten events differs a little


def test_state_that_is_damaged_or_incomplete_is_refused() -> None:
    bound = bound_query(Query((windows.rows(3),), AGGREGATES))
    operator = WindowOperator.load(bound, None, {})
    operator.insert(table_of([Arrival(1, "a", {"e": 0, "x": 1})], TYPES), np.arange(1))
    saved = operator.save()
    with pytest.raises(CorruptValue, match="checksum"):
        WindowOperator.load(bound, saved.header[:-1] + b"!", saved.written)
    with pytest.raises(CorruptValue, match="lacks the chunk 0"):
        WindowOperator.load(bound, saved.header, {})
    damaged = {number: data[:-1] + b"!" for number, data in saved.written.items()}
    with pytest.raises(CorruptValue, match="checksum"):
        WindowOperator.load(bound, saved.header, damaged)


def test_a_chunk_in_the_place_of_another_is_refused() -> None:
    runtime = Runtime(bound_query(Query((windows.rows(3),), AGGREGATES)))
    for time in range(2):
        runtime.step(Batch((Arrival(time, "a", {"e": time, "x": 1}),)))
    kept = runtime.store.kept
    kept[0], kept[1] = kept[1], kept[0]
    with pytest.raises(CorruptValue, match="checksum"):
        runtime.go_on(Way.REBUILT)


def test_state_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = bound_query(Query((windows.rows(3),), AGGREGATES))
    header = WindowOperator.load(bound, None, {}).save().header
    monkeypatch.setattr(journal, "LAYOUT", journal.LAYOUT + 1)
    with pytest.raises(StoreError, match="the state of a query has layout"):
        WindowOperator.load(bound, header, {})


def test_the_operator_wakes_when_its_next_window_closes() -> None:
    runtime = Runtime(bound_query(Query((windows.time(10, 5),), AGGREGATES)))
    assert runtime.operator.next_timer() is None
    runtime.operator.insert(table_of([Arrival(7, "a", {"e": 0, "x": 1})], TYPES), np.arange(1))
    assert runtime.operator.next_timer() == 10
    runtime.operator.advance(10)
    assert runtime.operator.next_timer() == 15
    runtime.operator.advance(15)
    assert runtime.operator.next_timer() is None


def test_the_operator_wakes_for_early_reports_and_for_events_without_a_place() -> None:
    early = bound_query(Query((windows.time(10, 10),), AGGREGATES, emit=Emit.parse("every 3")))
    operator = WindowOperator.load(early, None, {})
    operator.insert(table_of([Arrival(7, "a", {"e": 0, "x": 1})], TYPES), np.arange(1))
    operator.advance(4)
    assert operator.next_timer() == 6
    delta = bound_query(Query((windows.delta("x", 5, 5),), AGGREGATES))
    operator = WindowOperator.load(delta, None, {})
    operator.insert(table_of([Arrival(7, "a", {"e": 0, "x": None})], TYPES), np.arange(1))
    operator.advance(4)
    assert operator.next_timer() == 7


def test_a_stream_without_a_key_is_one_key() -> None:
    bound = BoundQuery(
        Query((windows.rows(2),), {"n": built_in.count()}), pa.schema([("t", pa.int64())]), "t", ()
    )
    operator, chunks = WindowOperator.load(bound, None, {}), dict[int, bytes]()
    for start in (0, 2):
        operator.insert(pa.table({"t": [start, start + 1]}), np.arange(2))
        saved = operator.save()
        chunks |= saved.written
        operator = WindowOperator.load(bound, saved.header, chunks)
        assert operator.advance(start + 1).reports["n"].to_pylist() == [2]


def test_every_window_kind_has_a_class() -> None:
    assert {kind.__name__ for kind in KINDS} - {"EngineWindow", "EngineSession"} == {
        name for name in windows.__all__ if name.endswith("Window")
    }
    assert all(issubclass(kind, Window) for kind in KINDS)
