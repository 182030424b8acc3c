"""Active workers on Spark: rows are sent to the partitions whose windows hold them.

    rows ──[deal]──▶ mapInArrow: [fold panes], route ──shuffle──▶ mapInArrow: windows of this worker

Rows are dealt round-robin for `WinMapReduce`, and by pane where aggregates depend on the order of events:
the rows of a pane are then in one task, which sorts them.

A worker is a partition. It answers for its own windows only, and has all their events; of other windows it
may have some, and emits nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions as F

from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery
from sash.operators.bounded_input import answer
from sash.operators.columns.coded_keys import key_codes
from sash.operators.columns.layout import Layout
from sash.operators.columns.times import to_integers
from sash.operators.folding.panes import Panes, clock_windows, group_by
from sash.operators.folding.values import Values, values_over
from sash.operators.patterns.who_finds_windows import in_order
from sash.operators.windows.ranges import Ranges
from sash.runtimes.spark.batch.bucket_query import BucketQuery, horizon_of
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.errors_in_workers import only_the_sentence
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import gathered
from sash.runtimes.spark.packing.columns import HASH, HORIZON, ORDINAL
from sash.runtimes.spark.patterns.route import Route
from sash.runtimes.spark.patterns.static_plan import StaticPlan
from sash.runtimes.spark.sql_folding.numbers_in_sql import as_number
from sash.semantics.window import Window

WORKER = "__sash_worker"


def sent_to_workers(rows: DataFrame, query: BucketQuery, plan: StaticPlan) -> DataFrame:
    """The reports over rows, which have the query's columns by position, an ordinal and a hash."""
    panes = Panes.of(query.bound, objects=True, in_order=in_order(query.bound)) if plan.folds else None
    router = Router(query, plan.route, panes, HORIZON in rows.columns)
    if plan.dealt:
        rows = rows.repartition(plan.part_workers)
    elif panes is not None and panes.in_order:
        rows = rows.repartition(plan.part_workers, HASH, F.expr(_pane(query, panes)))
    sent = rows.mapInArrow(router, struct_of(router.schema))
    placed = sent.repartitionById(plan.route.workers, F.col(WORKER).cast("int"))
    return placed.mapInArrow(WindowWorker(router), struct_of(query.bound.output))


def _pane(query: BucketQuery, panes: Panes) -> str:
    """Where a row's pane begins, in SQL."""
    time = by_position.places(query.columns)[query.columns.index(query.bound.time)]
    number = as_number(time, query.bound.time_type)
    assert number is not None, "others have an owner"
    return f"{number} - pmod({number} - {panes.origin}, {panes.length})"


@dataclass(frozen=True)
class Router:
    """Rows → rows for workers: the function of `mapInArrow` before the shuffle."""

    query: BucketQuery
    route: Route
    panes: Panes | None
    """How rows are folded before they are sent; None: they are sent as they are."""
    has_horizon: bool

    @cached_property
    def sends(self) -> BoundQuery:
        """The query over what is sent."""
        return self.query.bound if self.panes is None else self.panes.folded

    @cached_property
    def columns(self) -> list[str]:
        return list(self.query.columns if self.panes is None else self.sends.schema.names)

    @cached_property
    def schema(self) -> pa.Schema:
        """The same by position, and what the worker needs to know of each row."""
        fields = [self.sends.schema.field(name) for name in self.columns]
        places = by_position.places(self.columns)
        placed = [field.with_name(place) for field, place in zip(fields, places, strict=True)]
        names = [ORDINAL, HASH, WORKER, *([HORIZON] if self.has_horizon else [])]
        return pa.schema([*placed, *(pa.field(name, pa.int64()) for name in names)])

    @only_the_sentence
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in self._tables(batches):
            yield from self.sent(table).to_batches()

    def _tables(self, batches: Iterable[pa.RecordBatch]) -> Iterable[pa.Table]:
        if self.panes is None or not self.panes.in_order:
            return gathered(batches)
        given = [batch for batch in batches if batch.num_rows]  # all rows of a pane are here
        return [pa.Table.from_batches(given)] if given else []

    def sent(self, table: pa.Table) -> pa.Table:
        """The rows of a table, once for each worker that needs them."""
        rows = self.query.rows(table)
        known = pc.is_valid(rows[self.query.bound.time])  # the others are in the late output
        rows = rows.filter(known)
        hashes, ordinals = (table[name].filter(known).to_numpy() for name in (HASH, ORDINAL))
        if self.panes is not None and self.panes.in_order:
            order = np.lexsort([ordinals, to_integers(rows[self.query.bound.time])])
            rows, hashes, ordinals = rows.take(pa.array(order)), hashes[order], ordinals[order]
        if self.panes is not None:
            rows, one = self._folded(rows, self.panes)
            hashes, ordinals = hashes[one], ordinals[one]
        if self.query.bound.query.empty:
            chosen, workers = self.route.sent_everywhere(hashes)
        else:
            times = to_integers(rows[self.sends.time])
            chosen, workers = self.route.sent(clock_windows(self.query.bound), hashes, times)
        columns = [*rows.take(pa.array(chosen)).columns, ordinals[chosen], hashes[chosen], workers]
        if self.has_horizon:
            columns.append(np.full(len(chosen), horizon_of(table)))
        return pa.table(columns, names=self.schema.names).cast(self.schema)

    def _folded(self, rows: pa.Table, panes: Panes) -> tuple[pa.Table, Ints]:
        """One row for each key and pane, and one of its events."""
        keys = list(self.query.bound.keys)
        starts = panes.starts(to_integers(rows[self.query.bound.time]))
        codes, one = group_by(key_codes(rows, keys), starts)
        folds = panes.fold_events(rows, codes, groups=len(one))
        of_panes = [*rows.select(keys).take(pa.array(one)).columns, starts[one], *folds]
        return pa.table(of_panes, names=self.columns).cast(self.sends.schema), one


@dataclass(frozen=True)
class WindowWorker:
    """The rows that were sent to a worker → its reports: the function of `mapInArrow` after the shuffle."""

    router: Router

    @only_the_sentence
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(batches, schema=self.router.schema)
        if table.num_rows:
            yield from self.reports(table).to_batches()

    def reports(self, table: pa.Table) -> pa.Table:
        columns = self.router.columns
        rows = table.select(by_position.places(columns)).rename_columns(columns)
        answered = answer(
            self.router.sends,
            rows.append_column(HASH, table[HASH]),
            ordinals=table[ORDINAL].to_numpy(),
            horizon=horizon_of(table),
            evaluate=OnlyMine(self.router.route, table[WORKER][0].as_py(), columns),
        )
        return answered.reports.cast(self.router.query.bound.output)


@dataclass(frozen=True)
class OnlyMine:
    """An evaluator that answers for the windows of one worker."""

    route: Route
    worker: int
    columns: list[str]

    def __call__(self, bound: BoundQuery, window: Window, layout: Layout, ranges: Ranges) -> Values:
        hashes = layout.rows[HASH].to_numpy()[layout.offsets[ranges.slot]]
        mine = np.flatnonzero(self.route.mine(self.worker, hashes, ranges.id))
        values = values_over(bound, layout.rows.select(self.columns), ranges.take(mine))
        return values.owned_by(mine)
