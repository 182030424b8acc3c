"""What one of n tasks does in an epoch: the buckets that are mapped to it, one after the other.

    rows arrived, judged by watermark m;  the batch has moved it to m':
        advance(m), insert(rows), advance(m), advance(m')
    none arrived, but something is due at m':
        advance(m')

These are the calls of the ordinary streaming runtime (see `streaming/stateful_processor.py`), where m' is
known at the beginning of the next batch. Here the packers' stamps have it (`packing.time_of_batch`), so
that what a batch closes is reported with that batch, also when no other batch ever comes.

A task takes back what an earlier try of the same epoch may have committed, and ends with one commit for all
its buckets. Before that it puts up a fence: a task of an earlier try that is still at work, or of an epoch
that is long done, changes nothing any more. Which task serves a bucket leaves no trace in its state.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import TypeAlias

import pyarrow as pa
from pyspark import TaskContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from sash.aggregation.stores.epoch_store import EpochStore
from sash.errors import StoreError
from sash.operators.engine import Change
from sash.runtimes.spark.epochs.epoch_answers import EpochAnswers
from sash.runtimes.spark.epochs.epoch_journal import lost
from sash.runtimes.spark.epochs.epoch_watermark import EpochClock
from sash.runtimes.spark.epochs.operator_in_store import HeldBucket
from sash.runtimes.spark.epochs.store_of_state import StateLocation
from sash.runtimes.spark.packing.blocks import INPUT, NEWEST_AT, PACKED_BUCKET, PAYLOAD
from sash.runtimes.spark.packing.time_of_batch import Stamps, is_stamp
from sash.runtimes.spark.sinks.task_files import TaskFiles, WrittenFile
from sash.runtimes.spark.state.operators_in_state import Bucket
from sash.runtimes.spark.streaming.bucket_call import BucketCall, PackedInput
from sash.runtimes.spark.streaming.hot_keys.key_loads import KeyLoads, together
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.runtimes.spark.streaming.worker_gc import freeze_gc

ATTEMPT_BITS = 48
"""Of a token, the lowest: Spark numbers the attempts of all tasks of an application in ascending order."""
REMEMBERED = 16
SAVED = "saved"
SavedCounts: TypeAlias = "dict[int | tuple[int, str], tuple[int, int]]"
"""Keys and bytes of what was saved: by bucket, and by query where several have state in it."""
_STAGES: OrderedDict[str, WindowStage] = OrderedDict()


@dataclass(frozen=True)
class TaskReport:
    """What a task did in an epoch. The driver gets it beside the rows."""

    began: float
    """By the clock of the wall, the only one that hosts share; durations are by one that never jumps."""
    took: float
    busy: float
    newest: list[int]
    """How far time has come on each input: the same in all tasks."""
    counts: dict[str, int]
    load: dict[int, int]
    """Bytes of the blocks that came, by bucket."""
    packers: int
    """Tasks that packed the rows."""
    saved: int = 0
    """Events that panes came for, less those panes."""
    held: SavedCounts = field(default_factory=dict)
    key_loads: KeyLoads = field(default_factory=dict)
    """Of keys that may be hot, where somebody looks."""
    files: dict[str, WrittenFile] = field(default_factory=dict)
    """What it has written itself, by output."""


def saved_by(reports: Iterable[TaskReport]) -> set[int]:
    """The buckets whose one query was saved."""
    return {bucket for report in reports for bucket in report.held if isinstance(bucket, int)}


class TaskReports(AccumulatorParam[dict[tuple[int, int], TaskReport]]):
    """Reports by epoch and task; that of the last attempt of a task counts."""

    def zero(self, value: dict[tuple[int, int], TaskReport]) -> dict[tuple[int, int], TaskReport]:
        return {}

    def addInPlace(
        self, value1: dict[tuple[int, int], TaskReport], value2: dict[tuple[int, int], TaskReport]
    ) -> dict[tuple[int, int], TaskReport]:
        value1.update(value2)
        return value1


@dataclass(frozen=True)
class EpochStep:
    """The function of `mapInArrow` between the shuffle and the sink: blocks of rows → rows of answers."""

    stage: WindowStage
    home: StateLocation
    epoch: int
    tasks: int
    clock: EpochClock
    newest: tuple[int, ...]
    """How far time had come on each input before this batch."""
    run: str
    """Names the run of the query: its stage is the same in all epochs, but comes again with each."""
    token: int
    """Of this execution of the epoch: greater than those of all executions before it."""
    change: Change | None = None
    """Of the aggregates since the epoch before: every bucket is then saved in the new form."""
    mapping: tuple[int, ...] | None = None
    """The task of each bucket; None: bucket b has task b mod `tasks`."""
    begun: frozenset[int] = frozenset()
    """The buckets that had state after the epoch before: a store may have lost it."""
    reports: Accumulator[dict[tuple[int, int], TaskReport]] | None = None
    """Where tasks report; None: nowhere."""
    files: Mapping[str, TaskFiles] = field(default_factory=dict)
    """The outputs that tasks write to files themselves."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        task, (number, batches) = TaskContext.get(), self._numbered(batches)
        if task is None:
            return self.of_task(number or 0, batches)
        self._require_open()
        number = task.partitionId() if number is None else number
        return self.of_task(number, batches, attempt=task.taskAttemptId())

    def _numbered(self, batches: Iterable[pa.RecordBatch]) -> tuple[int | None, Iterator[pa.RecordBatch]]:
        """The number of this task as its stamps have it; None where nothing came. Where a user's function
        evaluates the rows, `coalesce` or `union` may have numbered the tasks in another way."""
        rest = iter(batches)
        for batch in rest:
            if batch.num_rows:
                first = batch.column(PACKED_BUCKET)[0].as_py()
                return (-1 - first) % self.tasks if is_stamp(first) else None, chain([batch], rest)
        return None, rest

    def _require_open(self) -> None:
        """StoreError where the batch is done: its rows are not to be computed again, which would take back
        what was committed. Looked for where a look is cheap."""
        if not self.home.files:
            return
        with self.home.journal() as journal:
            done = journal.committed.epoch
        if done >= self.epoch:
            raise StoreError(
                f"batch {self.epoch} is done, and its rows can be read only in the function that was given "
                "as its sink; write or collect there what is needed later"
            )

    def of_task(
        self, task: int, batches: Iterable[pa.RecordBatch], *, attempt: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """`attempt` is greater for a later attempt of the same task."""
        began, start, busy = time.time(), time.perf_counter(), 0.0
        stage, stamps = self._stage(), Stamps(list(self.newest))
        files = {
            output: own.begin(f"{task:05}-{attempt}", stage.schemas[output])
            for output, own in self.files.items()
        }
        counts: Counter[str] = Counter()
        load: dict[int, int] = {}
        held: SavedCounts = {}
        key_loads: list[KeyLoads] = []
        numbers = [bucket for bucket in self.buckets if self.task_of(bucket) == task]
        stores = dict(zip(numbers, self.home.buckets(numbers), strict=True))
        fenced = False
        for bucket, blocks in _by_bucket(batches, numbers, stamps):
            since = time.perf_counter()
            # Not before its rows are here: a task whose driver has died learns of it by missing rows.
            if not fenced:
                kind = type(stores[bucket])
                kind.fence_together(list(stores.values()), self.token << ATTEMPT_BITS | attempt)
                fenced = True
            self._go_back(bucket, stores[bucket])
            load[bucket] = sum(len(payload) for payload, _ in blocks)
            tables, counted = self._serve(
                stage, bucket, blocks, stores[bucket], stamps.newest, held, key_loads
            )
            counts.update(counted)
            for output in tables.keys() & files.keys():
                files[output].write(tables.pop(output))
            busy += time.perf_counter() - since
            yield from EpochAnswers(stage.schemas).batches(tables)
        since = time.perf_counter()
        written = {output: file.close() for output, file in files.items()}
        if stores:
            type(stores[numbers[0]]).commit_together(list(stores.values()), self.epoch)
        end = time.perf_counter()
        if self.reports is not None:
            counts.update(events=stamps.late, late=stamps.late)
            saved = counts.pop(SAVED, 0)
            report = TaskReport(
                began,
                end - start,
                busy + end - since,
                stamps.newest,
                dict(counts),
                load,
                stamps.packers,
                saved,
                held,
                together(key_loads),
                {output: file for output, file in written.items() if file is not None},
            )
            self.reports.add({(self.epoch, task): report})

    def _go_back(self, bucket: int, store: EpochStore) -> None:
        """To the end of the epoch before. What another attempt has committed since stays until this one
        commits: either of the two may be the one that counts."""
        store.replace_after(self.epoch - 1)

    @property
    def buckets(self) -> tuple[int, ...]:
        """Those of this epoch."""
        return self.stage.buckets

    def task_of(self, bucket: int) -> int:
        return bucket % self.tasks if self.mapping is None else self.mapping[bucket]

    def _stage(self) -> WindowStage:
        """The stage as this process got it first: its monoids are compiled already."""
        stage = _STAGES.setdefault(self.run, self.stage)
        while len(_STAGES) > REMEMBERED:
            _STAGES.popitem(last=False)
        return stage

    def _serve(
        self, stage: WindowStage, bucket: int, blocks: list[PackedInput], store: EpochStore,
        newest: list[int], held: SavedCounts, key_loads: list[KeyLoads],
    ) -> tuple[dict[str, pa.Table], dict[str, int]]:  # fmt: skip
        kept, after = HeldBucket(stage, bucket, store), self.clock.watermark(newest)
        if kept.is_new and bucket in self.begun:
            raise lost(f"the state of bucket {bucket}", self.epoch - 1)
        changes = self.change is not None and not kept.is_new
        if not blocks and not changes and kept.sleeps(after):
            return {}, {}
        loaded = kept.load(self.change)
        call = self._call(stage, loaded)
        if blocks:
            before = self.clock.watermark(self.newest)
            call.reach(before)
            call.take(blocks, milliseconds=self.clock.milliseconds(self.newest))
            call.reach(before)
        call.advance(after)
        saved = kept.save(loaded)
        held[bucket] = saved.keys, saved.size
        key_loads.append(call.key_loads)
        tables, counts = call.answer()
        return tables, counts | {SAVED: call.saved}

    def _call(self, stage: WindowStage, bucket: Bucket) -> BucketCall:
        return stage.call(stage, bucket)


def _by_bucket(
    batches: Iterable[pa.RecordBatch], mine: list[int], stamps: Stamps
) -> Iterator[tuple[int, list[PackedInput]]]:
    """Each of my buckets with its blocks, which arrive sorted by bucket, after all stamps; those without
    any at the end."""
    idle = dict.fromkeys(mine)
    rows = (
        (bucket, payload.as_buffer(), number, newest)
        for batch in batches
        for bucket, payload, number, newest in zip(
            batch.column(PACKED_BUCKET).to_pylist(), batch.column(PAYLOAD), _inputs(batch),
            batch.column(NEWEST_AT).cast(pa.int64()).to_pylist(), strict=True,
        )
    )  # fmt: skip
    for bucket, blocks in groupby(rows, key=itemgetter(0)):
        if is_stamp(bucket):
            for _, payload, number, newest in blocks:
                stamps.take(payload, newest, number)
            continue
        del idle[bucket]
        yield bucket, [(payload, number) for _, payload, number, _ in blocks if payload.size]
    for bucket in idle:
        yield bucket, []


def _inputs(batch: pa.RecordBatch) -> list[int]:
    several = INPUT in batch.schema.names
    return batch.column(INPUT).to_pylist() if several else [0] * batch.num_rows
