"""Look-backs of hot keys on static DataFrames, by several tasks: see `operators.look_backs_by_pane`.

    rows ──count some by key, in generated code──▶ hot keys: how many rows, over how much time
    rows + hot keys ──▶ mapInArrow: route, fold panes of hot keys ──shuffle──▶ mapInArrow: look-backs

A key is hot if it has more than half of what each of the workers would have on average; there are at most
twice as many of these as workers, so that they are broadcast. Rows of all other keys are sent once, to the
worker of their hash. So what sharing costs is paid for hot keys only, and nobody has to name them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, functions as F

from sash.arrays import Ints
from sash.operators.columns.coded_keys import key_codes
from sash.operators.columns.table_bytes import bytes_of, table_of
from sash.operators.columns.times import to_integers
from sash.operators.folding.panes import group_by
from sash.operators.look_backs_by_pane import LookBackPanes
from sash.runtimes.spark.batch.bucket_query import PIECE, BucketQuery
from sash.runtimes.spark.compat import arrow_of, struct_of
from sash.runtimes.spark.errors_in_workers import only_the_sentence
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import cut_answer, gathered
from sash.runtimes.spark.packing.columns import HASH, ORDINAL
from sash.runtimes.spark.patterns.agnostic import WORKER
from sash.runtimes.spark.patterns.route import Route
from sash.runtimes.spark.patterns.static_plan import StaticPlan
from sash.runtimes.spark.streaming.worker_gc import freeze_gc

COUNT, SPAN, ALL = "__sash_count", "__sash_span", "__sash_all"
ROWS, PANES = "rows", "panes"
BLOCKS = pa.schema([(WORKER, pa.int64()), (ROWS, pa.binary()), (PANES, pa.binary())])
"""A block of rows for a worker, or one of panes."""
SAMPLED = 16
"""One of so many rows is counted, by a hash of where it stands. No answer depends on which keys are hot."""


def look_backs_of_workers(rows: DataFrame, query: BucketQuery, plan: StaticPlan) -> DataFrame:
    """The answer over rows, which have the query's columns by position, an ordinal and a hash."""
    panes = LookBackPanes.of(query.bound, workers=plan.route.windows)
    assert panes is not None, "others are refused"
    router = LookBackRouter(query, panes, plan.route)
    rows = with_hot_keys(rows, query, workers=plan.route.workers)
    if plan.dealt:
        rows = rows.repartition(plan.part_workers)
    sent = rows.mapInArrow(router, struct_of(BLOCKS))
    placed = sent.repartitionById(plan.route.workers, F.col(WORKER).cast("int"))
    struct = struct_of(query.bound.output)
    return placed.mapInArrow(LookBackWorker(panes, arrow_of(struct, zone="UTC")), struct)


def look_back_stages(panes: LookBackPanes, plan: StaticPlan, keys: str) -> list[str]:
    """The same for people."""
    dealt = [f"deal rows round-robin to {plan.part_workers} partitions"] if plan.dealt else []
    return [
        f"count the rows of each key of ({keys}): hot ones are shared",
        *dealt,
        f"fold panes of hot keys where rows lie; send a row to one worker, its pane to {panes.shares - 1}",
        f"look back in {plan.route.workers} tasks, {panes.shares} of them for each hot key",
    ]


def with_hot_keys(rows: DataFrame, query: BucketQuery, *, workers: int) -> DataFrame:
    """Rows of hot keys with about how many the key has, over how much time; of others with nulls."""
    bound = query.bound
    time = by_position.places(query.columns)[query.columns.index(bound.time)]
    stamp = pa.types.is_timestamp(bound.time_type)
    ticks = f"unix_micros(CAST({time} AS TIMESTAMP))" if stamp else f"CAST({time} AS BIGINT)"
    counts = (
        rows.where(f"{time} IS NOT NULL")
        .where(f"pmod(hash({ORDINAL}), {SAMPLED}) = 0")
        .groupBy(HASH)
        .agg(F.expr(f"count(1) * {SAMPLED} AS {COUNT}"), F.expr(f"max({ticks}) - min({ticks}) AS {SPAN}"))
    )
    every = counts.agg(F.sum(COUNT).alias(ALL))
    hot = counts.crossJoin(F.broadcast(every)).where(f"{2 * workers} * {COUNT} > {ALL}").drop(ALL)
    return rows.join(F.broadcast(hot), HASH, "left")


