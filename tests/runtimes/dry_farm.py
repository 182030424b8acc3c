"""A pattern on a stream without Spark's engine: packers, stateful steps and workers, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.operators.bound_query import BoundQuery
from sash.operators.patterns.declared import Pattern
from sash.operators.patterns.who_finds_windows import owner_finds
from sash.runtimes.spark.packing.blocks import COUNTS, NEWEST_AT, OUTPUT, PACKED_BUCKET, PAYLOAD, Unpacker
from sash.runtimes.spark.packing.hashed_packer import HashedPacker
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.runtimes.spark.patterns.agnostic import WORKER, ArrowFunction, HandOutPlan
from sash.runtimes.spark.patterns.late_relay import HandedOut, Repacker, WorkerBesideLateRows, parted
from sash.runtimes.spark.patterns.owner import OwnerProcessor
from sash.runtimes.spark.patterns.stream_plan import stream_plan_of, worker_buckets
from sash.runtimes.spark.patterns.streaming_stages import (
    AFTER,
    BEFORE,
    over_panes,
    owner_stage,
    pane_stage,
    window_processor,
    window_stage,
)
from sash.runtimes.spark.patterns.window_parts import PartWorker, WindowParts, handing_of
from sash.runtimes.spark.state.operators_in_state import OPERATORS
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.runtimes.spark.streaming.window_stage import WindowStage
from tests.runtimes.micro_batches import MicroBatches

PARTITIONS = 2


class DryStep:
    """One stateful step, the packer before it, and what it counts."""

    def __init__(self, processor: WindowProcessor, tells: Iterable[str]) -> None:
        self.stage, self.engine, self.tells = processor.stage, MicroBatches(processor), tells
        self.buckets: set[int] = set()
        """Those that rows were sent to."""

    def packer(self, rows: Any) -> HashedPacker:
        return HashedPacker(rows, self.stage.shares, self.stage.packer)

    def packed(self, rows: Any, batches: Iterable[pa.RecordBatch]) -> list[pa.RecordBatch]:
        return list(self.packer(rows)(batches))

    def answered(
        self, watermark: int, packed: Iterable[pa.RecordBatch], counts: dict[str, int]
    ) -> pa.Table:
        payloads: dict[int, list[bytes]] = {}
        for batch in packed:
            for bucket, payload in zip(batch[PACKED_BUCKET], batch[PAYLOAD], strict=True):
                payloads.setdefault(bucket.as_py(), []).append(payload.as_py())
        self.buckets |= payloads.keys()
        rows = self.engine.batch(watermark, payloads)
        for count in self.tells:
            counts[count] += sum(row[count] for row in rows)
        return pa.table(
            {
                PAYLOAD: pa.array([row[PAYLOAD] for row in rows], pa.binary()),
                OUTPUT: pa.array([row[OUTPUT] for row in rows], pa.int64()),
            }
        )


def by_worker(work: ArrowFunction, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What the tasks of workers emit, each of which has its own rows."""
    given = list(batches)
    if not given:
        return
    table = pa.Table.from_batches(given)
    for worker in sorted(set(table[WORKER].to_pylist())):
        yield from work(table.filter(pc.equal(table[WORKER], worker)).to_batches())


class DryFarm:
    """As `DryStream`, under a pattern."""

    def __init__(
        self, bound: BoundQuery, pattern: Pattern, *, forgetful: bool = True, late: bool = False
    ) -> None:
        clock = Clock.of(ticks=pa.types.is_integer(bound.time_type))
        keys = worker_buckets(3, partitions=PARTITIONS) if bound.keys else (0,)
        outputs = (REPORTS, LATE) if late else (REPORTS,)
        stage = WindowStage.of(bound, outputs, buckets=keys, clock=clock, derived=False)
        self.late: list[dict[str, Any]] | None = [] if late else None
        """The late rows so far."""
        stage = replace(stage, pattern=str(pattern))
        self.handing: HandOutPlan | None = None
        self.used: set[int] = set()
        """The workers that were handed a window, or parts of one."""
        if owner_finds(pattern, bound):
            self.handing = handing_of(pattern)
            owner = OwnerProcessor(owner_stage(stage, self.handing), self.handing)
            self.steps = [DryStep(owner, BEFORE)]
        else:
            plan = stream_plan_of(pattern)
            last = window_stage if plan.parts is None else over_panes
            second = window_processor(last(stage, plan, partitions=PARTITIONS), plan)
            self.steps = [DryStep(second, COUNTS if plan.parts is None else AFTER)]
            if plan.parts is not None:
                first = WindowProcessor(pane_stage(stage, plan, partitions=PARTITIONS))
                self.steps.insert(0, DryStep(first, BEFORE))
        self.delay = int(clock.spark_delay(bound.query.delay.length).split()[0])
        self.forgetful = forgetful
        self.newest = self.watermark = 0
        self.counts = dict.fromkeys(COUNTS, 0)

    def run(self, batches: Sequence[pa.Table]) -> list[dict[str, Any]]:
        """All batches, and one without data for what the last watermark closes."""
        rows = [row for batch in (*batches, None) for row in self.batch(batch)]
        if self.handing is not None:
            self.counts["reports"] = len(rows)
        return rows

    def batch(self, table: pa.Table | None) -> list[dict[str, Any]]:
        """The rows that come out of one micro-batch."""
        if self.forgetful:
            OPERATORS.clear()
        self.watermark = max(self.watermark, self.newest - self.delay)
        first = self.steps[0]
        given = [] if table is None else table.select(first.stage.columns).combine_chunks().to_batches()
        packed = first.packed(iter, given)
        for batch in packed:
            self.newest = max(self.newest, pc.max(batch[NEWEST_AT].cast(pa.int64())).as_py() // 1000)
        for step, following in zip(self.steps, [*self.steps[1:], None], strict=True):
            blocks = step.answered(self.watermark, packed, self.counts).to_batches()
            if following is not None:
                packed = list(Repacker(following.packer(Unpacker(step.stage.schema)))(blocks))
        return [row for rows in self._unpacked(step.stage, blocks) for row in rows.to_pylist()]

    def _unpacked(self, stage: WindowStage, blocks: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The reports; late rows are put aside."""
        if self.handing is not None:
            batches = list(HandedOut(self.handing.schema)(blocks))
            self.used.update(worker for batch in batches for worker in batch[WORKER].to_pylist())
            if isinstance(self.handing, WindowParts):
                batches = list(by_worker(PartWorker(stage.bound), batches))
            last = WorkerBesideLateRows(self.handing.last(stage.bound))
            blocks = list(by_worker(last, batches))
        for block in blocks:
            reports, late = parted(block)
            if self.late is not None:
                opened = Unpacker(stage.schemas[LATE])([pa.record_batch([late], names=[PAYLOAD])])
                self.late += [row for rows in opened for row in rows.to_pylist()]
            schema = stage.schema if self.handing is None else stage.bound.output
            yield from Unpacker(schema)([reports])
