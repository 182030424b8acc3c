"""How far time has come in a micro-batch, known to every task behind a shuffle.

    packer i ─ blocks of its rows ──────────────┐
             └ its newest time, once per task ──┴─ shuffle ─▶ task j: the greatest of all, in all tasks

A task behind a shuffle begins when all tasks before it have ended. So the watermark that a batch brings is
known to the step of that batch without a job that reads the rows first.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.stores.values import reading
from sash.runtimes.spark.packing.blocks import NEWEST_AT, PACKED, PACKED_BUCKET, Packing

_LATE = struct.Struct("<q")


@dataclass(frozen=True)
class StampedPacker:
    """A packer whose last rows are its stamps: the function of `mapInArrow` before the shuffle."""

    packer: Packing
    tasks: int
    """How many there are behind the shuffle, or more."""
    panes: tuple[str, str] | None = None
    """Where rows are panes: the columns with how many events each holds, and with its time. A pane without
    a time is of late events, which are counted and go no further. None: rows are events."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        late, newest = [0], -1
        rows = batches if self.panes is None else self._on_time(batches, late, *self.panes)
        for blocks in self.packer(rows):
            if blocks.num_rows:
                newest = max(newest, pc.max(blocks[NEWEST_AT].cast(pa.int64())).as_py())
            yield blocks
        # Also without rows: a task learns its number from its stamps.
        yield self._stamps(max(newest, 0), late[0])

    def _on_time(
        self, batches: Iterable[pa.RecordBatch], late: list[int], events: str, time: str
    ) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            behind = pc.is_null(batch[time])
            late[0] += pc.sum(batch[events].filter(behind)).as_py() or 0
            yield batch.filter(pc.invert(behind))

    def _stamps(self, newest: int, late: int) -> pa.RecordBatch:
        payloads = [_LATE.pack(late), *[b""] * (self.tasks - 1)]
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
    late: int = 0
    """Events that only the packers have seen, since they were too late for any pane."""
    packers: int = 0
    """How many tasks have packed the rows."""

    def take(self, payload: pa.Buffer, newest: int, number: int) -> None:
        """A stamp of the input with this number."""
        self.newest[number] = max(self.newest[number], newest)
        if payload.size:  # the first stamp of a packer
            self.packers += 1
            with reading("the stamp of a packer"):
                self.late += _LATE.unpack(payload)[0]


def is_stamp(bucket: int) -> bool:
    return bucket < 0


def task_sql(mapping: Iterable[int] | None, tasks: int) -> str:
    """The task of a block or a stamp, where `mapping` has the task of each bucket; without it, of bucket b
    task b mod `tasks`."""
    of_bucket = f"{PACKED_BUCKET} % {tasks}"
    if mapping is not None:
        of_bucket = f"element_at(array({', '.join(map(str, mapping))}), int({PACKED_BUCKET}) + 1)"
    return f"int(IF({PACKED_BUCKET} < 0, (-1 - {PACKED_BUCKET}) % {tasks}, {of_bucket}))"
