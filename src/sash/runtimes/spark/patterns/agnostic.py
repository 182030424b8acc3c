"""Agnostic workers on Spark: an owner for each bucket of keys triggers windows, any worker computes them.

    rows ──shuffle by key──▶ owner: windows in batches, with their events ──round-robin──▶ worker: values

Which worker computes a batch has nothing to do with its key, so that the windows of one hot key are spread
over all of them. A batch is a run of neighbouring windows and takes the events between their ends once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, functions as F

from sash.operators.answer import report_table
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.layout import Layout
from sash.operators.columns.table_bytes import bytes_of, table_of
from sash.operators.engine.operator import HandOut
from sash.operators.folding.values import Values, values_over
from sash.operators.patterns.window_share import WindowShare, blocks
from sash.operators.windows.ranges import Ranges, RepeatedRanges
from sash.runtimes.spark.batch.bucket_query import BucketQuery
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.packing.columns import BUCKET
from sash.runtimes.spark.streaming.worker_gc import freeze_gc
from sash.semantics.window import Window

WORKER, WINDOW, KEYS, RANGES, ROWS = "worker", "window", "keys", "ranges", "rows"
BATCH = pa.schema(
    [
        pa.field(WORKER, pa.int64()),
        pa.field(WINDOW, pa.int64()),
        *(pa.field(name, pa.binary()) for name in (KEYS, RANGES, ROWS)),
    ]
)
"""A batch of windows: who computes it, which of the query's windows, and three Arrow tables: the key of
each slot, the ranges, and the events."""
ArrowFunction: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""A function of `mapInArrow`."""
TURNS = 4
"""How many batches of a bucket each worker gets: more balance better, fewer repeat fewer events."""


class HandOutPlan(Protocol):
    """How owners hand windows out, and who computes them."""

    @property
    def schema(self) -> pa.Schema:
        """Of what owners emit."""
        ...

    def dealer(self, first: int) -> HandOut:
        """That of an owner; `first`: its number, so that owners begin with different workers."""
        ...

    def prepared(self, handed: DataFrame, bound: BoundQuery) -> DataFrame:
        """What owners have emitted → what the last workers take, each row where its worker is."""
        ...

    def last(self, bound: BoundQuery) -> ArrowFunction:
        """What they do with it: the function of `mapInArrow` that makes reports."""
        ...


def handed_to_workers(rows: DataFrame, query: BucketQuery, handing: HandOutPlan) -> DataFrame:
    """The reports over rows, which have the query's columns by position, an ordinal and a bucket."""

    def owner(table: pa.Table) -> pa.Table:
        # A plain function: Spark reads its signature.
        return triggered(query, table, handing)

    handed = rows.groupBy(BUCKET).applyInArrow(owner, struct_of(handing.schema))
    return computed(handed, query.bound, handing)


def computed(handed: DataFrame, bound: BoundQuery, handing: HandOutPlan) -> DataFrame:
    """The reports of the windows that were handed out."""
    return handing.prepared(handed, bound).mapInArrow(handing.last(bound), struct_of(bound.output))


def placed(batches: DataFrame, *, workers: int) -> DataFrame:
    """Each batch where its worker is."""
    return batches.repartitionById(workers, F.col(WORKER).cast("int"))


def triggered(query: BucketQuery, table: pa.Table, handing: HandOutPlan) -> pa.Table:
    """All windows over the rows of a bucket, for workers."""
    shares: list[WindowShare] = []

    def trigger(bound: BoundQuery, window: Window, layout: Layout, ranges: Ranges) -> Values:
        shares.append(WindowShare.whole(bound, window, layout, ranges))
        return Values(np.empty(0, np.int64), pa.schema(bound.values).empty_table())

    query.answer(table, evaluate=trigger)
    # Buckets begin with different workers, so that many small ones do not all meet at the first.
    deal, handed = handing.dealer(table[BUCKET][0].as_py()), [handing.schema.empty_table()]
    for number, share in enumerate(shares):
        if not len(share):
            continue
        # From the whole layout: a window without events has a key all the same.
        firsts = np.minimum(share.layout.offsets[:-1], share.layout.rows.num_rows - 1)
        keys = share.layout.rows.select(list(share.bound.keys)).take(pa.array(firsts))
        handed.append(deal(share, keys, number))
    return pa.concat_tables(handed)


def dealt(share: WindowShare, keys: pa.Table, *, window: int, workers: int, begin: int) -> pa.Table:
    """The windows of a share in batches for one worker after the other; `keys` has the key of each slot."""
    return pa.Table.from_pylist(
        [
            {WORKER: (begin + turn) % workers, WINDOW: window} | _batch(share, keys, first, last)
            for turn, (first, last) in enumerate(blocks(len(share), workers * TURNS))
        ],
        schema=BATCH,
    )


@dataclass(frozen=True)
class WholeWindows:
    """A window is computed by one worker."""

    workers: int

    schema: ClassVar[pa.Schema] = BATCH

    def dealer(self, first: int) -> HandOut:
        return Dealer(self.workers, first)

    def prepared(self, handed: DataFrame, bound: BoundQuery) -> DataFrame:
        return placed(handed, workers=self.workers)

    def last(self, bound: BoundQuery) -> ArrowFunction:
        return BatchWorker(bound)


@dataclass(frozen=True)
class Dealer:
    """How the owner of a bucket hands windows out: see `engine.operator.HandOut`."""

    workers: int
    first: int
    """The bucket, so that buckets begin with different workers."""

    def __call__(self, share: WindowShare, keys: pa.Table, window: int) -> pa.Table:
        # A batch of the stream may close a single window: the next one goes to the next worker.
        begin = self.first + int(share.ranges.id[0])
        return dealt(share, keys, window=window, workers=self.workers, begin=begin)


def _batch(share: WindowShare, keys: pa.Table, first: int, last: int) -> dict[str, object]:
    mine = share.neighbours(first, last)
    return written(mine.ranges, keys) | {ROWS: bytes_of(mine.layout.rows)}


def written(ranges: Ranges, keys: pa.Table) -> dict[str, object]:
    """Windows as others read them; `keys` has the key of each slot."""
    slots, slot = np.unique(ranges.slot, return_inverse=True)
    columns = {field.name: getattr(ranges, field.name) for field in fields(ranges)}
    return {
        KEYS: bytes_of(keys.take(pa.array(slots))),
        RANGES: bytes_of(pa.table(columns | {"slot": slot})),
    }


def read(batch: Mapping[str, pa.Scalar]) -> tuple[Ranges, pa.Table]:
    """The same again."""
    table = table_of(batch[RANGES].as_buffer())
    columns = {name: table[name].to_numpy() for name in table.column_names}
    kind = RepeatedRanges if "revision" in columns else Ranges
    return kind(**columns), table_of(batch[KEYS].as_buffer())


@dataclass(frozen=True)
class BatchWorker:
    """Batches of windows → their reports: the function of `mapInArrow`."""

    bound: BoundQuery

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        for batch in batches:
            for given in range(batch.num_rows):
                parts = {name: batch.column(name)[given] for name in batch.schema.names}
                yield from self.reports(parts)[0].to_batches()

    def reports(self, batch: Mapping[str, pa.Scalar]) -> tuple[pa.Table, int]:
        """The reports of a batch, and how many windows it has."""
        (ranges, keys), rows = read(batch), table_of(batch[ROWS].as_buffer())
        window = self.bound.query.windows[batch[WINDOW].as_py()]
        values = values_over(self.bound, rows, ranges)
        return report_table(self.bound, window, ranges, values, keys=keys), len(ranges)
