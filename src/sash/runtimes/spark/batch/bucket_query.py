"""A static query over the rows of one bucket, as Spark's Python stages hand them over."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sash.operators.answer import Answer
from sash.operators.bound import BoundQuery
from sash.operators.bounded import answer
from sash.operators.columns.times import to_integers
from sash.operators.folding.values import Evaluator, evaluated
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.columns import HORIZON, ORDINAL


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


def horizon_of(table: pa.Table) -> int | None:
    """The greatest time of the whole input, where it matters."""
    if HORIZON not in table.column_names:
        return None
    newest = table[HORIZON].slice(0, 1).drop_null()
    return int(to_integers(newest)[0]) if len(newest) else 0  # no event has a time
