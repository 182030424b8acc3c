"""One micro-batch of an elastic query after the other, and the handle of the whole.

    journal ─ m ─┐
    pack ─ max τ ┴─▶ m' ─▶ degree n ─▶ repartitionById(n) ─▶ step(m, m') ─▶ sink ─▶ journal
      kept                                 kept: evaluated once and as a whole

Where Spark can fold the panes of a query, `native.epoch_fold` stands in the place of the packing.

The watermark of several inputs is the least of theirs; one that has brought nothing yet holds it back.
What a batch emits depends on its rows and on m, never on n: the controller may answer as it likes, and
another way after a restart. A failure anywhere leaves Spark at the same batch. When that is executed
again, the journal and every bucket go back to the end of the batch before, whether they had committed
this one or not.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from sash.arrays import Floats, Ints
from sash.errors import StoreError
from sash.operators.elastic.declaration import Elastic
from sash.operators.elastic.mapping import Assignment, balanced, checked
from sash.operators.elastic.metrics import Sample
from sash.runtimes.spark.compat import HadoopFolder
from sash.runtimes.spark.elastic.epoch_journal import EpochJournal, require_same_query, where
from sash.runtimes.spark.elastic.epoch_step import STEPPED, EpochStep
from sash.runtimes.spark.elastic.executors import ExecutorDegree
from sash.runtimes.spark.elastic.metering import BatchMeter, BatchMetrics, behind, metrics_of
from sash.runtimes.spark.elastic.state_location import StateLocation
from sash.runtimes.spark.keeping import kept
from sash.runtimes.spark.native.epoch_fold import EpochFold, EpochRows
from sash.runtimes.spark.packing.answers import PackedAnswers
from sash.runtimes.spark.packing.blocks import INPUT, PACKED_BUCKET, PAYLOAD
from sash.runtimes.spark.sinks.protocol import BatchSink
from sash.runtimes.spark.sinks.shapes import skip
from sash.runtimes.spark.state.arenas import QUERY_ID
from sash.runtimes.spark.state.fingerprint import BUCKET_NUMBERS, BUCKETS
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.semantics.durations import Duration

FADING = 0.8
"""What is left of a load one batch later."""
TOLERANCE = 0.25
"""Of loads: a bucket that moves is loaded by another worker."""
DEFAULT: Assignment = partial(balanced, tolerance=TOLERANCE)


@dataclass
class ElasticRun:
    """The function of `foreachBatch`."""

    stage: WindowStage
    delays: Sequence[Duration]
    """Of each input; where there are several, blocks name theirs."""
    elastic: Elastic
    checkpoint: str
    sinks: Mapping[str, BatchSink]
    """By output."""
    meter: BatchMeter = field(default_factory=BatchMeter)
    query: StreamingQuery | None = None
    name: str = field(default_factory=lambda: uuid4().hex)
    """Of this run: a restart is another one."""
    fold: EpochFold | None = None
    """How Spark folds the rows of a batch; None: they come in blocks."""
    executors: ExecutorDegree | None = None
    """None: their number is not changed."""
    assign: Assignment = DEFAULT
    """f_μ as a function: of the buckets and tasks of a batch."""
    mapping: Ints | None = None
    """f_μ of the batch before: the task of each bucket."""
    load: Floats | None = None
    """What each bucket has cost lately, as bytes of its blocks."""
    _ended: float | None = field(default=None, init=False)
    """When the batch before ended, by a clock that never jumps."""

    def __call__(self, arriving: DataFrame, epoch: int) -> None:
        began, start = time.time(), time.monotonic()
        with self._home(arriving).journal() as store:
            journal = EpochJournal(
                store, self.description, epoch=epoch, inputs=len(self.delays),
                checkpoint=where(self.checkpoint),
            )  # fmt: skip
            before = self._watermark(journal.newest)
            with self._arrived(arriving, before) as arrived:
                newest = journal.newest_with(arrived.stamps)
                after = self._watermark(newest)
                blocks = arrived.blocks
                if not arrived.stamps.num_rows:
                    blocks = self._no_blocks(arriving.sparkSession)
                self._weigh(arrived.stamps)
                metrics = self._answered(blocks, epoch, before, after, journal) | arrived.counts
            journal.commit(newest)
        end = time.monotonic()
        waited = 0.0 if self._ended is None else start - self._ended
        self._ended = end
        self._measure(
            BatchMetrics(
                batch=epoch, watermark=after, began=began, waited=waited, seconds=end - start, **metrics
            )
        )
        if self.executors is not None:
            self.executors.after()

    def _weigh(self, stamps: pa.Table) -> None:
        """What the blocks of this batch add to the load, where it is known whose they are."""
        if PAYLOAD in stamps.column_names:
            load = np.zeros(len(self.stage.buckets)) if self.load is None else FADING * self.load
            np.add.at(load, stamps[PACKED_BUCKET].to_numpy(), stamps[PAYLOAD].to_numpy())
            self.load = load

    @contextmanager
    def _arrived(self, arriving: DataFrame, watermark: int) -> Iterator[EpochRows]:
        if self.fold is not None:
            with self.fold.arrived(arriving, watermark) as panes:
                yield panes
            return
        blocks = kept(arriving)
        try:
            yield EpochRows(blocks, blocks.withColumn(PAYLOAD, F.length(PAYLOAD)).toArrow())
        finally:
            blocks.unpersist()

    def require_same_query(self, spark: SparkSession) -> None:
        """DifferentQuery where this one cannot go on from the state of its checkpoint."""
        metadata = HadoopFolder(spark, self.checkpoint).read("metadata")
        if metadata is None:
            return
        query = json.loads(metadata)["id"]
        home = StateLocation.of(self.elastic.store, checkpoint=self.checkpoint, query=query)
        begun = bool(HadoopFolder(spark, f"{self.checkpoint}/commits").sizes())
        with home.journal() as store:
            require_same_query(
                store, self.description, begun=begun, name=self.elastic.store.partition(":")[0]
            )

    @property
    def description(self) -> dict[str, Any]:
        """What the state must have been made by."""
        described = dict(self.stage.description)
        for fixed in (BUCKETS, BUCKET_NUMBERS):
            described.pop(fixed, None)
        return described | {"elastic buckets": len(self.stage.buckets)}

    def _home(self, packed: DataFrame) -> StateLocation:
        query = packed.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        return StateLocation.of(self.elastic.store, checkpoint=self.checkpoint, query=str(query))

    def _watermark(self, newest: Sequence[int]) -> int:
        """As Spark computes it: whole milliseconds, never below 0, where 0 means that nothing is known."""
        clock = self.stage.clock
        delays = (int(clock.spark_delay(delay.length).split()[0]) for delay in self.delays)
        each = (time // 1000 - delay for time, delay in zip(newest, delays, strict=True))
        return clock.watermark(min(each))

    def _no_blocks(self, spark: SparkSession) -> DataFrame:
        """A row for each bucket: where there are none at all, Spark would leave out the step."""
        buckets = spark.range(0, len(self.stage.buckets), 1, 1)
        blank = [F.col("id").alias(PACKED_BUCKET), F.lit(b"").alias(PAYLOAD)]
        return buckets.select(*blank, *([F.lit(0).alias(INPUT)] if len(self.delays) > 1 else []))

    def _answered(
        self, blocks: DataFrame, epoch: int, before: int, after: int, journal: EpochJournal
    ) -> dict[str, Any]:
        """Step and sink; what the step measured of itself."""
        degree, buckets = self.elastic.degree(list(self.meter.samples)), len(self.stage.buckets)
        mapping = self.assign(buckets, range(degree), before=self.mapping, load=self.load)
        self.mapping = checked(mapping, shares=buckets, instances=range(degree))
        tasks = self.mapping.tolist()
        if self.executors is not None:
            self.executors.before(degree)
        step = EpochStep(
            self.stage, self._home(blocks), epoch, degree, before, after, self.name, journal.token,
            journal.change, tuple(tasks),
        )  # fmt: skip
        stepped = kept(
            blocks.select(PACKED_BUCKET, PAYLOAD, *([INPUT] if len(self.delays) > 1 else []))
            .repartitionById(degree, F.element_at(F.lit(tasks), F.col(PACKED_BUCKET).cast("int") + 1))
            .sortWithinPartitions(PACKED_BUCKET)
            .mapInArrow(step, STEPPED)
        )
        try:
            # Evaluated here and as a whole: a sink may look at a part of it, or not at all.
            start = time.monotonic()
            answered = stepped.drop(PAYLOAD).toArrow()
            metrics = metrics_of(answered, within=time.monotonic() - start)
            if metrics["degree"] != degree:
                raise StoreError(f"{metrics['degree']} tasks have served the buckets of {degree}")
            for output, sink in self.sinks.items():
                if sink.has(stepped.sparkSession, epoch):
                    continue
                # The late rows of the sides of a join are counted together.
                if metrics[output.split()[0]]:
                    sink.write(PackedAnswers(self.stage.schemas).opened(stepped, output), epoch)
                else:
                    skip(sink, epoch)
        finally:
            stepped.unpersist()
        return metrics

    def _measure(self, batch: BatchMetrics) -> None:
        progress = None if self.query is None else self.query.lastProgress
        if progress is None:
            self.meter.add(batch, pending=0, bookkeeping=0.0)
            return
        took = progress.durationMs
        self.meter.add(
            batch,
            pending=behind((source.endOffset, source.latestOffset) for source in progress.sources),
            bookkeeping=(took.get("triggerExecution", 0) - took.get("addBatch", 0)) / 1000,
        )


class ElasticQuery:
    """A running elastic query: Spark's StreamingQuery, and what the batches of this run did."""

    def __init__(self, query: StreamingQuery, run: ElasticRun) -> None:
        self.query, self._run = query, run
        run.query = query

    @property
    def metrics(self) -> list[BatchMetrics]:
        """The batches of this run, the oldest first."""
        return list(self._run.meter.batches)

    @property
    def samples(self) -> list[Sample]:
        """What the controller was shown."""
        return list(self._run.meter.samples)

    @property
    def degrees(self) -> dict[int, int]:
        """How many tasks served the buckets, for each batch."""
        return {batch.batch: batch.degree for batch in self.metrics}

    @property
    def degree(self) -> int:
        """Of the latest batch; the least that is allowed before there is one."""
        return self.metrics[-1].degree if self.metrics else self._run.elastic.min

    def __repr__(self) -> str:
        if not self.metrics:
            return "<sash elastic query: no batch is done yet>"
        last, events = self.metrics[-1], sum(batch.events for batch in self.metrics)
        degree = f"{last.degree} task{'s' * (last.degree != 1)}"
        return f"<sash elastic query: batch {last.batch} done by {degree}, {events:,} events in this run>"

    def __getattr__(self, name: str) -> Any:
        """Everything else is the StreamingQuery's: `awaitTermination`, `stop`, `lastProgress` and so on."""
        return getattr(self.query, name)
