"""A join of two streaming DataFrames.

    each side:  select → pack a block for each bucket → watermark
    together:   union → groupBy(bucket) → join, in a state store → unpack

Spark's watermark is the lesser of the two sides', each with its own delay. The processor is that of
windows; what differs is that a block has the side that it is of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NoReturn, cast

import pyarrow as pa
from pyspark.sql import DataFrame, functions as F

from sash.errors import Unsupported
from sash.operators.elastic.declaration import Elastic
from sash.operators.joins.asof.asof_operator import AsofOperator
from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.joins.join_operator import JoinOperator
from sash.operators.joins.two_sided import TwoSidedOperator
from sash.runtimes.spark.joins.join_routes import JoinRoute, bucket_count, elastic_bucket_count
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.answers import answers_with
from sash.runtimes.spark.packing.balanced_bucket_ids import bucket_ids
from sash.runtimes.spark.packing.blocks import (
    INPUT,
    PACKED,
    PACKED_BUCKET,
    PAYLOAD,
    Packer,
    block_schema,
    rows_of,
)
from sash.runtimes.spark.packing.columns import ORDINAL, ORIGINAL
from sash.runtimes.spark.packing.outputs import LATE, REPORTS, Outputs, OutputSchemas
from sash.runtimes.spark.packing.time_of_batch import StampedPacker
from sash.runtimes.spark.session_requirements import require_streaming, shuffle_partitions
from sash.runtimes.spark.state.fingerprint import describe_join
from sash.runtimes.spark.streaming.bucket_call import BucketCall
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor
from sash.runtimes.spark.streaming.stateful_step import Emitted, answers_of
from sash.runtimes.spark.streaming.upstream_watermark import Upstream
from sash.runtimes.spark.streaming.watermark_units import Clock
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.semantics.expression import Side


def late_of(side: Side) -> str:
    """The name of the output with the late rows of a side."""
    return f"{LATE} {side.value}"


class JoinBucketCall(BucketCall):
    """One call of the join operator of a bucket."""

    def advance(self, watermark: int) -> None:
        self._take("reports", self._operator.advance(watermark))

    def insert(self, rows: Mapping[Side, pa.Table]) -> None:
        for side, table in rows.items():
            original = table[ORIGINAL].to_numpy()
            self._counts["events"] += int(original.sum())
            names = self._operator.bound.of(side).schema.names
            arrived = table.drop_columns([ORDINAL, ORIGINAL]).rename_columns(names)
            late = self._operator.insert(side, arrived, table[ORDINAL].to_numpy(), originals=original)
            self._counts["late"] += late.num_rows
            self._keep(late_of(side), late)

    @property
    def _operator(self) -> TwoSidedOperator:
        return cast(TwoSidedOperator, self._bucket.operator)


@dataclass(frozen=True)
class JoinStage:
    """One stateful step and the two that pack and unpack around it, with the face of a `WindowStage`."""

    bound: BoundJoin | BoundAsof
    outputs: Outputs
    """Reports, and the late rows of a side: see `late_of`."""
    buckets: tuple[int, ...]
    clock: Clock
    derived: bool

    call: ClassVar[type[BucketCall]] = JoinBucketCall
    panes: ClassVar[None] = None

    def of_bucket(self, number: int) -> BoundJoin | BoundAsof:
        """The same for all of them."""
        return self.bound

    def arrived(self, bucket: int, blocks: Iterable[tuple[bytes | pa.Buffer, int]]) -> dict[Side, pa.Table]:
        """The rows of each side: input 0 is the left."""
        payloads: list[list[bytes | pa.Buffer]] = [[] for _ in Side]
        for payload, number in blocks:
            payloads[number].append(payload)
        return {
            side: rows_of(bucket, own, self.blocks[side]) for side, own in zip(Side, payloads, strict=True)
        }

    @property
    def operator(self) -> type[TwoSidedOperator]:
        return AsofOperator if isinstance(self.bound, BoundAsof) else JoinOperator

    @cached_property
    def blocks(self) -> Mapping[Side, pa.Schema]:
        """Of the rows on their way to a bucket."""
        return {side: block_schema(self.bound.of(side).schema, originals=True) for side in Side}

    @property
    def schema(self) -> pa.Schema:
        return self.bound.output

    @cached_property
    def schemas(self) -> OutputSchemas:
        late = {late_of(side): self.bound.of(side).late_output for side in Side}
        every = {REPORTS: self.schema, **late}
        return {output: every[output] for output in self.outputs}

    @cached_property
    def description(self) -> dict[str, Any]:
        return describe_join(self.bound, buckets=len(self.buckets))

    def packer(self, side: Side) -> Packer:
        own = self.bound.of(side)
        route = JoinRoute(self.bound.strategy, side, len(self.buckets), own.schema, self.bound.kept)
        time = by_position.places(own.schema.names)[own.schema.names.index(own.time)]
        return Packer(self.blocks[side], time, self.buckets, self.clock, route)


@dataclass(frozen=True)
class StreamingJoin:
    """Two streaming DataFrames."""

    left: DataFrame
    right: DataFrame

    bounded = False

    def collect(self, bound: BoundJoin | BoundAsof) -> NoReturn:
        self._refuse_to_collect()

    def _refuse_to_collect(self) -> NoReturn:
        raise Unsupported(
            "data", "a streaming DataFrame", "bounded for collect()",
            hint="It has no end: use .start(sink, checkpoint=…).",
        )  # fmt: skip

    def dataframe(self, bound: BoundJoin | BoundAsof) -> DataFrame:
        return self.emitted(bound, (REPORTS,)).output()

    def stages(self, bound: BoundJoin | BoundAsof) -> list[str]:
        partitions = shuffle_partitions(self.left.sparkSession)
        delays = " and ".join(f"{bound.join.delay(side)} on the {side.value}" for side in Side)
        return [
            f"pack blocks for {bucket_count(bound.strategy, bound.kept, partitions)} buckets",
            f"watermark: that of the side that is further behind, with a delay of {delays}",
            f"shuffle by bucket to {partitions} partitions",
            _state(bound),
            *answers_with({REPORTS: bound.output}).stages,
        ]

    def emitted(self, bound: BoundJoin | BoundAsof, outputs: Outputs) -> Emitted:
        """Pairs and late rows, in one pass."""
        inputs = {Side.LEFT: self.left, Side.RIGHT: self.right}
        upstreams = {side: Upstream.of(df) for side, df in inputs.items()}
        derived = any(upstream.derived for upstream in upstreams.values())
        require_streaming(self.left.sparkSession, chained=derived)
        # Spark has one watermark for both: a delay on top of one that a stream came with holds for both.
        kept = [bound.join.delay(side).length for side in Side if upstreams[side].columns]
        partitions = shuffle_partitions(self.left.sparkSession)
        count = bucket_count(bound.strategy, bound.kept, partitions)
        stage = JoinStage(
            bound,
            outputs,
            bucket_ids(partitions=partitions, each=count // partitions) if count > 1 else (0,),
            Clock.of(ticks=bound.left.ticks, delay=max(kept, default=0)),
            derived,
        )
        left, right = (self._packed(stage, side, inputs[side], upstreams[side]) for side in Side)
        # It has the face of a window's stage.
        return answers_of(left.unionAll(right), WindowProcessor(cast(WindowStage, stage)))

    def elastic(
        self, bound: BoundJoin | BoundAsof, outputs: Outputs, elastic: Elastic
    ) -> tuple[DataFrame, JoinStage]:
        """The blocks of both sides for the elastic runtime, and what its tasks do with them."""
        count = elastic_bucket_count(bound.strategy, bound.kept, buckets=elastic.buckets, tasks=elastic.max)
        stage = JoinStage(
            bound, outputs, tuple(range(count)), Clock.of(ticks=bound.left.ticks), derived=False
        )
        left, right = (
            df.selectExpr(*by_position.placed(bound.of(side).schema.names))
            .mapInArrow(StampedPacker(stage.packer(side), elastic.max), PACKED)
            .withColumn(INPUT, F.lit(_number(side)))
            for side, df in zip(Side, (self.left, self.right), strict=True)
        )
        return left.unionAll(right), stage

    def _packed(self, stage: JoinStage, side: Side, df: DataFrame, upstream: Upstream) -> DataFrame:
        own = stage.bound.of(side)
        upstream.require_about(df, own.time, ticks=own.ticks)
        rows = df.selectExpr(*by_position.placed(own.schema.names))
        packed = rows.mapInArrow(stage.packer(side), PACKED).withColumn(INPUT, F.lit(_number(side)))
        delay = stage.clock.spark_delay(stage.bound.join.delay(side).length)
        return upstream.watermarked(packed, delay, ticks=own.ticks).select(PACKED_BUCKET, PAYLOAD, INPUT)


def _number(side: Side) -> int:
    """Of the input: the left is 0."""
    return int(side is Side.RIGHT)


def _state(bound: BoundJoin | BoundAsof) -> str:
    if isinstance(bound, BoundJoin):
        return "join, with the rows of the window in RocksDB"
    return "as-of join, with the newest right row of each key and the open left rows in RocksDB"
