"""The owner of a bucket of keys on a stream: it triggers windows, and others compute them.

The owner holds events and knows the watermark, so that it says which windows close, which are corrected and
which events are late. What it tells are batches of windows with their events (see `agnostic`), not values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.operators.patterns.share import Share
from sash.operators.ranges import Ranges, RepeatedRanges
from sash.operators.streaming import WindowOperator
from sash.operators.streaming.track import Track
from sash.runtimes.spark.patterns.agnostic import BATCH, dealt
from sash.runtimes.spark.processor import WindowProcessor
from sash.runtimes.spark.stage import Stage
from sash.runtimes.spark.state import Bucket

Ints = NDArray[np.int64]


class OwnerOperator(WindowOperator):
    """A bucket of keys whose windows are handed out."""

    workers, first = 1, 0
    """To how many workers, and with which to begin."""

    @property
    def answers(self) -> pa.Schema:
        return BATCH

    def _told(self, track: Track, ranges: Ranges, revisions: Ints | None) -> pa.Table:
        if not len(ranges):
            return BATCH.empty_table()
        if revisions is not None:
            ranges = RepeatedRanges.with_revisions(ranges, revisions)
        share = Share.whole(self.bound, track.window, track.layout, ranges)
        # A batch of the stream may close a single window: the next one is somebody else's.
        begin = self.first + int(ranges.id[0])
        window = self.bound.query.windows.index(track.window)
        keys = self.keyring.of_slots(np.arange(self.slots))
        return dealt(share, keys, window=window, workers=self.workers, begin=begin)


class OwnerProcessor(WindowProcessor):
    """The stateful step of agnostic workers."""

    def __init__(self, stage: Stage, workers: int) -> None:
        super().__init__(stage)
        self._workers = workers

    def _loaded(self, number: int) -> Bucket:
        bucket = super()._loaded(number)
        operator: Any = bucket.operator
        operator.workers, operator.first = self._workers, number
        return bucket
