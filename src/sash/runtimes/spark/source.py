"""A PySpark DataFrame as input, and a DataFrame as answer.

    select → bucket = hash(keys) mod B → groupBy(bucket).applyInArrow(window)

Rows are grouped by bucket, not by key: one call of the kernels then serves all keys of a bucket. The
arrival order travels as a column, because a shuffle does not keep it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from sash.operators.answer import Answer
from sash.operators.bound import BoundQuery
from sash.operators.bounded import answer
from sash.operators.times import to_integers
from sash.runtimes.spark import columns as by_position
from sash.runtimes.spark.columns import BUCKET, ORDINAL, arrow_schema, quoted
from sash.runtimes.spark.requirements import shuffle_partitions
from sash.runtimes.spark.streaming import BUCKETS_PER_PARTITION, StreamingSource
from sash.semantics.windows import SlideByTimeWindow

HORIZON = "__sash_horizon"


@dataclass(frozen=True)
class SparkSource:
    """A static DataFrame."""

    df: DataFrame

    bounded = True

    @classmethod
    def of(cls, data: Any) -> SparkSource | StreamingSource | None:
        """The source for `data`, or None when it is not a DataFrame of Spark."""
        if not isinstance(data, DataFrame):
            return None
        return StreamingSource(data) if data.isStreaming else cls(data)

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.df)

    def collect(self, bound: BoundQuery) -> pa.Table:
        return self.dataframe(bound).toArrow().cast(bound.output)

    def collect_late(self, bound: BoundQuery) -> pa.Table:
        return self.late_dataframe(bound).toArrow().cast(bound.late_output)

    def dataframe(self, bound: BoundQuery) -> DataFrame:
        return self._windowed(bound, bound.columns, bound.output, lambda said: said.reports)

    def late_dataframe(self, bound: BoundQuery) -> DataFrame:
        return self._windowed(bound, bound.schema.names, bound.late_output, lambda said: said.late)

    def stages(self, bound: BoundQuery) -> list[str]:
        keys = ", ".join(bound.keys) or "one bucket: no key"
        return [
            f"select {len(bound.columns)} columns",
            f"shuffle by bucket of ({keys})",
            "window and fold in Arrow",
        ]

    def _windowed(
        self, bound: BoundQuery, columns: list[str], output: pa.Schema, part: Callable[[Answer], pa.Table]
    ) -> DataFrame:
        places = by_position.places(columns)
        buckets = shuffle_partitions(self.df.sparkSession) * BUCKETS_PER_PARTITION
        rows = self.df.select(
            *by_position.placed(columns),
            F.monotonically_increasing_id().alias(ORDINAL),
            by_position.bucket(bound, buckets).alias(BUCKET),
        )
        if _needs_horizon(bound):
            newest = self.df.agg(F.max(quoted(bound.time)).alias(HORIZON))
            rows = rows.crossJoin(F.broadcast(newest))
        schema = pa.schema([bound.schema.field(name) for name in columns])

        def window(table: pa.Table) -> pa.Table:
            said = answer(
                bound,
                table.select(places).rename_columns(columns).cast(schema),
                ordinals=table[ORDINAL].to_numpy(),
                horizon=_horizon(table),
            )
            return part(said)

        return rows.groupBy(BUCKET).applyInArrow(window, from_arrow_schema(output))


def _needs_horizon(bound: BoundQuery) -> bool:
    """Whether windows exist because the stream went on elsewhere, without an event of their key."""
    by_clock = any(isinstance(window, SlideByTimeWindow) for window in bound.query.windows)
    return bound.query.empty or by_clock or not bound.query.flush


def _horizon(table: pa.Table) -> int | None:
    if HORIZON not in table.column_names:
        return None
    newest = table[HORIZON].slice(0, 1)
    return int(to_integers(newest)[0]) if newest.null_count == 0 else 0  # no event has a time
