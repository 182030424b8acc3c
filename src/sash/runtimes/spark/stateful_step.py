"""The stateful step and what follows it: blocks by bucket → transformWithState → rows, and counts."""

from __future__ import annotations

from collections.abc import Collection
from uuid import uuid4

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from sash.runtimes.spark.light_processor import LightProcessor
from sash.runtimes.spark.packing import ANSWERED, COUNTS, PACKED_BUCKET
from sash.runtimes.spark.processor import WindowProcessor


def answers_of(packed: DataFrame, processor: WindowProcessor) -> DataFrame:
    """What the processor says to the packed blocks of a stream."""
    stage = processor.stage
    return blocks_of(packed, processor).mapInArrow(stage.unpacker, from_arrow_schema(stage.schema))


def blocks_of(
    packed: DataFrame, processor: WindowProcessor, *, tells: Collection[str] = COUNTS
) -> DataFrame:
    """The same, packed. A query of several stages has each of its counts told by one of them."""
    answered = packed.groupBy(PACKED_BUCKET).transformWithState(
        LightProcessor(processor), outputStructType=ANSWERED, outputMode="append", timeMode="eventTime"
    )
    return counted(answered, processor.stage.output, {count: F.sum(count) for count in tells})


def counted(df: DataFrame, output: str, tells: dict[str, Column]) -> DataFrame:
    """The rows as they are, with their counts in Spark's progress reports; 0 for counts not told here."""
    nothing = F.sum(F.lit(0))
    # Two queries may meet in one plan, where these names have to differ.
    return df.observe(
        f"sash {output} {uuid4().hex[:8]}",
        *(F.coalesce(tells.get(count, nothing), F.lit(0)).alias(count) for count in COUNTS),
    )
