"""What one of n tasks does in an epoch: the buckets that are mapped to it, one after the other.

    rows arrived, judged by watermark m;  the batch has moved it to m':
        advance(m), insert(rows), advance(m), advance(m')
    none arrived, but something is due at m':
        advance(m')

These are the calls of the ordinary streaming runtime (see `runtimes.spark.streaming.processor`), where m'
is known at the beginning of the next batch. Here it is known before the step begins, so that what a batch
closes is reported with that batch, also when no other batch ever comes.

A task takes back what an earlier try of the same epoch may have committed, and ends with one commit for all
its buckets. Before that it puts up a fence: a task of an earlier try that is still at work, or of an epoch
that is long done, changes nothing any more. Which task serves a bucket leaves no trace in its state.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import DoubleType, IntegerType, StructField, StructType

from sash.aggregation.stores.epochs import EpochStore
from sash.operators.engine import Change
from sash.runtimes.spark.elastic.held import HeldBucket
from sash.runtimes.spark.elastic.state_location import StateLocation
from sash.runtimes.spark.packing.answers import PackedAnswers
from sash.runtimes.spark.packing.blocks import (
    ANSWERED,
    COUNTS,
    INPUT,
    NO_OUTPUT,
    OUTPUT,
    PACKED_BUCKET,
    PAYLOAD,
)
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.runtimes.spark.streaming.worker_gc import freeze_gc

TASK, BEGAN, TOOK, BUSY = "task", "began", "took", "busy"
NO_TASK = -1
STEPPED = StructType(
    [
        *ANSWERED.fields,
        StructField(TASK, IntegerType(), nullable=False),
        *(StructField(name, DoubleType(), nullable=False) for name in (BEGAN, TOOK, BUSY)),
    ]
)
"""A row for each block of an answer, and a last one for each task, with how long it took."""

_ARROW = pa.schema(
    [
        pa.field(PAYLOAD, pa.binary()),
        pa.field(OUTPUT, pa.int64()),
        *(pa.field(count, pa.int64()) for count in COUNTS),
        pa.field(TASK, pa.int32()),
        *(pa.field(name, pa.float64()) for name in (BEGAN, TOOK, BUSY)),
    ]
)

ATTEMPT_BITS = 48
"""Of a token, the lowest: Spark numbers the attempts of all tasks of an application in ascending order."""
REMEMBERED = 16
_STAGES: OrderedDict[str, WindowStage] = OrderedDict()


@dataclass(frozen=True)
class EpochStep:
    """The function of `mapInArrow` between the shuffle and the sink: blocks of rows → blocks of answers."""

    stage: WindowStage
    home: StateLocation
    epoch: int
    tasks: int
    before: int
    """The watermark that judges the rows of this batch."""
    after: int
    """The watermark that they have brought."""
    run: str
    """Names the run of the query: its stage is the same in all epochs, but comes again with each."""
    token: int
    """Of this execution of the epoch: greater than those of all executions before it."""
    change: Change | None = None
    """Of the aggregates since the epoch before: every bucket is then saved in the new form."""
    mapping: tuple[int, ...] | None = None
    """The task of each bucket; None: bucket b has task b mod `tasks`."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        task = TaskContext.get()
        if task is None:
            return self.of_task(0, batches)
        return self.of_task(task.partitionId(), batches, attempt=task.taskAttemptId())

    def of_task(
        self, task: int, batches: Iterable[pa.RecordBatch], *, attempt: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """`attempt` is greater for a later attempt of the same task."""
        # The clock of the wall is the only one that hosts share; durations are by one that never jumps.
        began, start, busy = time.time(), time.perf_counter(), 0.0
        stage = self._stage()
        numbers = [bucket for bucket in stage.buckets if self.task_of(bucket) == task]
        stores = dict(zip(numbers, self.home.buckets(numbers), strict=True))
        fenced = False
        for bucket, blocks in _by_bucket(batches, numbers):
            since = time.perf_counter()
            # Not before its rows are here: a task whose driver has died learns of it by missing rows.
            if not fenced:
                kind = type(stores[bucket])
                kind.fence_together(list(stores.values()), self.token << ATTEMPT_BITS | attempt)
                fenced = True
            stores[bucket].rollback(self.epoch - 1)
            rows = list(self._serve(stage, bucket, blocks, stores[bucket]))
            busy += time.perf_counter() - since
            yield from rows
        since = time.perf_counter()
        if stores:
            type(stores[numbers[0]]).commit_together(list(stores.values()), self.epoch)
        busy += time.perf_counter() - since
        yield _row(
            b"", NO_OUTPUT, dict.fromkeys(COUNTS, 0), (task, began, time.perf_counter() - start, busy)
        )

    def task_of(self, bucket: int) -> int:
        return bucket % self.tasks if self.mapping is None else self.mapping[bucket]

    def _stage(self) -> WindowStage:
        """The stage as this process got it first: its monoids are compiled already."""
        stage = _STAGES.setdefault(self.run, self.stage)
        while len(_STAGES) > REMEMBERED:
            _STAGES.popitem(last=False)
        return stage

    def _serve(
        self, stage: WindowStage, bucket: int, blocks: list[Block], store: EpochStore
    ) -> Iterator[pa.RecordBatch]:
        held = HeldBucket(stage, bucket, store)
        changes = self.change is not None and not held.is_new
        if not blocks and not changes and held.sleeps(self.after):
            return
        loaded = held.load(self.change)
        call = stage.call(stage, loaded)
        if blocks:
            call.reach(self.before)
            call.insert(stage.arrived(bucket, blocks))
            call.reach(self.before)
        call.advance(self.after)
        held.save(loaded)
        for row in call.outgoing(PackedAnswers(stage.schemas)):
            yield _row(row[PAYLOAD], row[OUTPUT], row.asDict(), (NO_TASK, 0.0, 0.0, 0.0))


def _row(
    payload: bytes, output: int, counts: dict[str, int], timing: tuple[int, float, float, float]
) -> pa.RecordBatch:
    values: list[Any] = [payload, output, *(counts[count] for count in COUNTS), *timing]
    return pa.record_batch(
        [pa.array([value], f.type) for value, f in zip(values, _ARROW, strict=True)], schema=_ARROW
    )


Block: TypeAlias = "tuple[pa.Buffer, int]"
"""A payload, and the number of its input."""


def _by_bucket(batches: Iterable[pa.RecordBatch], mine: list[int]) -> Iterator[tuple[int, list[Block]]]:
    """Each of my buckets with its blocks, which arrive sorted by bucket; those without any at the end."""
    idle = dict.fromkeys(mine)
    rows = (
        (bucket, payload.as_buffer(), number)
        for batch in batches
        for bucket, payload, number in zip(
            batch.column(PACKED_BUCKET).to_pylist(), batch.column(PAYLOAD), _inputs(batch), strict=True
        )
    )
    for bucket, blocks in groupby(rows, key=lambda row: row[0]):
        del idle[bucket]
        yield bucket, [(payload, number) for _, payload, number in blocks if payload.size]
    for bucket in idle:
        yield bucket, []


def _inputs(batch: pa.RecordBatch) -> list[int]:
    several = INPUT in batch.schema.names
    return batch.column(INPUT).to_pylist() if several else [0] * batch.num_rows
