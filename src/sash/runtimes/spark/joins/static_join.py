"""A join of two static DataFrames.

    select → spread over buckets → cogroup(bucket).applyInArrow(pairs)

The places of both rows in the arrival order travel with a pair, so that `collect` can sort by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, functions as F

from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.bound_join import LEFT_PLACE, RIGHT_PLACE, BoundJoin
from sash.operators.joins.bounded_join import join_tables
from sash.operators.late_rows import LATE_REASON, UNTIMED
from sash.runtimes.spark.batch.driver_memory import brought
from sash.runtimes.spark.batch.first_rows_of_answer import first_rows
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.joins.join_routes import JoinRoute, bucket_count
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import gathered
from sash.runtimes.spark.packing.columns import BUCKET, ORDINAL, quoted
from sash.runtimes.spark.session_requirements import shuffle_partitions
from sash.semantics.expression import Side


@dataclass(frozen=True)
class StaticJoin:
    """Two static DataFrames."""

    left: DataFrame
    right: DataFrame

    bounded = True

    def collect(self, bound: BoundJoin | BoundAsof) -> pa.Table:
        found = brought(self._pairs(bound))
        order = [(name, "ascending") for name in bound.order]
        return found.sort_by(order).select(bound.output.names).cast(bound.output)

    def first(self, bound: BoundJoin | BoundAsof, rows: int) -> tuple[pa.Table, int]:
        """The first pairs in order, and how many there are."""
        order = [(name, "ascending") for name in bound.order]
        found, total = first_rows(self._pairs(bound), rows, ordered=lambda pairs: pairs.sort_by(order))
        return found.select(bound.output.names).cast(bound.output), total

    def dataframe(self, bound: BoundJoin | BoundAsof) -> DataFrame:
        return self._pairs(bound).drop(LEFT_PLACE, RIGHT_PLACE)

    def collect_late(self, bound: BoundJoin | BoundAsof, side: Side) -> pa.Table:
        return brought(self.late_dataframe(bound, side)).cast(bound.of(side).late_output)

    def late_dataframe(self, bound: BoundJoin | BoundAsof, side: Side) -> DataFrame:
        untimed = self._input(side).where(F.col(quoted(bound.of(side).time)).isNull())
        return untimed.withColumn(LATE_REASON, F.lit(UNTIMED))

    def stages(self, bound: BoundJoin | BoundAsof) -> list[str]:
        buckets = self._buckets(bound)
        return [
            f"spread both sides over {buckets} buckets",
            "shuffle by bucket",
            "merge by time, in Arrow" if isinstance(bound, BoundAsof) else "compare what is near, in Arrow",
        ]

    def _input(self, side: Side) -> DataFrame:
        return self.left if side is Side.LEFT else self.right

    def _buckets(self, bound: BoundJoin | BoundAsof) -> int:
        return bucket_count(bound.strategy, bound.kept, shuffle_partitions(self.left.sparkSession))

    def _pairs(self, bound: BoundJoin | BoundAsof) -> DataFrame:
        places = {side: by_position.places(bound.of(side).schema.names) for side in Side}

        def compare(left: pa.Table, right: pa.Table) -> pa.Table:
            inputs, ordinals = {}, {}
            for side, table in zip(Side, (left, right), strict=True):
                schema = bound.of(side).schema
                rows = table.select(places[side]).rename_columns(schema.names)
                inputs[side], ordinals[side] = rows.cast(schema), table[ORDINAL].to_numpy()
            return join_tables(bound, inputs, ordinals=ordinals, places=True)

        left, right = (self._spread(bound, side).groupBy(BUCKET) for side in Side)
        return left.cogroup(right).applyInArrow(compare, struct_of(bound.placed_output))

    def _spread(self, bound: BoundJoin | BoundAsof, side: Side) -> DataFrame:
        own = bound.of(side)
        rows = self._input(side).selectExpr(
            *by_position.placed(own.schema.names),
            f"monotonically_increasing_id() AS {ORDINAL}",
            f"0L AS {BUCKET}",
        )
        route = JoinRoute(bound.strategy, side, self._buckets(bound), own.schema, bound.kept)
        return rows.mapInArrow(Spreader(route), rows.schema)


@dataclass(frozen=True)
class Spreader:
    """Rows → rows with their buckets, once for each: the function of `mapInArrow` before the shuffle."""

    route: JoinRoute

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in gathered(batches):
            schema = self.route.schema
            named = table.select(by_position.places(schema.names)).rename_columns(schema.names).cast(schema)
            sent = self.route.spread(named, table[ORDINAL].to_numpy())
            copied = table.drop_columns(BUCKET).take(pa.array(sent.row))
            yield from copied.append_column(BUCKET, pa.array(sent.bucket)).combine_chunks().to_batches()
