"""Panes folded before the shuffle: reports, late rows and counts of the reference, and the same state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import DataError
from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.packing.blocks import NEWEST_AT, PACKED_BUCKET, PAYLOAD, rows_of
from sash.runtimes.spark.packing.outputs import LATE, REPORTS, Outputs
from sash.runtimes.spark.streaming import panes_before_shuffle
from sash.runtimes.spark.streaming.panes_before_shuffle import PanePacker, Worth, why_rows
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.query import Emit, Query, When
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.micro_batches import (
    Delivered,
    DryStream,
    MicroBatches,
    placed,
    read_batches,
    stream_batches,
    write_batches,
)
from tests.runtimes.tables import table_of
from tests.runtimes.test_paned_operator import bind, clock_windows
from tests.runtimes.test_spark_streaming_dry import TYPES, cut

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Known = Callable[[int], int | None]
"""The watermark of a batch → the one that its tasks know."""
EAGER = Worth(least=0, few=2, saved=0.0, rest=0)


class EagerStage(WindowStage):
    """Folds whatever can be folded, also of a few rows."""

    @property
    def packer(self) -> Any:
        packer = super().packer
        return replace(packer, worth=EAGER) if isinstance(packer, PanePacker) else packer


class DryEarly(DryStream):
    """The same with panes that the packer folds."""

    def __init__(
        self, bound: BoundQuery, known: Known = lambda watermark: watermark, *,
        outputs: Outputs = (REPORTS,), forgetful: bool = True, stage: type[WindowStage] = EagerStage,
    ) -> None:  # fmt: skip
        super().__init__(bound, outputs=outputs, forgetful=forgetful)
        fields = {name: getattr(self.stage, name) for name in ("outputs", "buckets", "clock", "derived")}
        self.stage = stage.of(bound, **fields, early=True)
        assert self.stage.panes is not None
        self.engine = MicroBatches(WindowProcessor(self.stage))
        self.known = known

    def batch(self, table: pa.Table | None) -> list[dict[str, Any]]:
        watermark = max(self.watermark, self.newest - self.delay)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(panes_before_shuffle, "watermark_of_batch", lambda: self.known(watermark))
            return super().batch(table)


def shown(rows: list[dict[str, Any]], bound: BoundQuery) -> list[Any]:
    several = len(bound.query.windows) > 1
    found = [
        (*(row[key] for key in bound.keys), row["window"].get("name") if several else "",
         row["window"]["id"], row["window"]["end"], *(row[name] for name in bound.aggregates),
         row.get("revision", 0))
        for row in rows
    ]  # fmt: skip
    return sorted(found, key=repr)


def expected(outcome: Any, bound: BoundQuery) -> list[Any]:
    several = len(bound.query.windows) > 1
    found = [
        (
            *([r.key] if bound.keys else []),
            r.window if several else "",
            r.id,
            r.end,
            *r.values.values(),
            r.revision,
        )
        for r in outcome.reports
    ]
    return sorted(found, key=repr)


def unflushed(bound: BoundQuery, *, keyed: bool = True, empty: bool = False) -> BoundQuery:
    keys = bound.keys if keyed else ()
    return replace(bound, keys=keys, query=replace(bound.query, flush=False, empty=empty))


def sometimes(pattern: list[bool]) -> Known:
    """Tasks know the watermark in some of the batches."""
    turns = iter(pattern * 50)
    return lambda watermark: watermark if next(turns) else None


@settings(max_examples=120, deadline=None)
@given(
    window_list=st.lists(clock_windows, min_size=1, max_size=2), batches=cut(),
    delay=st.sampled_from([0, 4, 30]), known=st.lists(st.booleans(), min_size=1, max_size=3),
    outputs=st.sampled_from([(REPORTS,), (REPORTS, LATE)]),
    keyed=st.booleans(), empty=st.booleans(), forgetful=st.booleans(),
    lateness=st.sampled_from([0, 0, 3, 20]),
    emit=st.sampled_from([Emit(), Emit(When.CHANGE), Emit(When.EVERY, Duration(5, Unit.TICKS))]),
)  # fmt: skip
def test_oracle_panes_and_rows_in_turn_have_the_reports_and_late_rows_of_the_reference(
    window_list: list[Window], batches: list[list[Arrival]], delay: int, known: list[bool],
    outputs: Outputs, keyed: bool, empty: bool, forgetful: bool, lateness: int, emit: Emit,
) -> None:  # fmt: skip
    bound = unflushed(bind(*window_list, delay=delay), keyed=keyed, empty=empty)
    corrected = {"allowed_lateness": Duration(lateness, Unit.TICKS), "emit": emit}
    bound = replace(bound, query=replace(bound.query, **corrected))
    if not keyed:
        batches = [[replace(arrival, key=None) for arrival in batch] for batch in batches]
    outcome = evaluate(bound.query, [Batch(tuple(batch)) for batch in batches])
    dry = DryEarly(bound, sometimes(known), outputs=outputs, forgetful=forgetful)
    rows = dry.run([table_of(batch, TYPES) for batch in batches])
    assert shown(rows, bound) == expected(outcome, bound)
    if LATE in outputs:
        late = sorted((entry.arrival.values["e"], entry.reason) for entry in outcome.late)
        assert sorted((row["e"], row["late_reason"]) for row in dry.late) == late
    assert dry.counts["events"] == sum(map(len, batches))
    assert (dry.counts["reports"], dry.counts["late"]) == (len(outcome.reports), len(outcome.late))


@settings(max_examples=40, deadline=None)
@given(
    window_list=st.lists(clock_windows, min_size=1, max_size=2), batches=cut(), keyed=st.booleans(),
    lateness=st.sampled_from([0, 20]),
)  # fmt: skip
def test_differential_what_is_kept_of_panes_is_what_is_kept_of_rows(
    window_list: list[Window], batches: list[list[Arrival]], keyed: bool, lateness: int
) -> None:
    """So that a checkpoint does not know which of them came, and goes on with the other."""
    bound = unflushed(bind(*window_list, delay=30), keyed=keyed)
    query = replace(bound.query, allowed_lateness=Duration(lateness, Unit.TICKS))
    bound = replace(bound, query=query)
    early, rows, resumed = DryEarly(bound), DryStream(bound), DryStream(bound)
    for batch in batches:
        table = table_of(batch, TYPES)
        assert shown(early.batch(table), bound) == shown(rows.batch(table), bound)
    assert early.stage.description == rows.stage.description
    for name, state in early.engine.handle.map_states.items():
        resumed.engine.handle.map_states[name].state = state.state
    resumed.engine.handle._timers, resumed.newest = early.engine.handle._timers, early.newest
    last = table_of([Arrival(2000, "a" if keyed else None, {"e": 0, "x": 1})], TYPES)
    assert shown(resumed.run([last]), bound) == shown(rows.run([last]), bound)


def test_integer_sums_of_panes_are_exact() -> None:
    bound = unflushed(bind(windows.tumbling(10), aggregates={"s": built_in.sum("x")}))
    top = 2**63 - 1
    dry = DryEarly(bound)
    values = [top, top, -top, -top, top, 1, -1]
    table = table_of([Arrival(1, "a", {"e": 0, "x": x}) for x in values], TYPES)
    (row,) = dry.run([table, table_of([Arrival(50, "a", {"e": 0, "x": 0})], TYPES)])
    assert row["s"] == sum(values) == top


def arrivals(times: range, key: Any = None) -> pa.Table:
    return table_of([Arrival(time, key, {"e": time, "x": 1}) for time in times], TYPES)


def test_panes_that_were_folded_by_another_watermark_are_refused() -> None:
    dry = DryEarly(unflushed(bind(windows.tumbling(10))), lambda watermark: max(watermark - 1, 0))
    dry.batch(arrivals(range(16)))
    with pytest.raises(DataError, match="folded by another watermark"):
        dry.batch(arrivals(range(20, 40)))


def sent(stage: WindowStage, table: pa.Table, watermark: int | None) -> int:
    """How many rows the packer sends to buckets: rows and panes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panes_before_shuffle, "watermark_of_batch", lambda: watermark)
        patch.setattr(panes_before_shuffle, "_RESTING", {})
        packed = list(stage.packer(placed(stage, table).to_batches()))
    count, milliseconds = 0, watermark or 0
    assert stage.panes is not None
    for blocks in packed:
        assert blocks[NEWEST_AT].null_count == 0
        for bucket, payload in zip(blocks[PACKED_BUCKET].to_pylist(), blocks[PAYLOAD], strict=True):
            rows, panes = stage.panes.arrived(bucket, [payload.as_py()], milliseconds=milliseconds)
            count += rows_of(bucket, rows, stage.block).num_rows + panes.rows.num_rows
    return count


