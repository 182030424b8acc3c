"""Windows that a bucket hands out in some batches and not in others, and what it reports of its load.

    step ──▶ reports, late rows, windows with their events, loads ──by worker──▶ reports, late rows, loads

All of it leaves the step in one DataFrame: in epochs with the columns of `EpochAnswers`, from Spark's state
store with those of `PlainAnswers`. In a batch in which a bucket hands windows out, one stage more puts
reports into the place of windows; every other row passes as it is. What is delivered has the same form with
and without it, so that nothing behind it knows the difference.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, functions as F

from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.packing.blocks import OUTPUT
from sash.runtimes.spark.packing.outputs import HANDED, REPORTS, OutputSchemas, OutputTables
from sash.runtimes.spark.patterns.agnostic import BATCH, WORKER, BatchWorker
from sash.runtimes.spark.streaming.worker_gc import freeze_gc

OWNER, WINDOWS, MICROSECONDS, COMPUTED = "owner", "windows", "microseconds", "computed"
HANDED_WINDOWS = pa.schema(
    [
        *BATCH,
        pa.field(OWNER, pa.int64()),
        pa.field(WINDOWS, pa.int64()),
        pa.field(MICROSECONDS, pa.int64()),
        pa.field(COMPUTED, pa.int64()),
    ]
)
"""A batch of windows of a bucket, or without a worker a load: how many windows of which bucket took so long
to compute, or, with 0 in the last column, to hand out."""


class BucketLoad(NamedTuple):
    """What the windows of a bucket took in a batch."""

    windows: int = 0
    seconds: float = 0.0
    """To compute them, wherever."""
    handing: float = 0.0
    """To hand them out."""


def of_owner(batches: pa.Table, owner: int) -> pa.Table:
    """Batches of windows with the bucket that they come from."""
    empty = [pa.nulls(batches.num_rows, pa.int64())] * 3
    owners = pa.repeat(pa.scalar(owner, pa.int64()), batches.num_rows)
    return pa.table([*batches.columns, owners, *empty], schema=HANDED_WINDOWS)


def load_row(owner: int, *, windows: int, seconds: float, computed: bool) -> pa.Table:
    load = {
        OWNER: owner, WINDOWS: windows, MICROSECONDS: round(seconds * 1e6), COMPUTED: int(computed)
    }  # fmt: skip
    return pa.Table.from_pylist([load], schema=HANDED_WINDOWS)


class MarkedAnswers(Protocol):
    """How rows leave a step, each with the number of its output."""

    @property
    def schemas(self) -> OutputSchemas: ...

    @property
    def emitted(self) -> pa.Schema:
        """Of the rows."""
        ...

    def column(self, output: str, name: str) -> str:
        """What Spark calls a column of an output that has no structs."""
        ...

    def rows_of(self, output: str, emitted: pa.RecordBatch) -> pa.RecordBatch:
        """The columns of such an output, of rows that are all its."""
        ...

    def batches(self, tables: OutputTables) -> Iterator[pa.RecordBatch]:
        """The rows of each output, as they leave the step."""
        ...


@dataclass(frozen=True)
class HandedWindows:
    """Such windows among the rows that leave a step."""

    answers: MarkedAnswers
    bound: BoundQuery
    buckets: tuple[int, ...]

    def _column(self, name: str) -> str:
        return self.answers.column(HANDED, name)

    @property
    def _number(self) -> int:
        return list(self.answers.schemas).index(HANDED)

    def computed(self, emitted: DataFrame, *, workers: int) -> DataFrame:
        """The same with reports in the place of windows, computed by so many tasks."""
        worker = F.col(self._column(WORKER))
        # Columns are shared by outputs: in another one this is no worker, and the row may go anywhere.
        anywhere = F.spark_partition_id() % workers
        mine = (F.col(OUTPUT) == self._number) & worker.isNotNull()
        placed = emitted.repartitionById(workers, F.when(mine, worker).otherwise(anywhere).cast("int"))
        return placed.mapInArrow(self.work, struct_of(self.answers.emitted))

    def work(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The function of `mapInArrow`."""
        freeze_gc()
        worker = BatchWorker(self.bound)
        for batch in batches:
            # A row that has only counts has no output.
            of_windows = pc.fill_null(pc.equal(batch[OUTPUT], self._number), False)
            found = batch.filter(of_windows)
            rows = self.answers.rows_of(HANDED, found)
            is_load = pc.is_null(rows[WORKER])
            for others in (batch.filter(pc.invert(of_windows)), found.filter(is_load)):
                if others.num_rows:
                    yield others.cast(self.answers.emitted)
            handed = rows.filter(pc.invert(is_load))
            for at in range(handed.num_rows):
                parts = {name: handed[name][at] for name in (*BATCH.names, OWNER)}
                began = time.perf_counter()
                reports, windows = worker.reports(parts)
                load = load_row(
                    parts[OWNER].as_py(), windows=windows, seconds=time.perf_counter() - began,
                    computed=True,
                )  # fmt: skip
                yield from self.answers.batches({REPORTS: reports, HANDED: load})

    def loads(self) -> Column:
        """All loads among such rows, as text: an aggregate that Spark can observe."""
        names = (OWNER, WINDOWS, MICROSECONDS, COMPUTED)
        is_load = (F.col(OUTPUT) == self._number) & F.col(self._column(WORKER)).isNull()
        text = F.concat_ws(":", *(F.col(self._column(name)).cast("string") for name in names))
        return F.concat_ws(",", F.collect_list(F.when(is_load, text)))


def loads_in(text: str) -> dict[int, BucketLoad]:
    """What `HandedWindows.loads` found, by bucket.

    >>> loads_in("3:10:2000000:1,3:10:500000:0")
    {3: BucketLoad(windows=10, seconds=2.0, handing=0.5)}
    """
    found: dict[int, BucketLoad] = {}
    for one in filter(None, text.split(",")):
        owner, windows, microseconds, computed = map(int, one.split(":"))
        load, seconds = found.get(owner, BucketLoad()), microseconds / 1e6
        found[owner] = (
            load._replace(windows=load.windows + windows, seconds=load.seconds + seconds)
            if computed
            else load._replace(handing=load.handing + seconds)
        )
    return found
