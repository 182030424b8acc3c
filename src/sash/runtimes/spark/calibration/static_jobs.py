"""What a row, a stage and a task cost on Spark: jobs of which one does a little more than another.

    scan      read events, and forget them
    python    … and hand them to Python               shuffle   … and send them to other tasks
    fold      … where Python folds panes              group     … and hand them to Python by bucket
    route     … where Python sends rows to workers    native    scan, and fold panes in generated code
    stage     a few rows through two stages, less through one
    task      a few rows in many tasks, less in as many as run at a time

Times are of the clock on the wall, since most of a job runs in other processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame

from sash.operators.bound_query import BoundQuery
from sash.operators.folding.panes import Panes
from sash.runtimes.spark.batch.bucket_query import BucketQuery
from sash.runtimes.spark.calibration.generated_input import GeneratedInput
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.bucket_of_key_sql import bucket, key_hash
from sash.runtimes.spark.packing.columns import BUCKET, HASH, ORDINAL
from sash.runtimes.spark.patterns.active_workers import Router
from sash.runtimes.spark.patterns.route import Route
from sash.runtimes.spark.sql_folding.pane_fold_sql import NativeFold
from sash.runtimes.spark.streaming.deliver_outputs_to_sinks import compute_all

ROUNDS = 3
WAVES = 8
"""Tasks of each core, where it is measured what one more costs."""
FrameOfJob: TypeAlias = Callable[[], DataFrame]


def _nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        pass
    yield from ()


def _no_rows(table: pa.Table) -> pa.Table:
    return table.slice(0, 0)


def _same(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return iter(batches)


@dataclass(frozen=True)
class StaticJobs:
    """The jobs, over one input."""

    given: GeneratedInput

    def constants(self) -> Iterator[tuple[str, float]]:
        """Each with its name, as soon as it is known; 0 or less where other work has hidden it."""
        yield "scan", self._per_row(self._scan, less=self._nothing)
        yield "python", self._per_row(self._python, less=self._scan)
        yield "shuffle", self._per_row(self._shuffle, less=self._scan)
        yield "group", self._per_row(self._group, less=self._shuffle)
        yield "fold", self._per_row(self._fold, less=self._python)
        yield "native", self._per_row(self._native, less=self._scan)
        yield "route", self._per_row(self._route, less=self._python)
        yield "stage", 1e9 * _difference(self._two_stages, self._one_stage)
        yield "task", 1e9 * _difference(self._many_tasks, self._one_stage) / (WAVES - 1)

    def _per_row(self, job: FrameOfJob, *, less: FrameOfJob) -> float:
        """Nanoseconds of one core."""
        return 1e9 * _difference(job, less) * self.given.slots / self.given.rows

    def _placed(self, bound: BoundQuery, place: str) -> DataFrame:
        """Rows as a query reads them."""
        ordinal = f"monotonically_increasing_id() AS {ORDINAL}"
        return self.given.events.selectExpr(*by_position.placed(bound.columns), ordinal, place)

    def _hashed(self) -> DataFrame:
        bound = self.given.query()
        return self._placed(bound, f"bigint({key_hash(bound)}) AS {HASH}")

    def _nothing(self) -> DataFrame:
        return self._hashed().where(f"{ORDINAL} < 0").limit(0)

    def _scan(self) -> DataFrame:
        return self._hashed()

    def _python(self) -> DataFrame:
        rows = self._hashed()
        return rows.mapInArrow(_nothing, rows.schema)

    def _shuffle(self) -> DataFrame:
        return self._hashed().repartition(self.given.slots, HASH)

    def _group(self) -> DataFrame:
        bound = self.given.query()
        rows = self._placed(bound, f"{bucket(bound, self.given.slots)} AS {BUCKET}")
        return rows.groupBy(BUCKET).applyInArrow(_no_rows, rows.schema)

    def _fold(self) -> DataFrame:
        return self._routed(Route(1, 1), folds=True)

    def _route(self) -> DataFrame:
        """Half of the events are in windows of two workers, so that most rows are handed back once."""
        return self._routed(Route(1, max(2, self.given.slots)), folds=False)

    def _routed(self, route: Route, *, folds: bool) -> DataFrame:
        bound = self.given.query()
        query = BucketQuery(bound, tuple(bound.columns))
        router = Router(query, route, Panes.of(bound) if folds else None, has_horizon=False)
        return self._hashed().mapInArrow(router, struct_of(router.schema))

    def _native(self) -> DataFrame:
        fold = NativeFold.of(self.given.query(), self.given.events.schema)
        assert isinstance(fold, NativeFold)
        assert fold.window is not None
        return fold.windows(self.given.events, fold.window)

    def _one_stage(self) -> DataFrame:
        return self._few(self.given.slots)

    def _two_stages(self) -> DataFrame:
        rows = self._few(self.given.slots).repartition(self.given.slots, "id")
        return rows.mapInArrow(_same, rows.schema)

    def _many_tasks(self) -> DataFrame:
        return self._few(WAVES * self.given.slots)

    def _few(self, tasks: int) -> DataFrame:
        rows = self.given.spark.range(0, tasks, 1, tasks)
        return rows.mapInArrow(_same, rows.schema)


def _difference(job: FrameOfJob, less: FrameOfJob) -> float:
    """Seconds by which the best round of one job is longer than that of the other. They take turns, so that
    both have the same neighbours on the machine, after a round that only warms up."""
    best = [float("inf"), float("inf")]
    for turn in range(1 + ROUNDS):
        for place, one in enumerate((job, less)):
            begin = time.perf_counter()
            compute_all(one())
            if turn:
                best[place] = min(best[place], time.perf_counter() - begin)
    return best[0] - best[1]