def test_what_is_sent_is_panes_and_the_rows_that_are_late() -> None:
    stage = DryEarly(unflushed(bind(windows.time(20, 10)), keyed=False)).stage
    shift, table = stage.clock.shift, arrivals(range(1000))
    assert sent(stage, table, 0) == 100
    assert sent(stage, table, shift + 500) == 50 + 500
    assert sent(stage, table, None) == 1000


def one_hot(rows: int, *, seconds: int, keys: int = 1000, hot: float = 0.99) -> pa.Table:
    """Rows of so many seconds in order, most of them of one key."""
    choice = np.random.default_rng(7)
    key = np.where(choice.random(rows) < hot, 0, choice.integers(1, keys, rows))
    times = 1_767_600_000_000_000 + np.arange(rows) * seconds * 1_000_000 // rows
    return pa.table(
        {"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": pa.array(key), "x": pa.array(times % 7)}
    )


@pytest.mark.parametrize("keys", [("k",), ()])
def test_a_hot_key_sends_a_twentieth_of_its_rows_at_most(keys: tuple[str, ...]) -> None:
    table = one_hot(200_000, seconds=60)
    aggregates = {"n": built_in.count(), "s": built_in.sum("x"), "hi": built_in.max("x")}
    window = windows.time("60 seconds", "1 second")
    query = Query((window,), aggregates, delay=Duration(0, Unit.MICROSECONDS), flush=False)
    stage = DryEarly(BoundQuery(query, table.schema, "ts", keys), stage=WindowStage).stage
    assert sent(stage, table, 0) <= 0.05 * table.num_rows


