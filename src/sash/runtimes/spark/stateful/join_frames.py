"""J+ over DataFrames: the window join of two streams or tables, with the columns and times of an O+.

It runs as `stream.join` does, elastic or not; an operator with one input joins it with itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NoReturn

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
class StaticJoinOperator:
    """J+ over static DataFrames."""

    operator: Join
    frames: tuple[DataFrame, ...]

    bounded: ClassVar[bool] = True

    @property
    def _join(self) -> StaticJoin:
        _require_no_mapping(self.operator)
        return StaticJoin(self.frames[0], self.frames[-1])

    def collect(self) -> pa.Table:
        return self._join.collect(self.operator.bound)

    def first(self, rows: int) -> tuple[pa.Table, int]:
        return self._join.first(self.operator.bound, rows)

    def dataframe(self) -> DataFrame:
        return self._join.dataframe(self.operator.bound)

    @property
    def stages(self) -> list[str]:
        return self._join.stages(self.operator.bound)


@dataclass(frozen=True)
class StreamingJoinOperator:
    """J+ over streaming DataFrames."""

    operator: Join
    delays: tuple[Duration, ...]
    frames: tuple[DataFrame, ...]

    bounded: ClassVar[bool] = False

    @property
    def bound(self) -> BoundJoin:
        return self.operator.late_by(self.delays)

    @property
    def join(self) -> StreamingJoin:
        _require_no_mapping(self.operator)
        return self.elastic_join

    @property
    def elastic_join(self) -> StreamingJoin:
        """Its tasks change from batch to batch, as the operator's f_μ has them."""
        return StreamingJoin(self.frames[0], self.frames[-1])

    def collect(self) -> NoReturn:
        self.join.collect(self.bound)

    def dataframe(self) -> DataFrame:
        return self.join.dataframe(self.bound)

    @property
    def stages(self) -> list[str]:
        return self.join.stages(self.bound)


def _require_no_mapping(operator: Join) -> None:
    if operator.mapping is not balanced:
        raise Unsupported(
            "mapping", operator.mapping, "left out of a join on Spark without elastic=…",
            hint="Its buckets are a grid over Spark's partitions, in which both sides have to meet.",
        )  # fmt: skip
