"""An elastic query without Spark's engine: its packer, the step of each task, its journal and its unpacker.

The state is in a real LMDB environment. Any epoch can be executed again, after none, some or all of the
tasks of an earlier try have committed, with another number of tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.stores.epoch_store import EpochStore
from sash.aggregation.stores.lmdb import LMDB
from sash.operators.bound_query import BoundQuery
from sash.operators.elastic.declaration import Elastic
from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.protocol import StreamOperator
from sash.operators.stateful.streaming import BoundOperator
from sash.runtimes.spark.epochs.epoch_journal import EpochJournal
from sash.runtimes.spark.epochs.epoch_run import ElasticRun
from sash.runtimes.spark.epochs.epoch_step import EpochStep, TaskReport, saved_by
from sash.runtimes.spark.epochs.store_of_state import StateLocation
from sash.runtimes.spark.joins.join_routes import elastic_bucket_count
from sash.runtimes.spark.joins.streaming_join import JoinStage, late_of
from sash.runtimes.spark.packing.blocks import INPUT, NEWEST_AT, OUTPUT, PACKED_BUCKET, PAYLOAD, Packing
from sash.runtimes.spark.packing.columns import places
from sash.runtimes.spark.packing.outputs import LATE, REPORTS, Outputs
from sash.runtimes.spark.packing.time_of_batch import StampedPacker
from sash.runtimes.spark.state.operators_in_state import OPERATORS
from sash.runtimes.spark.stateful.operator_stages import OperatorStage, packer_of_input
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.semantics.expression import Side
from tests.runtimes.micro_batches import placed


@dataclass(frozen=True)
class QuickHome(StateLocation):
    """Leaves it to the operating system when the disk is written."""

    def open(self, namespace: str) -> EpochStore:
        return LMDB(self.place, namespace=namespace, durable=False)


@dataclass(frozen=True)
class Try:
    """An execution of an epoch that fails: how many tasks there are, and how many of them commit first."""

    tasks: int
    committed: int


@dataclass
class Reports:
    """In the place of Spark's accumulator."""

    value: dict[tuple[int, int], TaskReport] = field(default_factory=dict)

    def add(self, reports: dict[tuple[int, int], TaskReport]) -> None:
        self.value.update(reports)


class DryElastic:
    BUCKETS = 5
    STAMPS = 9
    """As many as there are tasks at the most."""

    def __init__(
        self,
        bound: BoundQuery,
        folder: Path,
        *,
        degrees: Callable[[int], int] = lambda epoch: 1,
        operator: type[StreamOperator] | None = None,
        outputs: Outputs = (REPORTS,),
        forgetful: bool = False,
        files: bool = False,
    ) -> None:
        stage = WindowStage.of(
            bound,
            outputs,
            buckets=tuple(range(self.BUCKETS)) if bound.keys else (0,),
            clock=Clock.of(ticks=pa.types.is_integer(bound.time_type)),
            derived=False,
            operator=operator,
        )
        self.run_ = ElasticRun(stage, (bound.query.delay,), Elastic(max=1), str(folder), {})
        place = str(folder / "state")
        self.stage = stage
        self.home = StateLocation(place, files=True) if files else QuickHome(place)
        self.degrees, self.forgetful, self.reports = degrees, forgetful, Reports()
        self.late: list[dict[str, Any]] = []

    def run(self, batches: Sequence[Any], *, tries: Sequence[Sequence[Try]] = ()) -> list[dict[str, Any]]:
        rows = []
        for epoch, batch in enumerate(batches):
            for failing in tries[epoch] if epoch < len(tries) else ():
                self.execute(batch, epoch, tasks=failing.tasks, only=failing.committed)
            rows += self.execute(batch, epoch, tasks=self.degrees(epoch))
        return rows

    def execute(
        self, batch: Any, epoch: int, *, tasks: int, only: int | None = None
    ) -> list[dict[str, Any]]:
        """The rows of one execution; of one that fails after `only` tasks, which so emits nothing."""
        if self.forgetful:
            OPERATORS.clear()
        blocks = self.packed(batch)
        answers = []
        with self.home.journal() as store:
            journal = EpochJournal(store, self.run_.description, epoch=epoch, inputs=len(self.run_.delays))
            step = self.step(journal, epoch, tasks)
            for task in range(tasks if only is None else min(only, tasks)):
                mine = pc.equal(_task(blocks[PACKED_BUCKET], tasks), task)
                sorted_blocks = blocks.filter(mine).sort_by(PACKED_BUCKET)
                answers += list(step.of_task(task, sorted_blocks.to_batches()))
            if only is None:
                journal.commit(self.reported(epoch, tasks), saved_by(self.reports.value.values()))
        if only is not None:
            return []
        rows = self.by_output(answers)
        self.late += [row for output in rows if output != REPORTS for row in rows[output]]
        return rows[REPORTS]

    def step(self, journal: EpochJournal, epoch: int, tasks: int) -> EpochStep:
        return EpochStep(
            self.stage, self.home, epoch, tasks, self.run_.clock, tuple(journal.newest), self.run_.name,
            journal.token, journal.change, begun=journal.begun, reports=self.reports,
        )  # fmt: skip

    def reported(self, epoch: int, tasks: int) -> list[int]:
        """How far time has come, which all tasks of an epoch report alike."""
        newest = {tuple(self.reports.value[epoch, task].newest) for task in range(tasks)}
        assert len(newest) == 1
        return list(newest.pop())

    def by_output(self, answers: Sequence[pa.RecordBatch]) -> dict[str, list[dict[str, Any]]]:
        """What the tasks emitted, as rows of the outputs."""
        rows = [row for batch in answers for row in batch.to_pylist()]
        if len(self.stage.schemas) == 1:
            return dict.fromkeys(self.stage.schemas, rows)
        return {
            output: [row[f"rows_{number}"] for row in rows if row[OUTPUT] == number]
            for number, output in enumerate(self.stage.schemas)
        }

    def begun(
        self, batch: Any, epoch: int, *, attempts: tuple[int, ...] = (0,)
    ) -> Iterator[pa.RecordBatch]:
        """What the first attempt of the only task does later; later ones do it now, and commit."""
        blocks = self.packed(batch)
        with self.home.journal() as store:
            journal = EpochJournal(store, self.run_.description, epoch=epoch, inputs=len(self.run_.delays))
            step = self.step(journal, epoch, 1)
            first, *others = (
                step.of_task(0, blocks.sort_by(PACKED_BUCKET).to_batches(), attempt=attempt)
                for attempt in attempts
            )
            for other in others:
                list(other)
                journal.commit(self.reported(epoch, 1))
        return first

    def packed(self, batch: Any) -> pa.Table:
        """The blocks of a batch."""
        return _stamped(self.stage.packer, placed(self.stage, batch).to_batches())


