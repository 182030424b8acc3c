"""How far time has come in a micro-batch, known to every task behind a shuffle.

    packer i ─ blocks of its rows ──────────────┐
             └ its newest time, once per task ──┴─ shuffle ─▶ task j: the greatest of all, in all tasks

A task behind a shuffle begins when all tasks before it have ended. So the watermark that a batch brings is
known to the step of that batch without a job that reads the rows first.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from sash.runtimes.spark.packing.blocks import NEWEST_AT, PACKED, PACKED_BUCKET
from sash.runtimes.spark.packing.hashed_packer import Packing

_COUNTS = struct.Struct("<qq")


@dataclass(frozen=True)
class StampedPacker:
    """A packer whose last rows are its stamps: the function of `mapInArrow` before the shuffle."""

    packer: Packing
    tasks: int
    """How many there are behind the shuffle, or more."""
    events: str | None = None
    """The column with how many events a row stands for, which goes no further; None: rows are events."""
    time: str = ""
    """Where `events` is given: rows without this time are late, and go no further either."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts, newest = [0, 0], -1
        rows = batches if self.events is None else self._counted(batches, counts)
        for blocks in self.packer(rows):
            if blocks.num_rows:
                newest = max(newest, pc.max(blocks[NEWEST_AT].cast(pa.int64())).as_py())
            yield blocks
        if newest >= 0 or any(counts):
            yield self._stamps(max(newest, 0), counts)

    def _counted(self, batches: Iterable[pa.RecordBatch], counts: list[int]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            events, late = batch[self.events], pc.is_null(batch[self.time])
            counts[0] += pc.sum(events).as_py() or 0
            counts[1] += pc.sum(events.filter(late)).as_py() or 0
            yield batch.drop_columns([self.events]).filter(pc.invert(late))

    def _stamps(self, newest: int, counts: list[int]) -> pa.RecordBatch:
        payloads = [_COUNTS.pack(*counts), *[b""] * (self.tasks - 1)]
        columns = [
            pa.array([-1 - task for task in range(self.tasks)], pa.int64()),
            pa.array(payloads, pa.binary()),
            pa.array([newest] * self.tasks, pa.int64()).cast(pa.timestamp("us", "UTC")),
        ]
        return pa.record_batch(columns, names=PACKED.names)


@dataclass
class Stamps:
    """What a task has found in its stamps. Sorted by bucket, they come before all blocks."""

    newest: list[int]
    """Of each input: as far as it has come, at first with the batches before."""
    counts: list[int] = field(default_factory=lambda: [0, 0])
    """Events and late ones that only the packers have seen."""

    def take(self, payload: pa.Buffer, newest: int, number: int) -> None:
        """A stamp of the input with this number."""
        self.newest[number] = max(self.newest[number], newest)
        if payload.size:
            found = _COUNTS.unpack(payload)
            self.counts = [mine + more for mine, more in zip(self.counts, found, strict=True)]


def is_stamp(bucket: int) -> bool:
    return bucket < 0


def task_sql(mapping: Iterable[int], tasks: int) -> str:
    """The task of a block or a stamp, where `mapping` has the task of each bucket."""
    listed = ", ".join(map(str, mapping))
    of_bucket = f"element_at(array({listed}), int({PACKED_BUCKET}) + 1)"
    return f"int(IF({PACKED_BUCKET} < 0, (-1 - {PACKED_BUCKET}) % {tasks}, {of_bucket}))"
