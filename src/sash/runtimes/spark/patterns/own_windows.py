"""A worker of a window farm in the stateful step: it holds its events and answers for its own windows.

An event that several workers hold is counted, and reported if it is late, by one of them: its home.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.times import to_integers
from sash.operators.folding.panes import clock_windows
from sash.runtimes.spark.packing.blocks import without_nulls
from sash.runtimes.spark.packing.bucket_of_key_arrow import buckets
from sash.runtimes.spark.patterns.route import Route
from sash.runtimes.spark.state.operators_in_state import Bucket
from sash.runtimes.spark.streaming.bucket_call import BucketCall
from sash.runtimes.spark.streaming.stateful_processor import WindowProcessor
from sash.runtimes.spark.streaming.window_stage import WindowStage


@dataclass(frozen=True)
class OwnWindows:
    """The windows of one worker. See `operators.windows.own_windows.Own`."""

    bound: BoundQuery
    route: Route
    worker: int

    def following(self, keys: pa.Table | None, slots: Ints, ids: Ints) -> Ints:
        assert keys is not None  # there are slots
        return self.route.following(self.worker, self._shares(keys)[slots], ids)

    def originals(self, rows: pa.Table) -> pa.Table:
        """The rows whose home this is."""
        times = to_integers(without_nulls(rows[self.bound.time]))
        home = self.route.home(clock_windows(self.bound)[0], self._shares(rows), times)
        return rows.filter(pa.array(home == self.worker))

    def _shares(self, rows: pa.Table) -> Ints:
        """As Spark computes them for the packer: of the key's hash, this is what a route needs."""
        keys = self.bound.keys
        if not keys or not rows.num_rows:
            return np.zeros(rows.num_rows, np.int64)
        (batch,) = rows.select(list(keys)).combine_chunks().to_batches()
        return buckets(batch, keys, self.route.workers).astype(np.int64)


class FarmBucketCall(BucketCall):
    """What a worker emits in the course of one call."""

    def __init__(self, stage: WindowStage, bucket: Bucket, own: OwnWindows) -> None:
        super().__init__(stage, bucket)
        self._own = own

    def _originals(self, rows: pa.Table) -> pa.Table:
        return self._own.originals(rows)

    @property
    def _counts_keys(self) -> bool:
        # Where keys are forgotten, all workers of a share have all of its keys.
        return self._own.worker % self._own.route.windows == 0


class FarmProcessor(WindowProcessor):
    """The stateful step of a window farm: bucket i of the stage is worker i of the route."""

    def __init__(self, stage: WindowStage, route: Route) -> None:
        super().__init__(stage)
        self._route = route

    def _own(self, number: int) -> OwnWindows:
        return OwnWindows(self.stage.bound, self._route, self.stage.buckets.index(number))

    def _loaded(self, number: int) -> Bucket:
        bucket = super()._loaded(number)
        operator: Any = bucket.operator
        operator.own = self._own(number)
        return bucket

    def _call(self, bucket: Bucket) -> BucketCall:
        return FarmBucketCall(self.stage, bucket, self._own(bucket.number))
