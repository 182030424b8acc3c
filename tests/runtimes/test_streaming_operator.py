"""The streaming window operator in process, against the reference, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.aggregation import monoids
from sash.errors import CorruptValue
from sash.operators.bound import BoundQuery, BoundRolling
from sash.operators.engine import WindowOperator
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Order
from sash.semantics.query import Emit, Query
from sash.semantics.reference import Arrival, Batch, Report, evaluate
from sash.semantics.watermark import Watermark
from sash.semantics.window import Window
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import table_of

TYPES = {"e": pa.int64(), "x": pa.int64()}
AGGREGATES = {"n": monoids.count(), "s": monoids.sum("x"), "held": monoids.collect("e")}
Shown = tuple[Any, ...]


class Runtime:
    """What a runtime does: feed batches, follow the watermark, keep the operator as bytes in between."""

    def __init__(
        self, bound: BoundQuery, *, restart: bool, types: dict[str, pa.DataType] | None = None
    ) -> None:
        self.bound, self.restart, self.types = bound, restart, types or TYPES
        self.operator = WindowOperator.load(bound, None, {})
        self.chunks: dict[int, bytes] = {}
        self.watermark = Watermark(delay=bound.query.delay.length)

    def step(self, batch: Batch) -> tuple[list[Shown], list[Shown]]:
        rows = table_of(list(batch.arrivals), self.types)
        late = self.operator.insert(rows, np.arange(rows.num_rows))
        self.watermark.observe(a.time for a in batch.arrivals if a.time is not None)
        if batch.watermark is not None:
            self.watermark.advance_to(batch.watermark)
        now = self.watermark.value if self.watermark.value is not None else -(2**60)
        said = self.operator.advance(now)
        self.pause()
        return shown(self.bound, said.reports), unplaced(pa.concat_tables([late, said.late]))

    def flush(self) -> tuple[list[Shown], list[Shown]]:
        now = self.watermark.value if self.watermark.value is not None else -(2**60)
        said = self.operator.advance(now, flush=True)
        return shown(self.bound, said.reports), unplaced(said.late)

    def pause(self) -> None:
        saved = self.operator.save()
        self.chunks |= saved.written
        for number in saved.dropped:
            del self.chunks[number]
        if self.restart:
            self.operator = WindowOperator.load(self.bound, saved.header, self.chunks)


def shown(bound: BoundQuery, reports: pa.Table) -> list[Shown]:
    rows = []
    for row in reports.to_pylist():
        window, values = row["window"], [row[name] for name in bound.aggregates]
        where = (row["k"], window.get("name"), window["id"], window["start"], window["end"])
        rows.append((*where, *values, row.get("revision", 0)))
    return sorted(rows, key=repr)


def expected(bound: BoundQuery, reports: list[Report]) -> list[Shown]:
    rows = []
    for report in reports:
        name = report.window if bound.several_windows else None
        where = (report.key, name, report.id, report.start, report.end)
        rows.append((*where, *report.values.values(), report.revision))
    return sorted(rows, key=repr)


def unplaced(late: pa.Table) -> list[Shown]:
    return sorted((row["e"], row["late_reason"], row["late_window"] or "") for row in late.to_pylist())


@st.composite
def queries(draw: st.DrawFn) -> Query:
    asked = draw(st.lists(any_window, min_size=1, max_size=3))
    named = tuple(window.named(f"w{number}") for number, window in enumerate(asked))
    arrival = draw(st.booleans()) and all(Order.ARRIVAL in window.orders for window in named)
    emit = draw(st.sampled_from(["close", "close", "change", "every 7"]))
    if arrival:
        emit = "close" if emit.startswith("every") else emit
        return Query(
            named, AGGREGATES, order=Order.ARRIVAL, emit=Emit.parse(emit), empty=draw(st.booleans())
        )
    return Query(
        named,
        AGGREGATES,
        delay=Duration(draw(st.integers(0, 15)), Unit.TICKS),
        allowed_lateness=Duration(draw(st.sampled_from([0, 0, 5, 30])), Unit.TICKS),
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


def require_answered_as_the_reference(runtime: Runtime, bound: BoundQuery, stream: list[Batch]) -> None:
    """Batch after batch, and at the end."""
    query = bound.query
    reports, late = 0, 0
    quiet = Query(**{**query.__dict__, "flush": False})
    for count in range(1, len(stream) + 1):
        outcome = evaluate(quiet, stream[:count])
        said, misfits = runtime.step(stream[count - 1])
        assert said == expected(bound, outcome.reports[reports:]), f"batch {count}"
        assert misfits == lates(outcome.late[late:]), f"batch {count}"
        reports, late = len(outcome.reports), len(outcome.late)
    outcome = evaluate(query, stream)
    said, misfits = runtime.flush()
    assert said == expected(bound, outcome.reports[reports:]), "flush"
    assert misfits == lates(outcome.late[late:]), "flush"


@settings(max_examples=600, deadline=None)
@given(query=queries(), stream=batches(), restart=st.booleans())
def test_oracle_every_batch_is_answered_as_the_reference_answers_it(
    query: Query, stream: list[Batch], restart: bool
) -> None:
    bound = BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))
    runtime = Runtime(bound, restart=restart)
    require_answered_as_the_reference(runtime, bound, stream)


def lates(entries: list) -> list[Shown]:
    return sorted((entry.arrival.values["e"], entry.reason, entry.window or "") for entry in entries)


@settings(max_examples=100, deadline=None)
@given(
    stream=batches(),
    lookbacks=st.lists(st.integers(1, 30), min_size=1, max_size=3, unique=True),
    delay=st.integers(0, 15),
    restart=st.booleans(),
)
def test_oracle_rolling_features_come_once_for_every_event(
    stream: list[Batch], lookbacks: list[int], delay: int, restart: bool
) -> None:
    named = tuple(windows.slide_by_tuple(lookback, 1).named(str(lookback)) for lookback in lookbacks)
    query = Query(named, AGGREGATES, delay=Duration(delay, Unit.TICKS))
    bound = BoundRolling(query, table_of([], TYPES).schema, "t", ("k",))
    runtime, rows = Runtime(bound, restart=restart), []
    for batch in stream:
        runtime.operator.insert(table_of(list(batch.arrivals), TYPES), np.arange(len(batch.arrivals)))
        runtime.watermark.observe(a.time for a in batch.arrivals if a.time is not None)
        if batch.watermark is not None:
            runtime.watermark.advance_to(batch.watermark)
        if runtime.watermark.value is not None:
            rows += runtime.operator.advance(runtime.watermark.value).reports.to_pylist()
        runtime.pause()
    rows += runtime.operator.advance(runtime.watermark.value or 0, flush=True).reports.to_pylist()
    outcome = evaluate(query, stream)
    for lookback in lookbacks:
        told = [report for report in outcome.reports if report.window == str(lookback)]
        said = sorted(
            ((row["k"], *(row[f"{name}_{lookback}"] for name in AGGREGATES)) for row in rows), key=repr
        )
        assert said == sorted(((report.key, *report.values.values()) for report in told), key=repr)


def test_what_is_held_does_not_grow_with_the_stream() -> None:
    query = Query((windows.time(10, 5),), AGGREGATES)
    runtime = Runtime(BoundQuery(query, table_of([], TYPES).schema, "t", ("k",)), restart=False)
    sizes, headers = [], []
    for start in range(0, 400, 10):
        batch = [Arrival(t, f"key {t}", {"e": t, "x": 1}) for t in range(start, start + 10)]
        runtime.step(Batch(tuple(batch)))
        assert runtime.operator.held is not None
        sizes.append(len(runtime.operator.held))
        headers.append(len(runtime.operator.save().header))
    assert max(sizes[5:]) <= 15
    assert max(headers[5:]) <= 1.2 * headers[5]
    assert len(runtime.chunks) <= 3


def test_a_batch_writes_its_own_events_and_not_those_before_it() -> None:
    query = Query((windows.time(10_000, 5),), AGGREGATES)
    runtime = Runtime(BoundQuery(query, table_of([], TYPES).schema, "t", ("k",)), restart=False)
    written = []
    for start in range(0, 1000, 10):
        batch = [Arrival(t, "a", {"e": t, "x": 1}) for t in range(start, start + 10)]
        runtime.operator.insert(table_of(batch, TYPES), np.arange(10))
        runtime.operator.advance(start)
        written.append(sum(map(len, runtime.operator.save().written.values())))
    assert max(written) <= 1.1 * min(written)  # what compression makes of ten events differs a little


def test_state_that_is_damaged_or_incomplete_is_refused() -> None:
    bound = BoundQuery(Query((windows.count(3),), AGGREGATES), table_of([], TYPES).schema, "t", ("k",))
    runtime = Runtime(bound, restart=False)
    runtime.operator.insert(table_of([Arrival(1, "a", {"e": 0, "x": 1})], TYPES), np.arange(1))
    saved = runtime.operator.save()
    with pytest.raises(CorruptValue, match="checksum"):
        WindowOperator.load(bound, saved.header[:-1] + b"!", saved.written)
    with pytest.raises(CorruptValue, match="lacks the chunks"):
        WindowOperator.load(bound, saved.header, {})


def test_state_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from sash.operators.streaming import saving

    bound = BoundQuery(Query((windows.count(3),), AGGREGATES), table_of([], TYPES).schema, "t", ("k",))
    header = WindowOperator.load(bound, None, {}).save().header
    monkeypatch.setattr(saving, "LAYOUT", saving.LAYOUT + 1)
    with pytest.raises(CorruptValue, match="saved by another version of Sash"):
        WindowOperator.load(bound, header, {})


def test_the_operator_wakes_when_its_next_window_closes() -> None:
    bound = BoundQuery(Query((windows.time(10, 5),), AGGREGATES), table_of([], TYPES).schema, "t", ("k",))
    runtime = Runtime(bound, restart=False)
    assert runtime.operator.wakes_at() is None
    runtime.operator.insert(table_of([Arrival(7, "a", {"e": 0, "x": 1})], TYPES), np.arange(1))
    assert runtime.operator.wakes_at() == 10
    runtime.operator.advance(10)
    assert runtime.operator.wakes_at() == 15
    runtime.operator.advance(15)
    assert runtime.operator.wakes_at() is None


def test_the_operator_wakes_for_early_reports_and_for_events_without_a_place() -> None:
    schema = table_of([], TYPES).schema
    early = BoundQuery(
        Query((windows.time(10, 10),), AGGREGATES, emit=Emit.parse("every 3")), schema, "t", ("k",)
    )
    operator = WindowOperator.load(early, None, {})
    operator.insert(table_of([Arrival(7, "a", {"e": 0, "x": 1})], TYPES), np.arange(1))
    operator.advance(4)
    assert operator.wakes_at() == 6
    delta = BoundQuery(Query((windows.delta("x", 5, 5),), AGGREGATES), schema, "t", ("k",))
    operator = WindowOperator.load(delta, None, {})
    operator.insert(table_of([Arrival(7, "a", {"e": 0, "x": None})], TYPES), np.arange(1))
    operator.advance(4)
    assert operator.wakes_at() == 7


def test_a_stream_without_a_key_is_one_key() -> None:
    bound = BoundQuery(
        Query((windows.count(2),), {"n": monoids.count()}), pa.schema([("t", pa.int64())]), "t", ()
    )
    operator = WindowOperator.load(bound, None, {})
    for start in (0, 2):
        operator.insert(pa.table({"t": [start, start + 1]}), np.arange(2))
        saved = operator.save()
        operator = WindowOperator.load(bound, saved.header, saved.written)
        assert operator.advance(start + 1).reports["n"].to_pylist() == [2]


def test_every_window_kind_has_a_progress() -> None:
    from sash.operators.streaming.track import PROGRESS

    assert {kind.__name__ for kind in PROGRESS} == {
        name for name in windows.__all__ if name.endswith("Window")
    }
    assert all(issubclass(kind, Window) for kind in PROGRESS)
