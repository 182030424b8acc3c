"""Windows that busy buckets hand out: the same answer and the same state, whoever computes them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation import built_in
from sash.operators.bound_query import BoundQuery, BoundWhole
from sash.operators.engine import holds_whole_windows
from sash.operators.folding.whole_windows import Apply, Fold
from sash.runtimes.observed_counts import decisions_in
from sash.runtimes.spark.epochs.epoch_answers import EpochAnswers
from sash.runtimes.spark.packing.answers import PlainAnswers
from sash.runtimes.spark.packing.blocks import COUNTS, OUTPUT, PAYLOAD, Unpacker
from sash.runtimes.spark.packing.outputs import HANDED, LATE, REPORTS, Outputs
from sash.runtimes.spark.patterns.agnostic import WORKER
from sash.runtimes.spark.streaming import bucket_call
from sash.runtimes.spark.streaming.hot_keys.choose_busy_buckets import STAGE, Sharing
from sash.runtimes.spark.streaming.hot_keys.handed_out_windows import (
    HANDED_WINDOWS,
    OWNER,
    BucketLoad,
    HandedWindows,
)
from sash.runtimes.spark.streaming.hot_keys.handing_of_batch import Handing
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor
from sash.semantics import windows
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from tests.runtimes.micro_batches import (
    Delivered,
    DryStream,
    MicroBatches,
    read_batches,
    write_batches,
)
from tests.runtimes.tables import table_of
from tests.runtimes.test_spark_streaming_dry import TYPES, cut, expected, queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HELD = pa.schema([("held", pa.list_(pa.int64()))])
WORKERS = 3


def events_of(events: pa.Table) -> dict[str, list[int]]:
    return {"held": events["e"].to_pylist()}


def whole(query: Query, computation: Any = None) -> BoundWhole:
    return BoundWhole(query, table_of([], TYPES).schema, "t", ("k",), computation or Apply(events_of, HELD))


class RowsIn(PlainAnswers):
    """Answers in frames to rows that come as rows."""

    def arrived(self, rows: Iterator[Any]) -> Iterator[Any]:
        return rows


class DryShared(DryStream):
    """The same, where some buckets hand windows out in each batch."""

    def __init__(self, bound: BoundQuery, **options: Any) -> None:
        super().__init__(bound, **options)
        self.stage = replace(self.stage, hands_out=True)
        self.answers = RowsIn(self.stage.schemas)
        self.engine = MicroBatches(WindowProcessor(self.stage).answering(self.answers))
        self.windows = HandedWindows(self.answers, self.stage.bound, self.stage.buckets)
        self.handing = Handing(WORKERS)
        self.handed: set[tuple[int, int]] = set()
        """The bucket and the worker of each batch of windows."""

    def batch(self, table: pa.Table | None) -> list[dict[str, Any]]:
        engine, frames = self.engine, []

        class Engine:
            def batch(self, watermark: int, payloads: dict[int, list[bytes]]) -> list[Any]:
                frames.extend(engine.batch(watermark, payloads))
                return []

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bucket_call, "handing_of_batch", lambda: self.handing)
            patch.setattr(self, "engine", Engine())
            super().batch(table)
        emitted = [pa.RecordBatch.from_pandas(one, schema=self.answers.emitted) for one in frames]
        self._see(emitted)
        done = list(self.windows.work(emitted))
        for batch in done:
            for text in filter(None, batch["counts"].to_pylist()):
                for count, value in zip(COUNTS, map(int, text.split(",")), strict=True):
                    self.counts[count] += value
        if LATE in self.stage.outputs:
            number = list(self.stage.schemas).index(LATE)
            self.late += [row for batch in done for row in batch.to_pylist() if row[OUTPUT] == number]
        return self._rows(done, REPORTS)

    def _see(self, emitted: list[pa.RecordBatch]) -> None:
        number, column = list(self.stage.schemas).index(HANDED), self.answers.column
        for batch in emitted:
            for row in batch.to_pylist():
                if row[OUTPUT] == number and row[column(HANDED, WORKER)] is not None:
                    self.handed.add((row[column(HANDED, OWNER)], row[column(HANDED, WORKER)]))

    def _rows(self, done: list[pa.RecordBatch], output: str) -> list[dict[str, Any]]:
        (place,) = self.answers._columns[1][output]  # not plain: all of it in one column
        number = list(self.stage.schemas).index(output)
        blocks = [row[f"c{place}"] for batch in done for row in batch.to_pylist() if row[OUTPUT] == number]
        packed = pa.table({PAYLOAD: pa.array(blocks, pa.binary())}).to_batches()
        return [row for rows in Unpacker(self.stage.schemas[output])(packed) for row in rows.to_pylist()]

    def undone(self) -> Callable[[], None]:
        """What takes the batch that follows back, as a restart from the checkpoint does."""
        handle = self.engine.handle
        kept = copy.deepcopy([(name, state.state) for name, state in handle.map_states.items()])
        timers, facts = copy.deepcopy(handle._timers), (self.newest, self.watermark)
        counts, late = dict(self.counts), list(self.late)

        def undo() -> None:
            for name, state in kept:
                handle.map_states[name].state = state
            handle._timers = timers
            self.newest, self.watermark = facts
            self.counts, self.late = counts, late

        return undo


def shown(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    found = [
        (row["k"], row["window"].get("name"), *(row["window"][part] for part in ("id", "start", "end")),
         tuple(row["held"]), row.get("revision", 0))
        for row in rows
    ]  # fmt: skip
    return sorted(found, key=repr)


sets = st.lists(st.frozensets(st.sampled_from(DryStream.BUCKETS)), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    query=queries(), batches=cut(), handing=sets, killed=st.lists(st.booleans(), min_size=1, max_size=4),
    forgetful=st.booleans(),
)  # fmt: skip
def test_oracle_buckets_that_hand_windows_out_now_and_then_answer_as_the_reference_does(
    query: Query, batches: list[list[Arrival]], handing: list[frozenset[int]], killed: list[bool],
    forgetful: bool,
) -> None:  # fmt: skip
    query = replace(query, aggregates={"held": built_in.collect("e")})
    outcome = evaluate(query, [Batch(tuple(batch)) for batch in batches])
    dry, rows = DryShared(whole(query), forgetful=forgetful), []
    for number, batch in enumerate([*batches, None]):
        table = None if batch is None else table_of(batch, TYPES)
        if killed[number % len(killed)]:
            undo = dry.undone()
            dry.handing = Handing(WORKERS, handing[(number + 1) % len(handing)])
            dry.batch(table)
            undo()
        dry.handing = Handing(WORKERS, handing[number % len(handing)])
        rows += dry.batch(table)
    wanted = [(*row[:5], tuple(row[5]), row[6]) for row in expected(outcome, query)]
    assert shown(rows) == sorted(wanted, key=repr)
    assert dry.counts["reports"] == len(outcome.reports)
    assert dry.counts["events"] == sum(map(len, batches))
    assert {bucket for bucket, _ in dry.handed} <= frozenset[int]().union(*handing)


@pytest.mark.parametrize("outputs", [(REPORTS,), (REPORTS, LATE)])
def test_a_checkpoint_does_not_tell_who_computed_its_windows(outputs: Outputs) -> None:
    bound = whole(Query((windows.time(6, 3),), flush=False))
    plain, shared = DryStream(bound, outputs=outputs), DryShared(bound, outputs=outputs)
    assert plain.stage.description == shared.stage.description
    events = [Arrival(time, key, {"e": time, "x": 0}) for time in range(40) for key in ("a", "b", "c")]
    batches = [table_of(events[start : start + 30], TYPES) for start in range(0, 120, 30)]
    shared.handing = Handing(WORKERS, frozenset(DryStream.BUCKETS))
    assert shown(shared.run(batches)) == shown(plain.run(batches))
    assert {worker for _, worker in shared.handed} == {0, 1, 2}
    (before,), (after,) = (
        [state.state for state in dry.engine.handle.map_states.values()] for dry in (plain, shared)
    )
    assert len(shared.late) == len(plain.late)
    assert {bucket: state.keys() for bucket, state in before.items()} == {
        bucket: state.keys() for bucket, state in after.items()
    }
    plain.engine.handle.map_states["sash"].state = after
    assert plain.batch(batches[-1].slice(0, 0)) == []


def test_a_function_that_answers_with_several_rows_or_none_may_be_handed_out() -> None:
    def each(events: pa.Table) -> list[dict[str, Any]]:
        return [{"held": [e]} for e in events["e"].to_pylist() if e % 2]

    dry = DryShared(whole(Query((windows.tumbling(4),), flush=False), Apply(each, HELD)))
    dry.handing = Handing(WORKERS, frozenset(DryStream.BUCKETS))
    rows = dry.run([table_of([Arrival(t, "a", {"e": t, "x": 0}) for t in range(13)], TYPES)])
    assert [row["held"] for row in rows] == [[e] for e in range(1, 12, 2)]


def test_only_queries_that_hold_the_rows_of_their_windows_hand_them_out() -> None:
    query, step = Query((windows.session(5),), flush=False), lambda total, row: total + row.x
    summed = Fold(0, step, pa.schema([("held", pa.int64())]))
    assert holds_whole_windows(whole(query))
    assert not holds_whole_windows(whole(query, summed))  # it goes on from its last accumulator
    assert holds_whole_windows(whole(replace(query, windows=(windows.rows(5),)), summed))
    counts = replace(query, aggregates={"n": built_in.count()})
    assert not holds_whole_windows(BoundQuery(counts, table_of([], TYPES).schema, "t", ("k",)))


@pytest.mark.parametrize("form", [PlainAnswers, EpochAnswers])
def test_windows_are_replaced_by_their_reports_in_either_form_of_rows(form: Any) -> None:
    """Late rows and loads pass as they are."""
    bound = whole(Query((windows.tumbling(4),), flush=False))
    dry = DryShared(bound, outputs=(REPORTS, LATE))
    handed, emitted = [], dry.windows.answers.rows_of
    dry.handing = Handing(WORKERS, frozenset(DryStream.BUCKETS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            type(dry.answers), "rows_of",
            lambda self, output, rows: handed.append(emitted(output, rows)) or handed[-1],
        )  # fmt: skip
        plain = dry.run([table_of([Arrival(t, "ab"[t % 2], {"e": t, "x": 0}) for t in range(23)], TYPES)])
    found = pa.Table.from_batches([batch.cast(HANDED_WINDOWS) for batch in handed if batch.num_rows])
    late = pa.Table.from_pylist(
        [{"k": "a", "why": "x"}], schema=pa.schema([("k", pa.string()), ("why", pa.string())])
    )
    answers = form({REPORTS: bound.output, LATE: late.schema, HANDED: HANDED_WINDOWS})
    leaving = list(answers.batches({LATE: late, HANDED: found}))
    done = list(HandedWindows(answers, bound, DryStream.BUCKETS).work(leaving))
    assert all(batch.schema.equals(answers.emitted) for batch in done)
    rows = pa.Table.from_batches(done)
    counts = {
        output: pc.sum(pc.equal(rows[OUTPUT], number)).as_py()
        for number, output in enumerate(answers.schemas)
    }
    loads = found.filter(pc.is_null(found[WORKER])).num_rows
    batches = found.num_rows - loads
    assert batches > 3
    assert loads > 0
    assert counts[LATE] == 1
    assert counts[HANDED] == loads + batches  # each batch of windows leaves what it took
    if form is EpochAnswers:
        mine = [batch.filter(pc.equal(batch[OUTPUT], 0)) for batch in done]
        reports = [row for batch in mine for row in answers.rows_of(REPORTS, batch).to_pylist()]
        assert shown(reports) == shown(plain)


# The decision


def busy(seconds: float, *, windows: int = 100, handing: float = 0.0) -> BucketLoad:
    return BucketLoad(windows, seconds, handing)


def test_sharing_begins_with_the_busiest_bucket_and_ends_when_it_is_as_busy_as_the_others() -> None:
    sharing = Sharing(workers=4, slots=4)
    sharing.see({1: busy(1.0), 2: busy(1.0), 3: busy(1.0), 4: busy(1.0)})
    assert not sharing.handing
    sharing.see({1: busy(1.0), 2: busy(9.0), 3: busy(1.0), 4: busy(1.0)})
    assert sharing.handing == {2}
    sharing.see({})  # a batch that closed nothing
    sharing.see({1: busy(1.0)._replace(seconds=0.001)})
    assert sharing.handing == {2}
    sharing.see({bucket: busy(1.0, handing=0.01) for bucket in (1, 2, 3, 4)})
    assert not sharing.handing


def test_a_skew_that_turns_to_another_key_is_shared_out_from_the_next_batch_on() -> None:
    sharing = Sharing(workers=4, slots=2)
    sharing.see({1: busy(9.0), 2: busy(0.3)})
    assert sharing.handing == {1}
    sharing.see({1: busy(0.3), 2: busy(9.0)})
    assert sharing.handing == {2}


def test_half_of_the_work_stays_where_two_cores_have_half_of_it_each_anyway() -> None:
    sharing = Sharing(workers=8, slots=2)
    rest = {bucket: busy(1.0) for bucket in range(2, 9)}
    sharing.see({1: busy(7.0), **rest})
    assert not sharing.handing
    sharing.see({1: busy(63.0), **rest})
    assert sharing.handing == {1}


def test_a_query_without_a_key_is_shared_out_too() -> None:
    sharing = Sharing(workers=4, slots=4)
    sharing.see({0: busy(2.0)})
    assert sharing.handing == {0}


@pytest.mark.parametrize(
    ("load", "why"),
    [
        (busy(STAGE / 2), "a stage costs more"),
        (busy(9.0, windows=1), "one window cannot be shared"),
    ],
)
def test_a_busy_bucket_keeps_what_others_would_not_do_sooner(load: BucketLoad, why: str) -> None:
    sharing = Sharing(workers=8, slots=8)
    sharing.see({1: load, 2: busy(0.001)})
    assert not sharing.handing, why


def test_windows_that_take_longer_to_hand_out_than_to_compute_are_not_tried_again_at_once() -> None:
    sharing = Sharing(workers=8, slots=8)
    sharing.see({1: busy(2.0)})
    assert sharing.handing == {1}
    sharing.see({1: busy(2.0, handing=3.0)})
    assert not sharing.handing
    tries = 0
    for _ in range(30):
        sharing.see({1: busy(2.0)})
        tries += bool(sharing.handing)
        if sharing.handing:
            sharing.see({1: busy(2.0, handing=3.0)})
    assert 0 < tries <= 3


# On Spark


def skewed(batch: int, hot: int, rows: int = 60) -> pa.Table:
    """A second of events for each row; nine of ten have the key `hot`."""
    at = range(batch * rows, (batch + 1) * rows)
    keys = [hot if e % 10 else e % 7 for e in at]
    return pa.table({"t": pa.array(at, pa.int64()), "k": keys, "e": pa.array(at, pa.int64())})


@pytest.mark.spark
def test_oracle_a_hot_key_is_shared_out_by_itself_also_when_another_one_becomes_hot(
    spark: SparkSession, tmp_path: Path
) -> None:
    """With a restart in between, after which the loads have to be found out again."""

    def slow(events: pa.Table) -> dict[str, Any]:
        import time

        from pyspark import TaskContext

        time.sleep(0.02)
        task = TaskContext.get()
        return {"sum": sum(events["e"].to_pylist()), "stage": task.stageId(), "task": task.partitionId()}

    batches = [skewed(number, hot=3 if number < 5 else 5) for number in range(9)]
    folder = tmp_path / "in"
    folder.mkdir()
    found: dict[int, list[dict[str, Any]]] = {}
    for first, last in ((0, 7), (7, 9)):
        write_batches(folder, batches[first:last], first=first)
        stream = sash.stream(read_batches(spark, folder, batches[0].schema), time="t", key="k")
        schema = "sum bigint, stage int, task int"
        query = stream.window(sash.rows(5, every=3)).apply(slow, schema=schema)
        assert "round-robin" in query.explain("plan")
        ran = Delivered(query, checkpoint=tmp_path / "checkpoint")
        for number, table in ran.tables["sink"]:
            found.setdefault(number, []).extend(table.to_pylist())
    bounded = sash.stream(pa.concat_tables(batches), time="t", key="k").window(sash.rows(5, every=3))
    whole_input = bounded.apply(lambda events: {"sum": sum(events["e"].to_pylist())}, schema="sum bigint")
    sums = {(row["k"], row["window"]["id"]): row["sum"] for row in whole_input.collect().to_pylist()}
    rows = [row for number in sorted(found) for row in found[number]]
    assert len({(row["k"], row["window"]["id"]) for row in rows}) == len(rows) > 100
    assert all(sums[row["k"], row["window"]["id"]] == row["sum"] for row in rows)
    # Who computed the windows of the hot key: one task in a first batch, all of them soon after.
    tasks = {
        number: {row["task"] for row in some if row["k"] == (3 if number < 5 else 5)}
        for number, some in found.items()
    }
    counts = [len(tasks[number]) for number in sorted(tasks)]
    assert counts[0] == 1
    assert max(counts[1:5]) > 1
    assert max(counts[6:]) > 1


@pytest.mark.spark
def test_oracle_lists_in_a_folder_are_shared_out_and_the_batch_says_so(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Reports that the step cannot write itself, beside late rows that it does write."""

    def slow(events: pa.Table) -> dict[str, Any]:
        import time

        time.sleep(0.02)
        return {"held": events["e"].to_pylist()}

    batches = [skewed(number, hot=3) for number in range(5)]
    batches[3] = pa.concat_tables([batches[3], skewed(0, hot=3).slice(0, 4)])
    folder = tmp_path / "in"
    folder.mkdir()
    write_batches(folder, batches)
    stream = sash.stream(read_batches(spark, folder, batches[0].schema), time="t", key="k")
    query = stream.window(sash.rows(5, every=3)).apply(slow, schema="held array<bigint>")
    handle = query.start(
        tmp_path / "out",
        late=tmp_path / "late",
        checkpoint=tmp_path / "checkpoint",
        trigger="available now",
    )
    handle.awaitTermination()
    chosen = [text for report in handle.recentProgress for text in decisions_in(report)]
    assert any("hands windows to" in text for text in chosen)
    assert any("compute their own" in text for text in chosen)
    on_time = pa.concat_tables([*batches[:3], batches[3].slice(0, 60), batches[4]])
    bounded = sash.stream(on_time, time="t", key="k").window(sash.rows(5, every=3), flush=False)
    held = bounded.apply(lambda events: {"held": events["e"].to_pylist()}, schema="held array<bigint>")
    rows = sash.published(tmp_path / "out").toArrow().to_pylist()
    assert shown(rows) == shown(held.collect().to_pylist())
    assert len({row["batch"] for row in rows}) > 3
    assert sash.published(tmp_path / "late").count() == 4
