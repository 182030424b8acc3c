"""The stateful step and what follows it: blocks by bucket → transformWithState → rows, and counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from sash.runtimes.observed_counts import metric_of
from sash.runtimes.spark.packing.answers import PlainAnswers, answers_with
from sash.runtimes.spark.packing.blocks import COUNTS, OUTPUT, PACKED_BUCKET
from sash.runtimes.spark.packing.outputs import HANDED, REPORTS, Outputs
from sash.runtimes.spark.state.queries_of_checkpoint import ALONE
from sash.runtimes.spark.streaming.hot_keys.handed_out_windows import HandedWindows
from sash.runtimes.spark.streaming.processor_for_driver import LightProcessor
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor


@dataclass(frozen=True)
class Emitted:
    """What leaves a stateful step: the rows of all its outputs in one DataFrame."""

    rows: DataFrame
    """With the number of each row's output in the column OUTPUT."""
    outputs: Outputs
    opened: Callable[[DataFrame, str], DataFrame]
    """Such rows → the rows of one output."""
    queries: Mapping[str, Mapping[str, Any]]
    """What a checkpoint must have been made by: the descriptions of the queries, by name."""
    windows: HandedWindows | None = None
    """Windows among the rows that buckets hand out in some batches."""

    @classmethod
    def of_reports(cls, reports: DataFrame, description: Mapping[str, Any]) -> Emitted:
        """Of a stage that has nothing but reports."""
        opened = reports.withColumn(OUTPUT, F.lit(0))
        return cls(opened, (REPORTS,), lambda rows, name: rows.drop(OUTPUT), {ALONE: description})

    def output(self, name: str = REPORTS) -> DataFrame:
        """The rows of one output, as a DataFrame of its own: two of them are two passes."""
        return self.opened(self.rows, name)


def answers_of(
    packed: DataFrame, processor: WindowProcessor, *, counts: Collection[str] = COUNTS
) -> Emitted:
    """What the processor answers to the packed blocks of a stream. In a query of several stages each count
    comes from one of them: `counts`."""
    stage = processor.stage
    answers = answers_with(stage.schemas)
    rows = emitted_by(packed, processor.answering(answers), counts=counts)
    windows = None
    if HANDED in stage.schemas:
        assert isinstance(answers, PlainAnswers)  # which that output is
        windows = HandedWindows(answers, stage.bound, stage.buckets)
    return Emitted(rows, tuple(answers.schemas), answers.opened, {ALONE: stage.description}, windows)


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
    return with_counts(emitted, {count: answers.total(count) for count in counts})


def with_counts(df: DataFrame, totals: dict[str, Column]) -> DataFrame:
    """The rows as they are, with their counts in Spark's progress reports; the other counts are 0."""
    nothing = F.sum(F.lit(0))
    return df.observe(
        metric_of(),
        *(F.coalesce(totals.get(count, nothing), F.lit(0)).alias(count) for count in COUNTS),
    )
