"""A streaming DataFrame as input, and a streaming DataFrame as answer.

    select → pack → watermark → groupBy(bucket) → window, in a state store → unpack

Everything between pack and unpack moves one binary block for a bucket instead of rows. Spark drops no row
on this way, so that what is late is decided by the query and told in its late output. The counts of events,
late events and reports are in each progress report of the running query, under `observedMetrics`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import pyarrow as pa
from pyspark.sql import DataFrame

from sash.errors import Unsupported
from sash.operators.bound import BoundQuery
from sash.operators.streaming import PanedOperator
from sash.operators.streaming.protocol import StreamOperator
from sash.planner.asked import AUTO, Asked, Auto
from sash.planner.constants import costs
from sash.planner.facts import Facts
from sash.planner.plan import Plan, make_plan
from sash.planner.sampling import assumed
from sash.runtimes.spark import columns as by_position
from sash.runtimes.spark.buckets import bucket_ids
from sash.runtimes.spark.clock import Clock
from sash.runtimes.spark.columns import BUCKET, arrow_schema
from sash.runtimes.spark.packing import NEWEST_AT, PACKED, PACKED_BUCKET, PAYLOAD
from sash.runtimes.spark.processor import WindowProcessor
from sash.runtimes.spark.requirements import require_streaming, shuffle_partitions, task_slots
from sash.runtimes.spark.stage import Output, Stage
from sash.runtimes.spark.stateful_step import answers_of
from sash.runtimes.spark.upstream import NEWEST, NEWEST_TICK, Upstream

BUCKETS_PER_PARTITION = 4
"""Buckets are fixed for the life of a checkpoint; a few more than partitions keep one hot key from holding
up many others."""


@dataclass(frozen=True)
class StreamingSource:
    """An unbounded DataFrame."""

    df: DataFrame
    operator: type[StreamOperator] | None = None
    """What keeps the windows of a bucket; None: whatever suits the query."""

    bounded = False

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.df)

    def collect(self, bound: BoundQuery) -> NoReturn:
        self._refuse_to_collect()

    def collect_late(self, bound: BoundQuery) -> NoReturn:
        self._refuse_to_collect()

    def dataframe(self, bound: BoundQuery) -> DataFrame:
        return self._windowed(bound, "reports")

    def late_dataframe(self, bound: BoundQuery) -> DataFrame:
        return self._windowed(bound, "late")

    def plan(self, bound: BoundQuery) -> Plan:
        cores = task_slots(self.df.sparkSession)
        facts = Facts.of(bound, assumed(bound, AUTO), where="spark streaming", cores=cores)
        return make_plan(bound, facts, costs(), asked=AUTO)

    def parallel(self, asked: Asked, bound: BoundQuery) -> StreamingSource:
        if isinstance(asked, Auto):
            return self
        raise Unsupported(
            "pattern", str(asked), "'auto' for a streaming DataFrame",
            hint="There a bucket of keys is one worker; Spark spreads the buckets over its tasks.",
        )  # fmt: skip

    def stages(self, bound: BoundQuery, plan: Plan) -> list[str]:
        upstream, partitions = Upstream.of(self.df), shuffle_partitions(self.df.sparkSession)
        delay = f"a delay of {bound.query.delay}"
        kept = f"the stream's own watermark, and {delay}" if upstream.columns else delay
        keys = ", ".join(bound.keys) or "one bucket: no key"
        return [
            f"pack {len(bound.columns)} columns into a block for each bucket of ({keys})",
            f"watermark: {kept}",
            f"shuffle {len(_buckets(bound, partitions))} buckets to {partitions} partitions",
            f"window and fold, with {'panes' if PanedOperator.suits(bound) else 'events'} in RocksDB",
            "unpack",
        ]

    def _refuse_to_collect(self) -> NoReturn:
        raise Unsupported(
            "data", "a streaming DataFrame", "bounded for collect()",
            hint="It has no end: write .dataframe() to a sink with writeStream.",
        )  # fmt: skip

    def _windowed(self, bound: BoundQuery, output: Output) -> DataFrame:
        upstream, ticks = Upstream.of(self.df), _ticks(bound)
        upstream.require_about(self.df, bound.time, ticks=ticks)
        require_streaming(self.df.sparkSession, chained=upstream.derived)
        delay = bound.query.delay.length
        stage = Stage.of(
            bound,
            output,
            buckets=_buckets(bound, shuffle_partitions(self.df.sparkSession)),
            clock=Clock.of(ticks=ticks, delay=delay if upstream.columns else 0),
            derived=upstream.derived,
            operator=self.operator,
        )
        packed = self.packed(stage)
        if not upstream.columns:
            name = NEWEST_TICK if ticks else NEWEST
            packed = packed.withColumnRenamed(NEWEST_AT, name)
            packed = packed.withWatermark(name, stage.clock.spark_delay(delay))
        return answers_of(packed.select(PACKED_BUCKET, PAYLOAD), WindowProcessor(stage))

    def packed(self, stage: Stage) -> DataFrame:
        """The rows of the stream, a block for each bucket."""
        bucket = by_position.bucket(stage.bound, len(stage.buckets)).alias(BUCKET)
        return self.df.select(*by_position.placed(stage.columns), bucket).mapInArrow(stage.packer, PACKED)


def _ticks(bound: BoundQuery) -> bool:
    return bool(pa.types.is_integer(bound.time_type))


def _buckets(bound: BoundQuery, partitions: int) -> tuple[int, ...]:
    """Numbers of buckets, as Spark will spread them; a query without a key has one."""
    return bucket_ids(partitions=partitions, each=BUCKETS_PER_PARTITION) if bound.keys else (0,)
