"""A static query over the rows of one bucket, as Spark's Python stages hand them over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from sash.operators.answer import Answer
from sash.operators.bound_query import BoundQuery
from sash.operators.bounded_input import answer
from sash.operators.columns.coded_keys import key_codes
from sash.operators.columns.times import to_integers
from sash.operators.folding.values import Evaluator, evaluated
from sash.runtimes.spark.errors_in_workers import only_the_sentence
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import cut_answer
from sash.runtimes.spark.packing.columns import HORIZON, ORDINAL
from sash.runtimes.spark.streaming.worker_gc import freeze_gc

PIECE = 2**27
"""Bytes of rows that are computed at once, about."""


@dataclass(frozen=True)
class BucketQuery:
    """A query, and which columns its rows have, by position. Travels to executors."""

    bound: BoundQuery
    columns: tuple[str, ...]

    def rows(self, table: pa.Table) -> pa.Table:
        """The rows under their own names, in their own types."""
        schema = pa.schema([self.bound.schema.field(name) for name in self.columns])
        placed = table.select(by_position.places(self.columns))
        return placed.rename_columns(list(self.columns)).cast(schema)

    def answer(self, table: pa.Table, *, evaluate: Evaluator = evaluated) -> Answer:
        return answer(
            self.bound,
            self.rows(table),
            ordinals=table[ORDINAL].to_numpy(),
            horizon=horizon_of(table),
            evaluate=evaluate,
        )


@dataclass(frozen=True)
class PartitionWindows:
    """The function of `mapInArrow`: the rows of a partition, all of each key → a part of the answer."""

    query: BucketQuery
    part: Callable[[Answer], pa.Table]
    schema: pa.Schema

    @only_the_sentence
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        given = [batch for batch in batches if batch.num_rows]
        if given:
            for rows in self._pieces(pa.Table.from_batches(given)):
                for part in cut_answer(self.part(self.query.answer(rows)).cast(self.schema)):
                    yield from part.combine_chunks().to_batches()

    def _pieces(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Rows of some keys after those of others: windows take several times the memory of their rows."""
        count = -(-rows.nbytes // PIECE)
        if count < 2 or not self.query.bound.keys:
            yield rows
            return
        keys = self.query.rows(rows).select(self.query.bound.keys)
        pieces = key_codes(keys, self.query.bound.keys) % count
        for piece in range(count):
            yield rows.filter(pa.array(pieces == piece))


def horizon_of(table: pa.Table) -> int | None:
    """The greatest time of the whole input, where it matters."""
    if HORIZON not in table.column_names:
        return None
    newest = table[HORIZON].slice(0, 1).drop_null()
    return int(to_integers(newest)[0]) if len(newest) else 0  # no event has a time
