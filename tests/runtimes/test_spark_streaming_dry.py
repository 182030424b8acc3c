"""Packer, processor, state and timers, in process: any stream in any micro-batches, by the reference."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation import built_in
from sash.errors import CorruptValue, DifferentQuery
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import WindowOperator, keeps_panes
from sash.operators.protocol import StreamOperator
from sash.runtimes.spark.packing.outputs import LATE, REPORTS, Outputs
from sash.runtimes.spark.state.operators_in_state import TOKEN
from sash.runtimes.spark.streaming.processor_for_driver import VARIABLE
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Order
from sash.semantics.query import Emit, Query, When
from sash.semantics.reference import Arrival, Batch, Outcome, evaluate
from sash.semantics.window import Window
from sash.semantics.windows import SlideByTimeWindow
from tests.runtimes.micro_batches import DryStream
from tests.runtimes.naive_operator import NaiveOperator
from tests.runtimes.strategies import any_window, arrivals
from tests.runtimes.tables import table_of
from tests.runtimes.test_paned_operator import bind, clock_windows, four_keys

TYPES = {"e": pa.int64(), "x": pa.int64()}
AGGREGATES = {"n": built_in.count(), "s": built_in.sum("x"), "held": built_in.collect("e")}


def bound_query(query: Query) -> BoundQuery:
    return BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))


@st.composite
def cut(draw: st.DrawFn) -> list[list[Arrival]]:
    """A stream in a few micro-batches."""
    stream = draw(arrivals(max_size=24))
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    edges = [0, *cuts, len(stream)]
    return [stream[lo:hi] for lo, hi in pairwise(edges)]


@st.composite
def queries(draw: st.DrawFn) -> Query:
    window_list = draw(st.lists(any_window, min_size=1, max_size=2))
    named = tuple(window.named(f"w{number}") for number, window in enumerate(window_list))
    if draw(st.booleans()) and all(Order.ARRIVAL in window.orders for window in named):
        return Query(named, AGGREGATES, order=Order.ARRIVAL, empty=draw(st.booleans()), flush=False)
    emits = [Emit(), Emit(When.CHANGE), Emit(When.EVERY, Duration(5, Unit.TICKS))]
    if any(isinstance(window, SlideByTimeWindow) for window in named):
        emits = [Emit()]  # how far other buckets have come is not known before the watermark moves
    return Query(
        named,
        AGGREGATES,
        delay=Duration(draw(st.sampled_from([0, 0, 4, 30])), Unit.TICKS),
        allowed_lateness=Duration(draw(st.sampled_from([0, 0, 3, 20])), Unit.TICKS),
        emit=draw(st.sampled_from(emits)),
        empty=draw(st.booleans()),
        flush=False,
    )


def expected(outcome: Outcome, query: Query) -> list[tuple]:
    several = len(query.windows) > 1
    return sorted(
        (
            (r.key, r.window if several else None, r.id, r.start, r.end, *r.values.values(), r.revision)
            for r in outcome.reports
        ),
        key=repr,
    )


def observed(rows: list[dict], query: Query) -> list[tuple]:
    shown = [
        (
            row["k"],
            row["window"].get("name"),
            row["window"]["id"],
            row["window"]["start"],
            row["window"]["end"],
            *(row[name] for name in AGGREGATES),
            row.get("revision", 0),
        )
        for row in rows
    ]
    return sorted(shown, key=repr)


@pytest.mark.parametrize("window", [windows.time(2, 1), windows.cumulate(2, 1)])
def test_an_empty_window_is_reported_also_while_no_key_of_its_bucket_is_active(window: Window) -> None:
    query = Query((window,), {"n": built_in.count()}, empty=True, flush=False)
    batches = [
        [Arrival(time, key, {"e": time, "t": time, "x": 0}) for time, key in some]
        for some in ([(-1, "b"), (0, "a")], [(0, "a"), (1, "a")], [(5, "a")])
    ]
    bound = BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))
    rows = DryStream(bound).run([table_of(batch, TYPES) for batch in batches])
    outcome = evaluate(query, [Batch(tuple(batch)) for batch in batches])
    found = sorted((row["k"], row["window"]["id"], row["n"]) for row in rows)
    assert found == sorted((one.key, one.id, one.values["n"]) for one in outcome.reports)
    assert ("b", outcome.reports[-1].id, 0) in found


@settings(max_examples=150, deadline=None)
@given(
    query=queries(),
    batches=cut(),
    operator=st.sampled_from([NaiveOperator, WindowOperator]),
    outputs=st.sampled_from([(REPORTS,), (REPORTS, LATE)]),
    forgetful=st.booleans(),
)
def test_oracle_one_pass_gives_the_reports_and_late_rows_of_the_reference_in_any_micro_batches(
    query: Query, batches: list[list[Arrival]], operator: type[StreamOperator], outputs: Outputs,
    forgetful: bool,
) -> None:  # fmt: skip
    outcome = evaluate(query, [Batch(tuple(batch)) for batch in batches])
    dry = DryStream(bound_query(query), operator, outputs=outputs, forgetful=forgetful)
    rows = dry.run([table_of(batch, TYPES) for batch in batches])
    assert observed(rows, query) == expected(outcome, query)
    late = sorted((entry.arrival.values["e"], entry.reason, entry.window or "") for entry in outcome.late)
    if LATE in outputs:
        assert sorted((row["e"], row["late_reason"], row["late_window"] or "") for row in dry.late) == late
    assert dry.counts["events"] == sum(map(len, batches))
    assert (dry.counts["reports"], dry.counts["late"]) == (len(outcome.reports), len(outcome.late))


@settings(max_examples=60, deadline=None)
@given(
    window_list=st.lists(clock_windows, min_size=1, max_size=2),
    batches=cut(),
    delay=st.sampled_from([0, 4, 30]),
    forgetful=st.booleans(),
    outputs=st.sampled_from([(REPORTS,), (REPORTS, LATE)]),
)
def test_oracle_panes_answer_as_the_reference_does_in_any_micro_batches(
    window_list: list[Window], batches: list[list[Arrival]], delay: int, forgetful: bool, outputs: Outputs
) -> None:
    bound = bind(*window_list, delay=delay)
    outcome = evaluate(replace(bound.query, flush=False), [Batch(tuple(batch)) for batch in batches])
    dry = DryStream(bound, forgetful=forgetful, outputs=outputs)
    assert keeps_panes(bound)
    rows = dry.run([table_of(batch, TYPES) for batch in batches])
    assert (dry.counts["reports"], dry.counts["late"]) == (len(outcome.reports), len(outcome.late))
    if LATE in outputs:
        late = sorted((entry.arrival.values["e"], entry.reason) for entry in outcome.late)
        assert sorted((row["e"], row["late_reason"]) for row in dry.late) == late
    shown = [
        (row["k"], row["window"]["id"], row["window"]["end"], *(row[name] for name in bound.aggregates))
        for row in rows
    ]
    expected_reports = [(r.key, r.id, r.end, *r.values.values()) for r in outcome.reports]
    assert sorted(shown, key=repr) == sorted(expected_reports, key=repr)


@pytest.mark.parametrize("forgetful", [False, True])
def test_the_state_that_a_batch_moves_does_not_grow_with_the_window(forgetful: bool) -> None:
    moved = []
    for size in (64, 6400):
        dry = DryStream(bind(windows.time(size, 1)), forgetful=False)
        for start in range(-400 * (size // 400 + 2), 0, 400):
            dry.batch(table_of(four_keys(start, start + 400), TYPES))
        for start in range(0, 1690, 10):
            dry.batch(table_of(four_keys(start, start + 10), TYPES))
            # By then what came before is closed, and its entries are put together, which is paid once; the
            # next 128 are put together again, whatever the window.
            if start == 400:
                dry.forgetful, before = forgetful, dict(dry.counts)
        moved.append({count: dry.counts[count] - before[count] for count in ("read", "written", "reports")})
    short, long = moved
    assert short["reports"] == long["reports"] == 4 * 1280
    # A hundred times the window: one large snapshot falls into these batches, where the short one has many
    # small ones; and entries are read once, when 32 of them are put together.
    assert long["written"] < 2 * short["written"]
    assert long["read"] < long["written"]


def tumbling(size: int = 10, **changes: object) -> Query:
    return replace(Query((windows.tumbling(size),), AGGREGATES, flush=False), **changes)


def table(*times: int | None) -> pa.Table:
    return table_of([Arrival(t, "a", {"e": n, "x": 1}) for n, t in enumerate(times)], TYPES)


def test_an_operator_at_hand_is_not_read_again() -> None:
    dry = DryStream(bound_query(tumbling()), NaiveOperator, forgetful=False)
    dry.run([table(1), table(2), table(15)])
    assert dry.counts["restored"] == 0
    other = DryStream(bound_query(tumbling()), NaiveOperator, forgetful=True)
    other.run([table(1), table(2), table(15)])
    assert other.counts["restored"] == 3  # two batches, and the timer of the third


def test_an_operator_whose_batch_was_rolled_back_is_not_trusted() -> None:
    patient = tumbling(delay=Duration(10, Unit.TICKS))
    dry = DryStream(bound_query(patient), NaiveOperator, forgetful=False)
    dry.batch(table(1))
    states = dry.engine.handle.value_states | dry.engine.handle.map_states
    before = {name: _copied(state.state) for name, state in states.items()}
    dry.batch(table(2, 3))
    for name, state in states.items():
        state.state = before[name]
    dry.batch(table(2, 3))
    (row,) = dry.run([table(30)])
    assert (row["n"], dry.counts["restored"]) == (3, 1)


def _copied(state: dict) -> dict:
    return {key: dict(value) if isinstance(value, dict) else value for key, value in state.items()}


def test_a_bucket_has_one_timer_and_it_moves_to_the_next_window_that_can_close() -> None:
    # t        0        10        20   25   30
    #           e1                     e2
    # closes            ^                   ^
    dry = DryStream(bound_query(tumbling()), NaiveOperator)
    shift = dry.stage.clock.shift
    dry.batch(table(1))
    assert _timers(dry) == [shift + 10]
    dry.batch(table(25))
    dry.batch(None)
    assert _timers(dry) == [shift + 30]


def _timers(dry: DryStream) -> list[int]:
    timers = dry.engine.handle._timers
    return [at for bucket in timers.getAllKeysWithTimers() for at in timers.listTimers(bucket)]


def resumed(before: DryStream, query: Query, operator: type[StreamOperator] = NaiveOperator) -> DryStream:
    """Another query on the state that one has left."""
    after = DryStream(bound_query(query), operator)
    for name, state in before.engine.handle.value_states.items():
        after.engine.handle.value_states[name].state = state.state
    for name, state in before.engine.handle.map_states.items():
        after.engine.handle.map_states[name].state = state.state
    after.engine.handle._timers, after.newest = before.engine.handle._timers, before.newest
    return after


def test_the_same_query_goes_on_where_it_was() -> None:
    dry = DryStream(bound_query(tumbling()), NaiveOperator)
    dry.batch(table(1))
    (row,) = resumed(dry, tumbling()).run([table(2, 30)])
    assert row["n"] == 2


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (tumbling(20), r"windows were tumbling\(10\) and are tumbling\(20\)"),
        (tumbling(delay=Duration(5, Unit.TICKS)), "delay was '0' and is '5'"),
        (tumbling(emit=Emit(When.CHANGE)), "emit was 'close' and is 'change'"),
        (tumbling(empty=True), "empty was False and is True"),
        (tumbling(aggregates={"n": built_in.count()}), "aggregate held is gone; aggregate s is gone"),
    ],
    ids=["window", "delay", "emit", "empty", "aggregates"],
)
def test_another_query_on_the_same_state_is_refused_and_told_what_differs(
    other: Query, message: str
) -> None:
    dry = DryStream(bound_query(tumbling()), NaiveOperator)
    dry.batch(table(1))
    with pytest.raises(DifferentQuery, match=message):
        resumed(dry, other).batch(table(2))


def test_damaged_state_is_refused_and_named() -> None:
    dry = DryStream(bound_query(tumbling()), NaiveOperator)
    dry.batch(table(1))
    ((bucket, kept),) = dry.engine.handle.map_states[VARIABLE].state.items()
    kept[TOKEN,] = (kept[TOKEN,][0][:-1] + b"?",)
    with pytest.raises(CorruptValue, match=f"state of bucket {bucket}"):
        dry.batch(table(2))


def test_a_batch_without_rows_says_nothing() -> None:
    dry = DryStream(bound_query(tumbling()), NaiveOperator)
    assert dry.run([table(), table()]) == []


@pytest.mark.parametrize("window", [windows.tumbling(10), windows.rows(2)], ids=str)
def test_a_stream_without_a_key_is_one_bucket(window: Window) -> None:
    bound = BoundQuery(replace(tumbling(), windows=(window,)), table_of([], TYPES).schema, "t", ())
    dry = DryStream(bound, NaiveOperator)
    rows = dry.run([table(1, 2), table(3, 30)])
    assert [row["held"] for row in rows][:1] == [[0, 1] if window == windows.rows(2) else [0, 1, 0]]


def test_windows_before_1970_wait_for_sparks_clock_and_lose_nothing() -> None:
    #   1960 ……… 1969  |1970: Spark's watermark begins|  ……… 2026
    #   e0   e1  e2                                          e3
    schema = pa.schema([("ts", pa.timestamp("us", "UTC"))])
    query = Query((windows.tumbling("1 day"),), {"n": built_in.count()}, flush=False)
    dry = DryStream(BoundQuery(query, schema, "ts", ()), NaiveOperator)
    days = [dt.datetime(year, 6, 1, tzinfo=dt.UTC) for year in (1960, 1969, 1969, 2026)]
    batches = [pa.table({"ts": [day]}, schema=schema) for day in days]
    assert [dry.batch(batch) for batch in batches] == [[], [], [], []]
    rows = dry.batch(None)
    assert {row["window"]["start"]: row["n"] for row in rows} == {days[0]: 1, days[1]: 2}
    assert dry.counts["late"] == 0


def test_times_as_far_as_a_timestamp_reaches_are_windowed() -> None:
    schema = pa.schema([("ts", pa.timestamp("us", "UTC"))])
    query = Query((windows.tumbling("1 day"),), {"n": built_in.count()}, flush=False)
    dry = DryStream(BoundQuery(query, schema, "ts", ()), NaiveOperator)
    days = [dt.datetime(9999, 12, day, tzinfo=dt.UTC) for day in (30, 31)]
    (row,) = dry.run([pa.table({"ts": [day]}, schema=schema) for day in days])
    assert row["window"]["start"] == days[0]
