"""One micro-batch after the other of a query in epochs.

    journal ─ m ─────────────┐
    pack ─ blocks and stamps ┴▶ repartitionById(n) ─▶ step(m, m' of the stamps) ─▶ sinks ─▶ journal

All of it but the journal is one job, where one sink reads every row once. Where Spark can fold the panes of
a query, `sql_folding.epoch_fold` may stand in the place of the packing, batch by batch. Small batches have
one task for packing and step, and no shuffle (`one_task` decides, `packing.row_packing` does it).

What a batch emits depends on its rows and on m, never on n: the controller may answer as it likes, and
another way after a restart. A failure anywhere leaves Spark at the same batch. When that is executed
again, the journal and every bucket go back to the end of the batch before, whether they had committed
this one or not.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any
from uuid import uuid4

import numpy as np
from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.streaming.query import StreamingQuery

from sash.aggregation.stores.epoch_store import EpochStore
from sash.arrays import Floats, Ints
from sash.errors import StoreError
from sash.operators.elastic.declaration import Elastic
from sash.operators.elastic.instance_of_share import Assignment, balanced, checked
from sash.operators.look_back_regimes import Regime
from sash.runtimes.spark.epochs.assumed_skew import AssumedSkew
from sash.runtimes.spark.epochs.decision_records import Decision
from sash.runtimes.spark.epochs.epoch_answers import EpochAnswers
from sash.runtimes.spark.epochs.epoch_journal import (
    EpochJournal,
    require_same_query,
    require_sharing,
)
from sash.runtimes.spark.epochs.epoch_metering import BatchMeter, BatchMetrics, behind, metrics_of
from sash.runtimes.spark.epochs.epoch_step import EpochStep, SavedCounts, TaskReport, TaskReports, saved_by
from sash.runtimes.spark.epochs.epoch_watermark import EpochClock
from sash.runtimes.spark.epochs.executors import ExecutorDegree
from sash.runtimes.spark.epochs.one_task import OneTask
from sash.runtimes.spark.epochs.sharing_step import SharingStep
from sash.runtimes.spark.epochs.store_of_state import StateLocation
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.micro_batch_jobs import WholeJobs
from sash.runtimes.spark.packing.blocks import PACKED_BUCKET
from sash.runtimes.spark.packing.outputs import REPORTS
from sash.runtimes.spark.packing.row_packing import RowPacking, TooLarge
from sash.runtimes.spark.packing.time_of_batch import task_sql
from sash.runtimes.spark.sinks.folder import FolderSink
from sash.runtimes.spark.sinks.protocol import BatchSink
from sash.runtimes.spark.sql_folding.epoch_fold import EpochFold
from sash.runtimes.spark.state.arenas import QUERY_ID
from sash.runtimes.spark.state.checkpoint_label import CheckpointLabel
from sash.runtimes.spark.state.fingerprint import BUCKET_COUNT, without_buckets
from sash.runtimes.spark.streaming.deliver_outputs_to_sinks import Delivery
from sash.runtimes.spark.streaming.hot_keys.choose_busy_buckets import SharingOut
from sash.runtimes.spark.streaming.hot_keys.choose_shared_keys import KeySharing
from sash.runtimes.spark.streaming.hot_keys.key_loads import together
from sash.runtimes.spark.streaming.hot_keys.keys_of_batch import SharedKeys, set_shared_keys
from sash.runtimes.spark.streaming.watermark_to_tasks import set_watermark
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.semantics.durations import Duration

FADING = 0.8
"""What is left of a load one batch later."""
FADING_SHARED = 0.2
"""The same while keys are shared: what their owners had before is no load any more."""
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
    """How Spark could fold the rows of a batch; None: they are not folded by Spark."""
    packing: RowPacking | None = None
    """How rows become blocks; None: they come in blocks."""
    one_task: OneTask | None = None
    """Which batches are packed and computed in one task; None: `elastic` decides alone."""
    skew: AssumedSkew | None = None
    """What the plan took the keys to be; None: there is no plan to compare with."""
    windows: SharingOut | None = None
    """Which buckets hand windows out; None: none ever does."""
    executors: ExecutorDegree | None = None
    """None: their number is not changed."""
    sharing: KeySharing | None = None
    """Which keys are so hot that several buckets share their look-backs; None: none ever is."""
    on_arrival: bool = False
    """Whether nearly every batch with events has rows."""
    assign: Assignment = DEFAULT
    """f_μ as a function: of the buckets and tasks of a batch."""
    mapping: Ints | None = None
    """f_μ of the batch before: the task of each bucket."""
    _all_load: Floats | None = field(default=None, init=False)
    """What each bucket has cost lately, and after these each that shares keys."""
    _delivery: Delivery | None = field(default=None, init=False)
    _reports: Accumulator[dict[tuple[int, int], TaskReport]] | None = field(default=None, init=False)
    """One for all epochs: Spark forgets none."""
    _held: SavedCounts = field(default_factory=dict, init=False)
    """Of each bucket that this run has served."""
    _jobs: WholeJobs = field(default_factory=WholeJobs, init=False)
    _ended: float | None = field(default=None, init=False)
    """When the batch before ended, by a clock that never jumps."""

    def __call__(self, arriving: DataFrame, epoch: int) -> None:
        began, start = time.time(), time.monotonic()
        self._jobs.plan(arriving.sparkSession)
        with self._home(arriving).journal() as store:
            journal = self.journal(store, epoch)
            in_one_task, too_large = self._suits_one_task(), False
            try:
                reports = self._answered(arriving, epoch, journal, in_one_task=in_one_task)
            except Exception as error:
                if not in_one_task or not TooLarge.is_in(error):
                    raise
                in_one_task, too_large = False, True
                self._jobs.plan(arriving.sparkSession)  # a function may have had its own settings
                reports = self._answered(arriving, epoch, journal, in_one_task=False)
            newest = next(iter(reports.values())).newest
            saved = saved_by(reports.values()).intersection(self.stage.buckets)
            journal.commit(newest, saved, self._shared_next(journal, reports.values(), newest))
        end = time.monotonic()
        waited = 0.0 if self._ended is None else start - self._ended
        self._ended = end
        self._weigh(reports.values(), fading=FADING_SHARED if journal.shared.regimes else FADING)
        self._measure(
            BatchMetrics(
                batch=epoch, watermark=self.clock.watermark(newest), began=began, waited=waited,
                in_one_task=in_one_task,
                decisions=self._decided(epoch, journal, in_one_task=in_one_task, too_large=too_large),
                seconds=end - start, newest=max(newest), keys=sum(keys for keys, _ in self._held.values()),
                state_bytes=sum(size for _, size in self._held.values()),
                **metrics_of(list(reports.values()), self.queries, within=end - start),
            )
        )  # fmt: skip
        if self.executors is not None:
            self.executors.after()

    def _weigh(self, reports: Iterable[TaskReport], *, fading: float) -> None:
        """What the blocks of this batch add to the load of their buckets, and what these hold now."""
        places = dict(zip(self.stage.buckets, range(len(self.stage.buckets)), strict=True))
        load = np.zeros(2 * len(places)) if self._all_load is None else fading * self._all_load
        for report in reports:
            # Buckets that share keys have the numbers that follow.
            load[[places.get(bucket, bucket) for bucket in report.load]] += list(report.load.values())
            self._held |= report.held
        self._all_load = load

    @property
    def load(self) -> Floats | None:
        """What each bucket of keys has cost lately, as bytes of its blocks."""
        return None if self._all_load is None else self._all_load[: len(self.stage.buckets)]

    @property
    def queries(self) -> Sequence[str]:
        """The names of several that run together; none where there is one."""
        return ()

    def journal(self, store: EpochStore, epoch: int) -> EpochJournal:
        """As it was at the end of the batch before."""
        return EpochJournal(
            store, self.description, epoch=epoch, inputs=len(self.delays), checkpoint=self._label()
        )

    def _label(self) -> bytes:
        """What names its checkpoint in its journal."""
        return bytes(CheckpointLabel.here(self.checkpoint))

    @cached_property
    def _answers(self) -> EpochAnswers:
        return EpochAnswers(self.stage.schemas)

    @property
    def has_clock_times(self) -> bool:
        return not self.stage.clock.shift

    @property
    def clock(self) -> EpochClock:
        return EpochClock(self.stage.clock, tuple(delay.length for delay in self.delays))

    def require_same_query(self, spark: SparkSession) -> None:
        """DifferentQuery where this one cannot go on from the state of its checkpoint."""
        metadata = HadoopFolder(spark, self.checkpoint).read("metadata")
        if metadata is None:
            return
        query = json.loads(metadata)["id"]
        home = StateLocation.of(self.elastic.store, checkpoint=self.checkpoint, query=query)
        begun = bool(HadoopFolder(spark, f"{self.checkpoint}/commits").sizes())
        with home.journal() as store:
            self._require_same(store, begun=begun)
            require_sharing(store, self.description, shares=self.sharing is not None)

    def _require_same(self, store: EpochStore, *, begun: bool) -> None:
        name = self.elastic.store.partition(":")[0]
        require_same_query(store, self.description, begun=begun, name=name)

    @property
    def description(self) -> dict[str, Any]:
        """What the state must have been made by."""
        return without_buckets(self.stage.description) | {BUCKET_COUNT: len(self.stage.buckets)}

    def _home(self, packed: DataFrame) -> StateLocation:
        query = packed.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        return StateLocation.of(self.elastic.store, checkpoint=self.checkpoint, query=str(query))

    def _answered(
        self, arriving: DataFrame, epoch: int, journal: EpochJournal, *, in_one_task: bool
    ) -> dict[int, TaskReport]:
        """Step and sinks; what each task of the step reports."""
        degree = 1 if in_one_task else self.elastic.degree(list(self.meter.samples))
        tasks = None if in_one_task else self._assigned(degree, sharing=journal.shared.are_there)
        if self.executors is not None:
            self.executors.before(degree)
        if self._reports is None:
            self._reports = arriving.sparkSession.sparkContext.accumulator({}, TaskReports())
        milliseconds = self.clock.milliseconds(journal.newest)
        set_watermark(arriving.sparkSession, milliseconds)
        shared = SharedKeys(journal.shared.regimes, milliseconds)
        journal.require_sharing(shares=self.sharing is not None)
        if self.sharing is not None:
            set_shared_keys(arriving.sparkSession, shared)
        if self._delivery is None:
            self._delivery = Delivery(
                tuple(self._answers.schemas), self._answers.opened, self.sinks, self.on_arrival, self._jobs,
                self._answers.marked,
            )  # fmt: skip
        waiting = self._delivery.waiting(arriving.sparkSession, epoch)
        handed = REPORTS if self.windows is not None and self.windows.hands_out else None
        # Reports of windows that are handed out are made behind the step, which cannot write them.
        folders = {
            output: sink
            for output, sink in waiting.items()
            if isinstance(sink, FolderSink) and output != handed
        }
        targets = {
            output: sink.task_files(arriving.sparkSession, epoch, self.stage.schemas[output])
            for output, sink in folders.items()
        }
        files = {output: target for output, target in targets.items() if target is not None}
        step = self._step(
            journal, home=self._home(arriving), epoch=epoch, tasks=degree, clock=self.clock, run=self.name,
            newest=tuple(journal.newest), token=journal.token, mapping=tasks, reports=self._reports,
            files=files,
        )  # fmt: skip
        if in_one_task and self.packing is not None:
            emitted = self.packing.in_one_task(arriving, step, self._answers.struct)
        else:
            emitted = (
                self._blocks(arriving, milliseconds)
                .repartitionById(degree, F.expr(task_sql(tasks, degree)))
                .sortWithinPartitions(PACKED_BUCKET)
                .mapInArrow(step, self._answers.struct)
            )
        others = {output: sink for output, sink in waiting.items() if output not in files}
        if self.windows is not None:
            emitted = self.windows.emitted(emitted, epoch)
        self._delivery.deliver(emitted, others, epoch)
        if self.windows is not None:
            self.windows.see()
        found = {task: report for (of, task), report in self._reports.value.items() if of == epoch}
        self._reports.value = {}
        if len(found) != degree:
            raise StoreError(f"{len(found)} tasks have served the buckets of {degree}")
        for output, target in files.items():
            written = [report.files[output] for report in found.values() if output in report.files]
            folders[output].publish(arriving.sparkSession, epoch, target, written)
        return found

    def _assigned(self, degree: int, *, sharing: bool) -> tuple[int, ...] | None:
        """The task of each bucket; None: bucket b has task b mod `degree`."""
        buckets, before = len(self.stage.buckets) * (2 if sharing else 1), self.mapping
        if before is not None and len(before) != buckets:
            before = np.append(before, np.full(buckets, -1))[:buckets]
        load = None if self._all_load is None else self._all_load[:buckets]
        mapping = self.assign(buckets, range(degree), before=before, load=load)
        self.mapping = checked(mapping, shares=buckets, instances=range(degree))
        return tuple(self.mapping.tolist())

    def _step(self, journal: EpochJournal, **how: Any) -> EpochStep:
        how |= {"stage": self.stage, "change": journal.change, "begun": journal.begun}
        if self.sharing is None:
            return EpochStep(**how)
        regimes, least = journal.shared.regimes, self.sharing.least
        shared = SharedKeys(regimes, self.clock.milliseconds(journal.newest))
        return SharingStep(**how, shared=shared, served=journal.shared.served, least=least)

    def _shared_next(
        self, journal: EpochJournal, reports: Collection[TaskReport], newest: Sequence[int]
    ) -> tuple[Regime, ...]:
        """The keys whose look-backs several buckets share in the batch after this one."""
        if self.sharing is None:
            return ()
        events = sum(report.counts.get("events", 0) for report in reports)
        tasks = max(len(reports), self.elastic.degree(list(self.meter.samples)))
        return self.sharing.next(
            journal.shared.regimes, together(report.key_loads for report in reports), events=events,
            tasks=tasks, newest=self.stage.clock.time(max(newest)), watermark=self.clock.watermark(newest),
        )  # fmt: skip

    def _blocks(self, arriving: DataFrame, milliseconds: int) -> DataFrame:
        """What is shuffled to the step."""
        if self.fold is not None and self._spark_folds():
            return self.fold.blocks(arriving, milliseconds, self.elastic.max)
        return arriving if self.packing is None else self.packing.blocks(arriving)

    def _suits_one_task(self) -> bool:
        return self.one_task is not None and self.one_task.suits_next(self._last)

    def _spark_folds(self) -> bool:
        fold, last = self.fold, self._last
        return fold is not None and (last is None or fold.pays(events=last.events, saved=last.saved))

    def _decided(
        self, epoch: int, journal: EpochJournal, *, in_one_task: bool, too_large: bool
    ) -> tuple[Decision, ...]:
        """How this batch was computed, and why; before it is the last one."""
        found, last = [], self._last
        if self.fold is not None and not in_one_task:
            choice = "Spark folds panes" if self._spark_folds() else "Python folds panes"
            why = "nothing is known of a first batch"
            if last is not None:
                why = self.fold.why(events=last.events, saved=last.saved)
            found.append(Decision("panes", choice, why))
        if self.one_task is not None:
            why = "more came than one task should have" if too_large else self.one_task.why
            found.append(Decision("tasks", "one task" if in_one_task else "two stages", why))
        if self.windows is not None:
            found.extend(self.windows.decisions_of(epoch))
        if self.sharing is not None:
            shared = self.sharing.decision(journal.shared.regimes)
            found.extend([] if shared is None else [shared])
        if self.skew is not None and self.load is not None and last is not None:
            found.extend(self.skew.contradicted(self.load, events=last.events))
        return tuple(found)

    def decisions_of(self, batch: int) -> tuple[Decision, ...]:
        """What was decided for a batch, if it is remembered."""
        found = self.meter.of(batch)
        return () if found is None else found.decisions

    def was_in_one_task(self, batch: int) -> bool:
        found = self.meter.of(batch)
        return found is not None and found.in_one_task

    @property
    def _last(self) -> BatchMetrics | None:
        return self.meter.batches[-1] if self.meter.batches else None

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
