"""Look-backs of hot keys on static DataFrames, by several tasks: see `operators.look_backs_by_pane`.

    rows ──count by key, in generated code──▶ hot keys: rows, first time, last time
    rows + hot keys ──▶ mapInArrow: route, fold panes of hot keys ──shuffle──▶ mapInArrow: look-backs

A key is hot if it has more than half of what each of the workers would have on average; there are at most
twice as many of these as workers, so that they are broadcast. Rows of all other keys are sent once, to the
worker of their hash. So what sharing costs is paid for hot keys only, and nobody has to name them.
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
from sash.operators.columns.coded_keys import key_codes
from sash.operators.columns.times import to_integers
from sash.operators.folding.panes import group_by
from sash.operators.look_backs_by_pane import LookBackPanes
from sash.runtimes.spark.batch.bucket_query import PIECE, BucketQuery
from sash.runtimes.spark.compat import arrow_of, struct_of
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import cut_answer, gathered
from sash.runtimes.spark.packing.columns import HASH, ORDINAL
from sash.runtimes.spark.patterns.active_workers import WORKER
from sash.runtimes.spark.patterns.route import Route
from sash.runtimes.spark.patterns.static_plan import StaticPlan
from sash.runtimes.spark.streaming.worker_gc import freeze_gc

ROWS, SPAN, ALL = "__sash_rows", "__sash_span", "__sash_all"


def look_backs_of_workers(rows: DataFrame, query: BucketQuery, plan: StaticPlan) -> DataFrame:
    """The answer over rows, which have the query's columns by position, an ordinal and a hash."""
    panes = LookBackPanes.of(query.bound, workers=plan.route.windows)
    assert panes is not None, "others are refused"
    router = LookBackRouter(query, panes, plan.route)
    rows = with_hot_keys(rows, query, workers=plan.route.workers)
    if plan.dealt is not None:
        rows = rows.repartition(plan.dealt)
    sent = rows.mapInArrow(router, struct_of(router.schema))
    placed = sent.repartitionById(plan.route.workers, F.col(WORKER).cast("int"))
    struct = struct_of(query.bound.output)
    return placed.mapInArrow(LookBackWorker(router, arrow_of(struct, zone="UTC")), struct)


def look_back_stages(panes: LookBackPanes, plan: StaticPlan, keys: str) -> list[str]:
    """The same for people."""
    dealt = [] if plan.dealt is None else [f"deal rows round-robin to {plan.dealt} partitions"]
    return [
        f"count the rows of each key of ({keys}): hot ones are shared",
        *dealt,
        f"fold panes of hot keys where rows lie; send a row to one worker, its pane to {panes.shares - 1}",
        f"look back in {plan.route.workers} tasks, {panes.shares} of them for each hot key",
    ]


def with_hot_keys(rows: DataFrame, query: BucketQuery, *, workers: int) -> DataFrame:
    """Rows of hot keys with how many the key has, and from when to when; of others with nulls."""
    bound = query.bound
    time = by_position.places(query.columns)[query.columns.index(bound.time)]
    stamp = pa.types.is_timestamp(bound.time_type)
    ticks = f"unix_micros(CAST({time} AS TIMESTAMP))" if stamp else f"CAST({time} AS BIGINT)"
    counts = (
        rows.where(f"{time} IS NOT NULL")
        .groupBy(HASH)
        .agg(F.expr(f"count(1) AS {ROWS}"), F.expr(f"max({ticks}) - min({ticks}) AS {SPAN}"))
    )
    every = counts.agg(F.sum(ROWS).alias(ALL))
    hot = counts.crossJoin(F.broadcast(every)).where(f"{2 * workers} * {ROWS} > {ALL}").drop(ALL)
    return rows.join(F.broadcast(hot), HASH, "left")


@dataclass(frozen=True)
class LookBackRouter:
    """Rows → rows and panes for workers: the function of `mapInArrow` before the shuffle."""

    query: BucketQuery
    panes: LookBackPanes
    route: Route

    @cached_property
    def schema(self) -> pa.Schema:
        """What is sent, by position, and what the worker needs to know of each row."""
        sent = self.panes.schema
        places = by_position.places(sent.names)
        placed = [field.with_name(place) for field, place in zip(sent, places, strict=True)]
        return pa.schema([*placed, *(pa.field(name, pa.int64()) for name in (ORDINAL, HASH, WORKER))])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        for table in gathered(batches):
            yield from self.sent(table).to_batches()

    def sent(self, table: pa.Table) -> pa.Table:
        """The rows of a table, and the panes of those that are of hot keys."""
        table = table.filter(pc.is_valid(table[self._time]))  # the others are in the late output
        rows, (hashes, ordinals) = self.query.rows(table), (table[n].to_numpy() for n in (HASH, ORDINAL))
        length = self.panes.lengths_of(*(table[n].fill_null(0).to_numpy() for n in (ROWS, SPAN)))
        hot = length > 0
        pane = np.where(hot, to_integers(rows[self.query.bound.time]) // np.maximum(length, 1), 0)
        workers = np.where(hot, self._worker(hashes, pane), hashes % self.route.workers)
        tables = [self._placed(self.panes.rows(rows), ordinals, hashes, workers)]
        if self.panes.shares > 1 and hot.any():
            tables += self._elements(rows.filter(pa.array(hot)), ordinals[hot], hashes[hot], pane[hot])
        return pa.concat_tables(tables)

    def _elements(self, rows: pa.Table, ordinals: Ints, hashes: Ints, pane: Ints) -> Iterator[pa.Table]:
        """The panes of rows, for each worker of the key that does not have the rows themselves."""
        codes, one = group_by(key_codes(rows, list(self.query.bound.keys)), pane)
        elements = self.panes.elements(rows, codes, one)
        for other in range(1, self.panes.shares):
            workers = self._worker(hashes[one], pane[one] + other)
            yield self._placed(elements, ordinals[one], hashes[one], workers)

    def _worker(self, hashes: Ints, pane: Ints) -> Ints:
        """Of the rows of a pane; keys begin with different workers."""
        own: Ints = self.route.base(hashes) + (hashes + pane) % self.panes.shares
        return own

    def _placed(self, rows: pa.Table, ordinals: Ints, hashes: Ints, workers: Ints) -> pa.Table:
        return pa.table([*rows.columns, ordinals, hashes, workers], schema=self.schema)

    @property
    def _time(self) -> str:
        columns = self.query.columns
        return by_position.places(columns)[columns.index(self.query.bound.time)]


@dataclass(frozen=True)
class LookBackWorker:
    """What was sent to a worker → rows of its events: the function of `mapInArrow` after the shuffle."""

    router: LookBackRouter
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        given = [batch for batch in batches if batch.num_rows]
        if given:
            for piece in self._pieces(pa.Table.from_batches(given)):
                for part in cut_answer(self.answer(piece).cast(self.schema)):
                    yield from part.combine_chunks().to_batches()

    def answer(self, table: pa.Table) -> pa.Table:
        sent = self.router.panes.schema
        rows = table.select(by_position.places(sent.names)).rename_columns(sent.names).cast(sent)
        return self.router.panes.features(rows, ordinals=table[ORDINAL].to_numpy())

    def _pieces(self, table: pa.Table) -> Iterator[pa.Table]:
        """Some keys after others: look-backs take several times the memory of their rows."""
        count = -(-table.nbytes // PIECE)
        pieces = table[HASH].to_numpy() // self.router.route.workers % max(count, 1)
        return (table.filter(pa.array(pieces == piece)) for piece in range(count))
