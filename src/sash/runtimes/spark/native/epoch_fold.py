"""A micro-batch of an elastic query, folded by Spark before anything is packed.

    rows ─▶ groupBy(keys, pane) ─▶ one row per key and pane ─▶ pack ─▶ shuffle ─▶ step
              m, from the journal: what is behind it is late, counted, and in no pane

An elastic query knows its watermark before a batch begins, so that lateness is decided here, and only here.
What is shuffled to the step is panes: a hot key and a stream without a key are small by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from sash.operators.bound import BoundQuery
from sash.operators.engine import hands_panes_on
from sash.operators.folding.panes import Panes
from sash.runtimes.spark.native.fold import EVENTS, NativeFold
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import PACKED
from sash.runtimes.spark.packing.columns import BUCKET
from sash.runtimes.spark.packing.outputs import LATE
from sash.runtimes.spark.packing.stamps import StampedPacker
from sash.runtimes.spark.state.fingerprint import describe
from sash.runtimes.spark.streaming.window_stage import WindowStage


@dataclass(frozen=True)
class PaneStage(WindowStage):
    """The stateful step over panes that Spark has folded."""

    query: BoundQuery | None = None
    """Over events."""

    @property
    def description(self) -> dict[str, Any]:
        assert self.query is not None
        described = describe(self.query, buckets=len(self.buckets))
        return described | {"state": self.operator.__name__, "input": "panes folded by Spark"}


@dataclass(frozen=True)
class EpochFold:
    """How the rows of a micro-batch become blocks of panes."""

    fold: NativeFold
    panes: Panes
    stage: PaneStage

    @classmethod
    def of(cls, stage: WindowStage, df: DataFrame) -> EpochFold | None:
        """For the step of a query over such rows; None where it needs the rows."""
        fold = NativeFold.of(stage.bound, df.schema)
        panes = Panes.of(stage.bound)
        if (
            isinstance(fold, str)
            or panes is None
            or LATE in stage.outputs  # they leave as they came
            or not hands_panes_on(stage.bound)
        ):
            return None
        over_panes = PaneStage(
            panes.folded, stage.outputs, stage.buckets, stage.clock, stage.derived, stage.operator,
            query=stage.bound,
        )  # fmt: skip
        return cls(fold, panes, over_panes)

    def arrived(self, rows: DataFrame, watermark: int, tasks: int) -> DataFrame:
        """Blocks of the panes of a batch that this watermark judges, and stamps for so many tasks."""
        bound, columns = self.stage.bound, self.stage.columns
        bucket = by_position.bucket(bound, len(self.stage.buckets)).alias(BUCKET)
        panes = self.fold.arrived(rows, self.panes, watermark)
        placed = panes.select(*by_position.placed(columns), bucket, EVENTS)
        time = by_position.places(columns)[columns.index(bound.time)]
        return placed.mapInArrow(StampedPacker(self.stage.packer, tasks, EVENTS, time), PACKED)