def test_rows_that_share_no_pane_travel_as_they_are_and_are_not_looked_at_again() -> None:
    bound = unflushed(bind(windows.tumbling(1)))
    stage = DryEarly(bound, stage=WindowStage).stage
    table = arrivals(range(5000), "a")
    assert sent(stage, table, 0) == 5000
    packer = stage.packer
    assert isinstance(packer, PanePacker)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panes_before_shuffle, "_RESTING", {})
        assert not packer._rests(5000)
        assert packer.chosen(placed(stage, table), 0) is None
        assert [packer._rests(5000) for _ in range(16)] == [True] * 15 + [False]
        assert packer._rests(10)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"windows": (windows.rows(4, every=2),)}, "only sliding, tumbling and cumulate windows"),
        ({"aggregates": {"held": built_in.collect("e")}}, "an aggregate depends on the order"),
        ({"forget_after": Duration(100, Unit.TICKS)}, "forget_after"),
    ],
)
def test_what_needs_its_rows_has_a_reason(options: dict[str, Any], why: str) -> None:
    bound = unflushed(bind(windows.time(20, 10)))
    assert why_rows(bound) is None
    found = why_rows(replace(bound, query=replace(bound.query, **options)))
    assert found is not None
    assert why in found


@pytest.mark.spark
@pytest.mark.parametrize("key", ["k", None])
def test_oracle_a_started_query_goes_on_with_other_aggregates_and_with_late_rows(
    spark: SparkSession, tmp_path: Path, key: str | None
) -> None:
    """
    ticks    0         10        20        30        40        60
    batches  0 … 1499 of a tick each 1/100
                       │ 3 late rows, 15 … 29
                       │         │ 30 … 59     after a restart, with `late=` and another aggregate
    """
    of = {"k": lambda n: "a" if n % 50 else "b", None: lambda n: None}[key]
    batches = [
        [Arrival(n // 100, of(n), {"e": n, "x": n % 7}) for n in range(1_500)],
        [Arrival(t, of(1), {"e": t, "x": 1}) for t in (2, 3, 4)]
        + [Arrival(n // 100, of(n), {"e": n, "x": n % 7}) for n in range(1_500, 3_000)],
        [Arrival(5, of(1), {"e": 5, "x": 1})]
        + [Arrival(n // 100, of(n), {"e": n, "x": n % 7}) for n in range(3_000, 6_000)],
    ]
    tables = [table_of(batch, TYPES) for batch in batches]
    (tmp_path / "input").mkdir()
    found: list[dict[str, Any]] = []
    counts = dict.fromkeys(("events", "late"), 0)
    for first, more in ((0, {}), (2, {"hi": sash.max("x")})):
        arrived, late = (tables[:2], ()) if first == 0 else (tables[2:], ("late",))
        write_batches(tmp_path / "input", arrived, first=first)
        df = read_batches(spark, tmp_path / "input", tables[0].schema)
        windowed = sash.stream(df, time="t", key=key).window(sash.sliding(20, every=10))
        query = windowed.agg(n=sash.count(), s=sash.sum("x"), **more)
        ran = Delivered(query, *late, checkpoint=tmp_path / "c")
        found += ran.rows()
        counts = {count: counts[count] + ran.counted(count) for count in counts}
    assert "first folded into panes" in query.explain("plan")
    assert [row["e"] for row in ran.rows("late")] == [5]
    assert counts == {"events": 6_004, "late": 4}
    oracle = evaluate(query.bound.query, [Batch(tuple(batch)) for batch in batches])
    assert sorted((row.get("k"), row["window"]["id"], row["n"], row["s"]) for row in found) == sorted(
        (r.key if key else None, r.id, r.values["n"], r.values["s"]) for r in oracle.reports
    )
    assert len(found) > 3
    # The one that was added knows windows that begin after tick 29, which was the newest by then.
    assert {row["hi"] for row in ran.rows() if row["window"]["start"] >= 30} == {6}
    assert {row["hi"] for row in ran.rows() if row["window"]["start"] < 30} == {None}


@pytest.mark.spark
def test_oracle_a_started_query_that_corrects_its_reports_folds_panes_too(spark: SparkSession) -> None:
    """
    ticks    0         10        20        30
    batches  0 … 14, 100 events each
                  │ 9 and 3, late: one corrects, the other is too late; 15 … 29
    """
    first = [Arrival(n // 100, "a" if n % 50 else "b", {"e": n, "x": n % 7}) for n in range(1_500)]
    late = [Arrival(t, "a", {"e": t, "x": 1}) for t in (9, 3)]
    more = [Arrival(n // 100, "a" if n % 50 else "b", {"e": n, "x": n % 7}) for n in range(1_500, 3_000)]
    batches = [first, late + more]
    df = stream_batches(spark, [table_of(batch, TYPES) for batch in batches])
    stream = sash.stream(df, time="t", key="k", allowed_lateness=6).window(sash.sliding(10, every=5))
    query = stream.agg(n=sash.count(), s=sash.sum("x"))
    assert "first folded into panes" in query.explain("plan")
    ran = Delivered(query, "late")
    oracle = evaluate(query.bound.query, [Batch(tuple(batch)) for batch in batches])
    found = [(row["k"], row["window"]["id"], row["revision"], row["n"], row["s"]) for row in ran.rows()]
    assert sorted(found) == sorted(
        (r.key, r.id, r.revision, r.values["n"], r.values["s"]) for r in oracle.reports
    )
    assert max(row[2] for row in found) == 1
    assert [row["e"] for row in ran.rows("late")] == [3]


@pytest.mark.spark
def test_differential_a_hot_key_is_folded_with_a_watermark_of_the_users_own(spark: SparkSession) -> None:
    table = one_hot(8_000, seconds=30)
    batches = [table.slice(0, 3_000), table.slice(5_000), table.slice(3_000, 2_000)]
    aggregates = {"n": sash.count(), "s": sash.sum("x"), "m": sash.mean("x")}
    answers = []
    for delay in ("1 second", "0 seconds"):
        df = stream_batches(spark, batches)
        df = df.withWatermark("ts", "1 second") if delay == "0 seconds" else df
        windowed = sash.stream(df, time="ts", key="k", delay=delay).window(sash.tumbling("2 seconds"))
        ran = Delivered(windowed.agg(**aggregates), "late")
        answers.append([sorted(map(str, ran.rows(output))) for output in ("sink", "late")])
    assert answers[0] == answers[1]
    assert len(answers[0][1]) > 1_000