class DryOperator(DryElastic):
    """O+ in the same way. A batch is a table for each input."""

    def __init__(
        self, bound: BoundOperator, folder: Path, *, degrees: Callable[[int], int] = lambda epoch: 1,
        forgetful: bool = False,
    ) -> None:  # fmt: skip
        buckets, clock = tuple(range(self.BUCKETS)), Clock.of(ticks=True)
        self.stage = OperatorStage(bound, buckets, clock, (REPORTS, LATE))
        self.run_ = ElasticRun(self.stage, bound.delays, Elastic(max=1), str(folder), {})
        self.home = QuickHome(str(folder / "state"))
        self.degrees, self.forgetful, self.late, self.reports = degrees, forgetful, [], Reports()

    def packed(self, batch: Sequence[pa.Table]) -> pa.Table:
        operator, every = self.stage.bound.operator, []
        for number, table in enumerate(batch):
            packer = packer_of_input(operator, number, buckets=self.stage.buckets, clock=self.stage.clock)
            blocks = _stamped(packer, table.rename_columns(places(table.column_names)).to_batches())
            every.append(blocks.append_column(INPUT, pa.array([number] * blocks.num_rows, pa.int32())))
        return pa.concat_tables(every) if len(every) > 1 else every[0].drop_columns(INPUT)


class DryJoin(DryElastic):
    """A join in the same way. A batch is a table for each side."""

    def __init__(
        self, bound: BoundJoin | BoundAsof, folder: Path, *,
        degrees: Callable[[int], int] = lambda epoch: 1, forgetful: bool = False,
    ) -> None:  # fmt: skip
        count = elastic_bucket_count(bound.strategy, bound.kept, buckets=self.BUCKETS, tasks=4)
        outputs = (REPORTS, *map(late_of, Side))
        self.stage = JoinStage(bound, outputs, tuple(range(count)), Clock.of(ticks=True), derived=False)
        delays = [bound.join.delay(side) for side in Side]
        self.run_ = ElasticRun(self.stage, delays, Elastic(max=4), str(folder), {})
        self.home = QuickHome(str(folder / "state"))
        self.degrees, self.forgetful, self.late, self.reports = degrees, forgetful, [], Reports()

    def packed(self, batch: Sequence[pa.Table]) -> pa.Table:
        every = []
        for number, (side, table) in enumerate(zip(Side, batch, strict=True)):
            rows = table.rename_columns(places(table.column_names)).to_batches()
            blocks = _stamped(self.stage.packer(side), rows)
            every.append(blocks.append_column(INPUT, pa.array([number] * blocks.num_rows, pa.int32())))
        return pa.concat_tables(every)


_PACKED = pa.schema(
    [(PACKED_BUCKET, pa.int64()), (PAYLOAD, pa.binary()), (NEWEST_AT, pa.timestamp("us", "UTC"))]
)


def _stamped(packer: Packing, rows: Iterable[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(StampedPacker(packer, DryElastic.STAMPS)(rows), schema=_PACKED)


def _task(numbers: pa.ChunkedArray, tasks: int) -> pa.Array:
    """Of blocks by their bucket, and of stamps."""
    buckets = numbers.to_numpy()
    return pa.array(np.where(buckets < 0, -1 - buckets, buckets) % tasks)
