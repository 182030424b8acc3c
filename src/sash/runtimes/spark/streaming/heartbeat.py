"""Time that goes on without events.

    a heartbeat  =  an empty block, each second, stamped with the clock less `idle`

Spark's watermark is the newest stamp less the delay, and stamps come with rows. While events come, theirs
are newer. When they stop, heartbeats close what is still open, `idle` later by the clock than events would
have. Spark's rate source remembers its beats in the checkpoint: a batch that runs again has the same ones.
"""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions as F

from sash.runtimes.spark.packing.blocks import NEWEST_AT, PACKED_BUCKET, PAYLOAD, block_of
from sash.semantics.durations import Duration


class Blocks(Protocol):
    """What a beat has to look like."""

    @property
    def buckets(self) -> tuple[int, ...]: ...
    @property
    def block(self) -> pa.Schema: ...


def heartbeats(spark: SparkSession, stage: Blocks, idle: Duration) -> DataFrame:
    """A stream of blocks without rows, for one of the buckets: a watermark is for all of them."""
    bucket = stage.buckets[0]
    nothing = block_of(bucket, stage.block.empty_table())
    beats = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    return beats.select(
        F.lit(bucket).cast("long").alias(PACKED_BUCKET),
        F.lit(bytearray(nothing)).alias(PAYLOAD),
        F.timestamp_micros(F.unix_micros("timestamp") - idle.length).alias(NEWEST_AT),
    )
