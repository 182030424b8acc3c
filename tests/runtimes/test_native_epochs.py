"""Micro-batches of elastic queries whose panes Spark folds, against the reference, batch by batch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import sash
from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.epochs.epoch_journal import EpochJournal
from sash.runtimes.spark.packing.pane_blocks import SharedPanes
from sash.runtimes.spark.sql_folding.epoch_fold import EpochFold
from sash.semantics.durations import Duration, Unit
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.window import Window
from tests.runtimes.elastic_batches import DryElastic, Try
from tests.runtimes.micro_batches import stream_batches
from tests.runtimes.tables import expected_rows, rows_of, table_of
from tests.runtimes.test_elastic_dry import degrees, tries
from tests.runtimes.test_native_fold import CLOCK_WINDOWS
from tests.runtimes.test_spark_streaming_dry import cut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

TYPES = {"x": pa.int64()}
AGGREGATES = {
    "n": sash.count(), "s": sash.sum("x"), "hi": sash.max("x"), "m": sash.mean("x"),
    "some": sash.count(where="x > 4"),
}  # fmt: skip


class FoldedElastic(DryElastic):
    """As `DryElastic`, with the blocks of panes that Spark has folded."""

    def __init__(self, spark: SparkSession, bound: BoundQuery, folder: Path, **how: Any) -> None:
        super().__init__(bound, folder, **how)
        self.spark, self.epoch = spark, 0
        self.stage = replace(self.stage, panes=SharedPanes.of([bound], [self.stage.clock]))
        fold = EpochFold.of(self.stage, spark.createDataFrame(bound.schema.empty_table()))
        assert fold is not None
        self.fold = fold
        self.run_.stage = self.stage

    @property
    def counts(self) -> dict[str, int]:
        """What all tasks report."""
        reports = self.reports.value.values()
        return {count: sum(report.counts[count] for report in reports) for count in ("events", "late")}

    def execute(self, batch: Any, epoch: int, **how: Any) -> list[dict[str, Any]]:
        self.epoch = epoch
        return super().execute(batch, epoch, **how)

    def packed(self, batch: Any) -> pa.Table:
        with self.home.journal() as store:
            journal = EpochJournal(store, self.run_.description, epoch=self.epoch, inputs=1)
            milliseconds = self.run_.clock.milliseconds(journal.newest)
        return self.fold.blocks(self.spark.createDataFrame(batch), milliseconds, self.STAMPS).toArrow()


def _bound(window_list: list[Window], *, delay: int) -> BoundQuery:
    named = tuple(window.named(f"w{number}") for number, window in enumerate(window_list))
    query = Query(named, AGGREGATES, delay=Duration(delay, Unit.TICKS), flush=False)
    return BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    window_list=st.lists(CLOCK_WINDOWS, min_size=1, max_size=2),
    batches=cut(),
    delay=st.sampled_from([0, 4, 30]),
    degrees=degrees,
    tries=st.one_of(st.just([]), tries),
)
def test_oracle_reports_and_counts_are_those_of_the_reference(
    spark: SparkSession, window_list: list[Window], batches: list[list[Arrival]], delay: int,
    degrees: list[int], tries: list[list[Try]],
) -> None:  # fmt: skip
    bound = _bound(window_list, delay=delay)
    outcome = evaluate(bound.query, [Batch(tuple(batch)) for batch in batches])
    with tempfile.TemporaryDirectory() as folder:
        dry = FoldedElastic(spark, bound, Path(folder), degrees=degrees.__getitem__)
        rows = dry.run([table_of(batch, TYPES) for batch in batches], tries=tries)
    reports = pa.Table.from_pylist(rows, schema=bound.output)
    named = len(window_list) > 1
    assert rows_of(reports, AGGREGATES) == expected_rows(outcome.reports, AGGREGATES, named=named)
    if not any(tries):
        assert dry.counts == {"events": sum(map(len, batches)), "late": len(outcome.late)}


@pytest.fixture
def batches() -> list[pa.Table]:
    """Two batches of 1,000 events, of which nearly all are of one key, and some of the second are late."""
    arrivals = [Arrival(t, "a" if t % 100 else "b", {"x": t % 7}) for t in range(2_000)]
    late = [Arrival(5, "a", {"x": 1})] * 3 + [Arrival(None, "b", {"x": 1})]
    return [table_of(arrivals[:1_000], TYPES), table_of(late + arrivals[1_000:], TYPES)]


def _started(stream: DataFrame, key: str | None, folder: Path) -> tuple[Any, list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []

    def sink(reports: DataFrame, batch: int) -> None:
        rows.extend(reports.toArrow().to_pylist())

    windowed = sash.stream(stream, time="t", key=key).window(sash.sliding(60, every=10))
    handle = windowed.agg(**AGGREGATES).start(
        sink, checkpoint=folder, elastic=sash.Elastic(max=2, buckets=4), trigger="available now"
    )
    handle.awaitTermination()
    return handle, rows


@pytest.mark.parametrize("key", ["k", None])
def test_a_started_query_folds_before_the_shuffle_and_counts_every_event(
    spark: SparkSession, tmp_path: Path, batches: list[pa.Table], key: str | None
) -> None:
    handle, rows = _started(stream_batches(spark, batches), key, tmp_path)
    assert handle._run.fold is not None
    assert [batch.events for batch in handle.metrics] == [1_000, 1_004]
    assert [batch.late for batch in handle.metrics] == [0, 4]
    on_time = pa.concat_tables([batches[0], batches[1].slice(4)])
    local = sash.stream(on_time, time="t", key=key).window(sash.sliding(60, every=10), flush=False)
    assert sorted(map(str, rows)) == sorted(map(str, local.agg(**AGGREGATES).collect().to_pylist()))


@pytest.mark.parametrize(
    "build",
    [
        lambda stream: stream.window(sash.tumbling(10)).agg(first=sash.first("x")),
        lambda stream: stream.window(sash.session(10)).agg(n=sash.count()),
        lambda stream: (
            replace(stream, forget_after=Duration(100, Unit.TICKS))
            .window(sash.tumbling(10))
            .agg(n=sash.count())
        ),
    ],
)
def test_what_needs_its_events_gets_them(
    spark: SparkSession, tmp_path: Path, batches: list[pa.Table], build: Callable[[Any], Any]
) -> None:
    query = build(sash.stream(stream_batches(spark, batches[:1]), time="t", key="k"))
    handle = query.start(
        lambda reports, batch: None,
        checkpoint=tmp_path, elastic=sash.Elastic(max=1, buckets=2), trigger="available now",
    )  # fmt: skip
    handle.awaitTermination()
    assert handle._run.fold is None
    assert sum(batch.events for batch in handle.metrics) == 1_000
