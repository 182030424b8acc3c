"""A micro-batch of an elastic query, folded by Spark before anything is packed.

    rows ─▶ groupBy(keys, pane) ─▶ one row per key and pane ─▶ pack ─▶ shuffle ─▶ step
              m, from the journal: what is behind it is late, and in no pane

An elastic query knows its watermark before a batch begins, so that lateness is decided here, and only here.
What is shuffled to the step is panes: a hot key and a stream without a key are small by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, functions as F

from sash.operators.bound import BoundQuery
from sash.operators.engine import hands_panes_on
from sash.operators.folding.panes import Panes
from sash.runtimes.spark.kept_rows import kept
from sash.runtimes.spark.native.fold import EVENTS, NativeFold
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import NEWEST_AT, PACKED
from sash.runtimes.spark.packing.columns import BUCKET, quoted
from sash.runtimes.spark.packing.outputs import LATE
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
class EpochRows:
    """What a micro-batch brings to the step."""

    blocks: DataFrame
    stamps: pa.Table
    """How far time has come, a row for each block or one for all; none when nothing is for the step."""
    counts: dict[str, int] = field(default_factory=dict)
    """What the step cannot count, because it gets panes."""


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

    @contextmanager
    def arrived(self, rows: DataFrame, watermark: int) -> Iterator[EpochRows]:
        """The panes of a batch that this watermark judges."""
        panes = kept(self.fold.arrived(rows, self.panes, watermark))
        try:
            yield self._arrived(panes)
        finally:
            panes.unpersist()

    def _arrived(self, panes: DataFrame) -> EpochRows:
        time = F.col(quoted(self.stage.bound.time))
        late = F.sum(F.when(time.isNull(), F.col(EVENTS)))
        (counted,) = panes.agg(F.sum(EVENTS), late, F.max(time)).collect()
        newest = np.array([] if counted[2] is None else [counted[2]], np.int64)
        stamps = pa.array([self.stage.clock.stamp(newest)][: len(newest)], pa.timestamp("us", "UTC"))
        bucket = by_position.bucket(self.stage.bound, len(self.stage.buckets)).alias(BUCKET)
        on_time = panes.where(time.isNotNull()).select(*by_position.placed(self.stage.columns), bucket)
        return EpochRows(
            on_time.mapInArrow(self.stage.packer, PACKED),
            pa.table({NEWEST_AT: stamps}),
            {"events": counted[0] or 0, "late": counted[1] or 0},
        )
