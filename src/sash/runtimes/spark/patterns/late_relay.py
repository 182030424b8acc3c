"""Late rows under patterns whose first step decides what is late, and whose reports come from a second one.

    two levels   step: panes, late ──▶ pack again ──▶ step: own windows, late from the bucket RELAY
    by an owner  step: windows to compute, late ──round-robin──▶ compute windows, late as they are

Spark would run the first step once for each output if the two parted after it. So late rows stay with what
the second step is made of, and all outputs leave the query in one DataFrame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions as F

from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.packing.answers import PackedAnswers
from sash.runtimes.spark.packing.blocks import OUTPUT, PACKED, PAYLOAD, RELAY, Unpacker, blocks_of
from sash.runtimes.spark.packing.hashed_packer import HashedPacker
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.runtimes.spark.patterns.agnostic import ROWS, WINDOW, WORKER, ArrowFunction, HandOutPlan
from sash.runtimes.spark.patterns.window_parts import NEXT
from sash.runtimes.spark.state.queries_of_checkpoint import ALONE
from sash.runtimes.spark.streaming.stateful_step import Emitted, counted
from sash.runtimes.spark.streaming.window_stage import WindowStage

NO_WINDOW = -1
"""In the place of a window's number: the rows are a block of late ones."""
COMPUTED = pa.schema([(PAYLOAD, pa.binary()), (OUTPUT, pa.int64()), (REPORTS, pa.int64())])


def parted(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.Array]:
    """What a step emits: the rows without late ones, and the blocks of those."""
    late = pc.equal(batch[OUTPUT], 1)
    return batch.filter(pc.invert(late)), batch.filter(late)[PAYLOAD]


@dataclass(frozen=True)
class Repacker:
    """Panes → blocks for the second step, late rows → its bucket RELAY: the function of `mapInArrow`."""

    panes: HashedPacker

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        late: list[pa.Array] = []

        def without_late_rows() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                rest, blocks = parted(batch)
                late.append(blocks)
                yield rest

        yield from self.panes(without_late_rows())
        for blocks in late:
            buckets = pa.array([RELAY] * len(blocks), pa.int64())
            newest = pa.array([0] * len(blocks), pa.timestamp("us", "UTC"))
            yield pa.record_batch([buckets, blocks, newest], names=PACKED.names)


def computed_beside_late_rows(blocks: DataFrame, stage: WindowStage, handing: HandOutPlan) -> Emitted:
    """Reports of the windows that owners hand out, and their late rows."""
    answers = PackedAnswers({REPORTS: stage.bound.output, LATE: stage.schemas[LATE]})
    opened = HandedOut(handing.schema)
    handed_out = blocks.select(PAYLOAD, OUTPUT).mapInArrow(opened, struct_of(handing.schema))
    last = WorkerBesideLateRows(handing.last(stage.bound))
    rows = handing.prepared(handed_out, stage.bound).mapInArrow(last, struct_of(COMPUTED))
    rows = counted(rows, {REPORTS: F.sum(REPORTS)})
    return Emitted(rows, tuple(answers.schemas), answers.opened, {ALONE: stage.description})


@dataclass(frozen=True)
class HandedOut:
    """What owners emit → windows in the form in which they are handed out, and blocks of late rows among
    them."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        unpack = Unpacker(self.schema)
        for batch in batches:
            windows, late = parted(batch)
            yield from unpack([windows])
            row = {WORKER: 0, NEXT: 0, WINDOW: NO_WINDOW}
            rows = [row | {ROWS: block} for block in late.to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, schema=self.schema)


@dataclass(frozen=True)
class WorkerBesideLateRows:
    """Windows that were handed out → blocks of reports; blocks of late rows as they are."""

    worker: ArrowFunction

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        late: list[pa.Array] = []

        def without_late_rows() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                is_late = pc.equal(batch[WINDOW], NO_WINDOW)
                late.append(batch.filter(is_late)[ROWS])
                yield batch.filter(pc.invert(is_late))

        for reports in self.worker(without_late_rows()):
            table = pa.Table.from_batches([reports])
            yield _emitted(blocks_of(table), output=0, reports=reports.num_rows)
        for blocks in late:
            yield _emitted(blocks.to_pylist(), output=1)


def _emitted(blocks: Iterable[bytes], *, output: int, reports: int = 0) -> pa.RecordBatch:
    """`reports`: how many there are in these blocks, counted with the first."""
    payloads = pa.array(blocks, pa.binary())
    counts, outputs = np.zeros(len(payloads), np.int64), np.full(len(payloads), output)
    counts[:1] = reports
    return pa.record_batch([payloads, outputs, counts], schema=COMPUTED)
