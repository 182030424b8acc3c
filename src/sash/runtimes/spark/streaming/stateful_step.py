"""The stateful step and what follows it: blocks by bucket → transformWithState → rows, and counts."""

from __future__ import annotations

from collections.abc import Collection
from uuid import uuid4

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sash.runtimes.spark.packing.answers import answers_with
from sash.runtimes.spark.packing.blocks import COUNTS, PACKED_BUCKET
from sash.runtimes.spark.streaming.light_processor import LightProcessor
from sash.runtimes.spark.streaming.processor import WindowProcessor


def answers_of(
    packed: DataFrame, processor: WindowProcessor, *, counts: Collection[str] = COUNTS
) -> DataFrame:
    """What the processor answers to the packed blocks of a stream. In a query of several stages each count
    comes from one of them: `counts`."""
    answers = answers_with(processor.stage.schema)
    return answers.opened(emitted_by(packed, processor.answering(answers), counts=counts))


def emitted_by(
    packed: DataFrame, processor: WindowProcessor, *, counts: Collection[str] = COUNTS
) -> DataFrame:
    """The same as it leaves the processor: in blocks, for another stage of Python, unless it is to
    answer otherwise."""
    grouped, answers = packed.groupBy(PACKED_BUCKET), processor.answers
    step = grouped.transformWithStateInPandas if answers.frames else grouped.transformWithState
    emitted = step(
        LightProcessor(processor),
        outputStructType=answers.struct,
        outputMode="append",
        timeMode="eventTime",
    )
    return counted(emitted, processor.stage.output, {count: answers.total(count) for count in counts})


def counted(df: DataFrame, output: str, totals: dict[str, Column]) -> DataFrame:
    """The rows as they are, with their counts in Spark's progress reports; the other counts are 0."""
    nothing = F.sum(F.lit(0))
    # Two queries may meet in one plan, where these names have to differ.
    return df.observe(
        f"sash {output} {uuid4().hex[:8]}",
        *(F.coalesce(totals.get(count, nothing), F.lit(0)).alias(count) for count in COUNTS),
    )
