"""Panes folded before the shuffle, on a stream without a key: the reports and counts of the reference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash.errors import DataError
from sash.operators.bound import BoundQuery
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.runtimes.spark.streaming import early_panes
from sash.runtimes.spark.streaming.early_panes import FoldingStage, PaneProcessor, folds_early
from sash.semantics import windows
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.micro_batches import (
    DryStream,
    MicroBatches,
    counted_in,
    placed,
    read_batches,
    write_batches,
)
from tests.runtimes.tables import table_of
from tests.runtimes.test_paned_operator import bind, clock_windows
from tests.runtimes.test_spark_streaming_dry import TYPES, cut

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class DryEarly(DryStream):
    """The same with panes that the packer folds. `known`: the watermark as tasks have it, by batch."""

    def __init__(self, bound: BoundQuery, known: Any, *, forgetful: bool = True) -> None:
        super().__init__(bound, forgetful=forgetful)
        fields = {name: getattr(self.stage, name) for name in ("outputs", "buckets", "clock", "derived")}
        self.stage = FoldingStage.of(bound, **fields)  # type: ignore[assignment]
        assert isinstance(self.stage, FoldingStage)
        self.engine = MicroBatches(PaneProcessor(self.stage.step))
        self.known = known

    def batch(self, table: pa.Table | None) -> list[dict[str, Any]]:
        watermark = max(self.watermark, self.newest - self.delay)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(early_panes, "watermark_of_batch", lambda: self.known(watermark))
            return super().batch(table)


def keyless(*asked: Window, delay: int = 0) -> BoundQuery:
    bound = bind(*asked, delay=delay)
    return replace(bound, keys=(), query=replace(bound.query, flush=False))


@settings(max_examples=100, deadline=None)
@given(
    asked=st.lists(clock_windows, min_size=1, max_size=2), batches=cut(),
    delay=st.sampled_from([0, 4, 30]), known=st.sampled_from([lambda m: m, lambda m: None]),
    forgetful=st.booleans(),
)  # fmt: skip
def test_oracle_panes_of_a_stream_without_a_key_are_those_of_the_reference(
    asked: list[Window], batches: list[list[Arrival]], delay: int, known: Any, forgetful: bool
) -> None:
    bound = keyless(*asked, delay=delay)
    batches = [[replace(arrival, key=None) for arrival in batch] for batch in batches]
    outcome = evaluate(bound.query, [Batch(tuple(batch)) for batch in batches])
    dry = DryEarly(bound, known, forgetful=forgetful)
    rows = dry.run([table_of(batch, TYPES) for batch in batches])
    several = len(bound.query.windows) > 1
    shown = [
        (row["window"].get("name") if several else "", row["window"]["id"],
         row["window"]["start"], row["window"]["end"], *(row[name] for name in bound.aggregates))
        for row in rows
    ]  # fmt: skip
    said = [
        (r.window if several else "", r.id, r.start, r.end, *r.values.values()) for r in outcome.reports
    ]
    assert sorted(shown, key=repr) == sorted(said, key=repr)
    assert dry.counts["events"] == sum(map(len, batches))
    assert (dry.counts["reports"], dry.counts["late"]) == (len(outcome.reports), len(outcome.late))


def arrivals(times: range) -> pa.Table:
    return table_of([Arrival(time, None, {"e": time, "x": 1}) for time in times], TYPES)


def test_a_pane_that_was_folded_by_another_watermark_is_refused() -> None:
    #  t      0          10         20
    #  pane   |----------|----------|
    #  m                     ^ 15       the task takes it for 10, so that one pane lies on both sides
    dry = DryEarly(keyless(windows.tumbling(10)), lambda watermark: min(watermark, 10))
    dry.batch(arrivals(range(16)))
    with pytest.raises(DataError, match="folded by another watermark"):
        dry.batch(arrivals(range(12, 18)))


def test_what_is_sent_is_as_many_rows_as_there_are_panes() -> None:
    dry = DryEarly(keyless(windows.time(20, 10)), lambda watermark: watermark)
    table = arrivals(range(1000))
    stage = dry.stage
    assert isinstance(stage, FoldingStage)
    numbered = placed(stage, table).append_column("__sash_ordinal", pa.array(range(1000)))
    assert stage.packer.folded(numbered, 0).num_rows == 100
    assert stage.packer.folded(numbered, 500).num_rows == 51  # and one for all that are late
    assert stage.packer.folded(numbered, None).num_rows == 1000


def test_only_clock_windows_of_a_stream_without_a_key_are_folded_early() -> None:
    assert folds_early(keyless(windows.time(20, 10)), (REPORTS,))
    assert not folds_early(bind(windows.time(20, 10)), (REPORTS,))
    assert not folds_early(keyless(windows.time(20, 10)), (REPORTS, LATE))
    assert not folds_early(keyless(windows.rows(4, every=2)), (REPORTS,))


@pytest.mark.spark
def test_oracle_a_started_query_without_a_key_goes_on_from_its_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    """
    ticks    0         10        20        30        40
    batches  0 … 14    │
                 12!   │ 15 … 29 │                            12 is late: the watermark is 14
                       │         │ 30 … 44                    after a restart
    """
    times = [[*range(15)], [12, *range(15, 30)], [*range(30, 45)]]
    batches = [[Arrival(time, None, {"e": time, "x": 1}) for time in batch] for batch in times]
    tables = [table_of(batch, TYPES) for batch in batches]
    (tmp_path / "input").mkdir()
    found: list[dict[str, Any]] = []
    progress: list[Any] = []
    for first, arrived in ((0, tables[:2]), (2, tables[2:])):
        write_batches(tmp_path / "input", arrived, first=first)
        df = read_batches(spark, tmp_path / "input", tables[0].schema)
        windowed = sash.stream(df, time="t").window(sash.sliding(20, every=10))
        query = windowed.agg(n=sash.count(), s=sash.sum("x"))
        running = query.start(
            lambda rows, batch: found.extend(rows.toArrow().to_pylist()),
            checkpoint=tmp_path / "c", trigger="available now",
        )  # fmt: skip
        running.awaitTermination()
        progress += running.recentProgress
    assert "fold panes in all tasks" in query.explain("plan")
    oracle = evaluate(query.bound.query, [Batch(tuple(batch)) for batch in batches])
    assert sorted((row["window"]["id"], row["n"], row["s"]) for row in found) == sorted(
        (report.id, report.values["n"], report.values["s"]) for report in oracle.reports
    )
    assert len(found) > 3
    assert [counted_in(progress, count) for count in ("events", "late")] == [46, 1]