@dataclass(frozen=True)
class LookBackRouter:
    """Rows → blocks of rows and of panes for workers: the function of `mapInArrow` before the shuffle."""

    query: BucketQuery
    panes: LookBackPanes
    route: Route

    @only_the_sentence
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        for table in gathered(batches):
            yield self.blocks(table)

    def blocks(self, table: pa.Table) -> pa.RecordBatch:
        """The rows of a table as blocks, and their panes as others. Rows that were sent one by one would
        cost more than look-backs do."""
        blocks = [
            {WORKER: worker, kind: bytes_of(block)}
            for kind, sent in zip((ROWS, PANES), self.sent(table), strict=True)
            for worker, block in _by_worker(sent)
        ]
        return pa.RecordBatch.from_pylist(blocks, schema=BLOCKS)

    def sent(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The rows of a table, and the panes of those that are of hot keys, each with its worker."""
        table = table.filter(pc.is_valid(table[self._time]))  # the others are in the late output
        rows, (hashes, ordinals) = self.query.rows(table), (table[n].to_numpy() for n in (HASH, ORDINAL))
        length = self.panes.lengths_of(*(table[n].fill_null(0).to_numpy() for n in (COUNT, SPAN)))
        hot = length > 0
        pane = np.where(hot, to_integers(rows[self.query.bound.time]) // np.maximum(length, 1), 0)
        workers = np.where(hot, self._worker(hashes, pane), hashes % self.route.workers)
        panes = self._panes(rows.filter(pa.array(hot)), ordinals[hot], hashes[hot], pane[hot])
        return _addressed(rows, ordinals, hashes, workers), panes

    def _panes(self, rows: pa.Table, ordinals: Ints, hashes: Ints, pane: Ints) -> pa.Table:
        """The panes of rows, for each worker of the key that does not have the rows themselves."""
        codes, one = group_by(key_codes(rows, list(self.query.bound.keys)), pane)
        elements = self.panes.elements(rows, codes, one)
        ordinals, hashes, pane = ordinals[one], hashes[one], pane[one]
        others = range(1, self.panes.shares)
        each = [
            _addressed(elements, ordinals, hashes, self._worker(hashes, pane + other)) for other in others
        ]
        return pa.concat_tables([_addressed(elements, ordinals, hashes, pane).slice(0, 0), *each])

    def _worker(self, hashes: Ints, pane: Ints) -> Ints:
        """Of the rows of a pane; keys begin with different workers."""
        own: Ints = self.route.base(hashes) + (hashes + pane) % self.panes.shares
        return own

    @property
    def _time(self) -> str:
        columns = self.query.columns
        return by_position.places(columns)[columns.index(self.query.bound.time)]


@dataclass(frozen=True)
class LookBackWorker:
    """Blocks for a worker → the rows of its events: the function of `mapInArrow` after the shuffle."""

    panes: LookBackPanes
    schema: pa.Schema

    @only_the_sentence
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        every = {kind: [*blocks] for kind, blocks in _opened(batches).items()}
        if every[ROWS]:
            rows, panes = (pa.concat_tables(blocks) if blocks else None for blocks in every.values())
            for answer in self._answers(rows, panes):
                for part in cut_answer(answer.cast(self.schema)):
                    yield from part.combine_chunks().to_batches()

    def _answers(self, rows: pa.Table, panes: pa.Table | None) -> Iterator[pa.Table]:
        """Some keys after others: look-backs take several times the memory of their rows."""
        count = -(-rows.nbytes // PIECE)
        for piece in range(count):
            mine = _piece(rows, piece, count)
            if not mine.num_rows:
                continue
            tables, ordinals = [self.panes.rows(_plain(mine))], [mine[ORDINAL].to_numpy()]
            if panes is not None:
                beside = _piece(panes, piece, count)
                tables, ordinals = [*tables, _plain(beside)], [*ordinals, beside[ORDINAL].to_numpy()]
            yield self.panes.features(pa.concat_tables(tables), ordinals=np.concatenate(ordinals))


def _opened(batches: Iterable[pa.RecordBatch]) -> dict[str, list[pa.Table]]:
    """All blocks of a worker, by kind."""
    opened: dict[str, list[pa.Table]] = {ROWS: [], PANES: []}
    for batch in batches:
        for kind, blocks in opened.items():
            blocks += [table_of(block.as_buffer()) for block in batch.column(kind) if block.is_valid]
    return opened


def _addressed(rows: pa.Table, ordinals: Ints, hashes: Ints, workers: Ints) -> pa.Table:
    for name, values in ((ORDINAL, ordinals), (HASH, hashes), (WORKER, workers)):
        rows = rows.append_column(name, pa.array(values))
    return rows


def _plain(rows: pa.Table) -> pa.Table:
    return rows.drop_columns([ORDINAL, HASH])


def _by_worker(sent: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    workers = sent[WORKER].to_numpy()
    order = np.argsort(workers, kind="stable")
    rows, sorted_workers = sent.drop_columns(WORKER).take(pa.array(order)), workers[order]
    cuts = [*np.flatnonzero(np.diff(sorted_workers, prepend=-1)).tolist(), len(workers)]
    for first, last in pairwise(cuts):
        yield int(sorted_workers[first]), rows.slice(first, last - first)


def _piece(rows: pa.Table, piece: int, count: int) -> pa.Table:
    """Hashes of a worker's keys have one remainder by the number of workers: what is above it counts."""
    return rows if count == 1 else rows.filter(pa.array(rows[HASH].to_numpy() // 64 % count == piece))
