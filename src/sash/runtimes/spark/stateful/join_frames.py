"""J+ over DataFrames: the window join of two streams or tables, with the columns and times of an O+.

It runs as `stream.join` does, elastic or not; an operator with one input joins it with itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from sash.errors import Unsupported
from sash.operators.elastic.instance_of_share import balanced
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.stateful.join import Join
from sash.runtimes.spark.joins.static_join import StaticJoin
from sash.runtimes.spark.joins.streaming_join import StreamingJoin
from sash.semantics.durations import Duration


@dataclass(frozen=True)
class JoinFrames:
    """J+ over DataFrames, which are all static or all streams."""

    operator: Join
    frames: tuple[DataFrame, ...]
    delays: tuple[Duration, ...] = ()
    """Of streams."""

    @property
    def bounded(self) -> bool:
        return not self.frames[0].isStreaming

    @property
    def bound(self) -> BoundJoin:
        return self.operator.bound if self.bounded else self.operator.late_by(self.delays)

    def require_no_mapping(self) -> None:
        """Only the tasks of an elastic join change from batch to batch, as the operator's f_μ has them."""
        if self.operator.mapping is not balanced:
            raise Unsupported(
                "mapping", self.operator.mapping, "left out of a join on Spark without elastic=…",
                hint="Its buckets are a grid over Spark's partitions, in which both sides have to meet.",
            )  # fmt: skip

    @property
    def join(self) -> StaticJoin | StreamingJoin:
        self.require_no_mapping()
        return StaticJoin(self.frames[0], self.frames[-1]) if self.bounded else self.streams

    @property
    def streams(self) -> StreamingJoin:
        return StreamingJoin(self.frames[0], self.frames[-1])

    def collect(self) -> pa.Table:
        return self.join.collect(self.bound)

    def first(self, rows: int) -> tuple[pa.Table, int]:
        """Of tables: the first pairs, and how many there are."""
        self.require_no_mapping()
        return StaticJoin(self.frames[0], self.frames[-1]).first(self.bound, rows)

    def dataframe(self) -> DataFrame:
        return self.join.dataframe(self.bound)

    @property
    def stages(self) -> list[str]:
        return self.join.stages(self.bound)
