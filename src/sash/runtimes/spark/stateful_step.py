"""The stateful step and what follows it: blocks by bucket → transformWithState → rows, and counts."""

from __future__ import annotations

from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from sash.runtimes.spark.light_processor import LightProcessor
from sash.runtimes.spark.packing import ANSWERED, COUNTS, PACKED_BUCKET
from sash.runtimes.spark.processor import WindowProcessor


def answers_of(packed: DataFrame, processor: WindowProcessor) -> DataFrame:
    """What the processor says to the packed blocks of a stream."""
    stage = processor.stage
    answered = packed.groupBy(PACKED_BUCKET).transformWithState(
        LightProcessor(processor), outputStructType=ANSWERED, outputMode="append", timeMode="eventTime"
    )
    # Two queries may meet in one plan, where these names have to differ.
    counted = answered.observe(
        f"sash {stage.output} {uuid4().hex[:8]}",
        *(F.coalesce(F.sum(count), F.lit(0)).alias(count) for count in COUNTS),
    )
    return counted.mapInArrow(stage.unpacker, from_arrow_schema(stage.schema))
