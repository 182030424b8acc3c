"""The owner of a bucket of keys on a stream: it triggers windows, and others compute them.

The owner holds events and knows the watermark, so that it decides which windows close, which are corrected
and which events are late. It emits batches of windows with their events (see `agnostic`), not values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.bound import BoundQuery
from sash.operators.columns.layout import Layout
from sash.operators.engine import WindowOperator
from sash.operators.engine.plan import StatePlan
from sash.operators.engine.tracks import Track
from sash.operators.engine.turn import Turn, Windows
from sash.operators.patterns.share import WindowShare
from sash.operators.windows.ranges import Ranges, RepeatedRanges
from sash.runtimes.spark.patterns.agnostic import BATCH, dealt
from sash.runtimes.spark.state.operators_in_state import Bucket
from sash.runtimes.spark.streaming.processor import WindowProcessor
from sash.runtimes.spark.streaming.window_stage import WindowStage


class OwnerOperator(WindowOperator):
    """A bucket of keys whose windows are handed out."""

    workers, first = 1, 0
    """To how many workers, and with which to begin."""

    @property
    def answers(self) -> pa.Schema:
        return BATCH

    @staticmethod
    def plan_of(bound: BoundQuery) -> StatePlan:
        # Whole rows, of the columns that are read.
        read = pa.schema([bound.schema.field(name) for name in bound.columns])
        return StatePlan(replace(bound, schema=read), rows=True)

    def _emit(
        self, turn: Turn, track: Track, ranges: Ranges, revisions: Ints | None, windows: Windows
    ) -> None:
        if not len(ranges) or self._replaying:
            return
        rows, placed = windows.rows(ranges)
        if revisions is not None:
            placed = RepeatedRanges.with_revisions(placed, revisions)
        times = np.zeros(rows.num_rows, np.int64)  # workers are handed ranges, and do not look at times
        layout = Layout(rows, times, np.array([0, rows.num_rows]), self.bound.query.order)
        share = WindowShare.whole(self.bound, track.window, layout, placed)
        # A batch of the stream may close a single window: the next one goes to the next worker.
        begin = self.first + int(ranges.id[0])
        keys = self.slots.keys_of(turn.slots)
        self._reports.append(dealt(share, keys, window=track.number, workers=self.workers, begin=begin))


class OwnerProcessor(WindowProcessor):
    """The stateful step of agnostic workers."""

    def __init__(self, stage: WindowStage, workers: int) -> None:
        super().__init__(stage)
        self._workers = workers

    def _loaded(self, number: int) -> Bucket:
        bucket = super()._loaded(number)
        operator: Any = bucket.operator
        operator.workers, operator.first = self._workers, number
        return bucket
