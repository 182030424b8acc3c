"""The buckets of a query in a batch that shares look-backs of hot keys: what each of them computes.

    owner     as in any other batch, but for look-backs that others compute, whose rows are left out
    share     look-backs of its own panes, over rows and elements (`operators/engine/shared_look_backs.py`)

Each event is counted once, by its owner where that gets it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sash.arrays import Ints, Mask
from sash.errors import DataError
from sash.operators.columns.times import to_integers
from sash.operators.engine.shared_look_backs import SharedLookBacks
from sash.runtimes.spark.packing.blocks import without_nulls
from sash.runtimes.spark.packing.columns import ORDINAL, ORIGINAL
from sash.runtimes.spark.packing.outputs import REPORTS
from sash.runtimes.spark.state.operators_in_state import Bucket
from sash.runtimes.spark.streaming.bucket_call import BucketCall
from sash.runtimes.spark.streaming.hot_keys.key_loads import loads_of, sampled
from sash.runtimes.spark.streaming.hot_keys.keys_of_batch import SharedKeys, hashes_of
from sash.runtimes.spark.streaming.hot_keys.look_back_packer import share_block
from sash.runtimes.spark.streaming.window_stage import WindowStage


class OwnerCall(BucketCall):
    """Of a bucket of keys."""

    def __init__(self, stage: WindowStage, bucket: Bucket, shared: SharedKeys, *, least: int) -> None:
        super().__init__(stage, bucket)
        self._least = least
        self._passed_on = [regime for regime in shared.regimes if regime.ends]

    def insert(self, rows: pa.Table) -> None:
        """Where there are so many rows that one key may be worth sharing, some of them are looked at."""
        super().insert(rows)
        if rows.num_rows >= self._least:
            bound = self._stage.bound
            some, weight = sampled(rows.num_rows)
            chosen = rows.rename_columns([*self._stage.columns, ORDINAL]).take(pa.array(some))
            self.key_loads = loads_of(hashes_of(chosen, bound.keys), _times(chosen, bound.time), weight)

    def _take(self, output: str, part: pa.Table) -> None:
        if output == REPORTS and self._passed_on and part.num_rows:
            part = part.filter(pa.array(~self._of_others(part)))
        super()._take(output, part)

    def _of_others(self, rows: pa.Table) -> Mask:
        bound, elsewhere = self._stage.bound, np.zeros(rows.num_rows, np.bool_)
        keys, times = hashes_of(rows, bound.keys), to_integers(rows[bound.time])
        for regime in self._passed_on:
            elsewhere |= (keys == regime.key) & regime.of_workers(times)
        return elsewhere


class ShareCall(BucketCall):
    """Of a bucket that shares hot keys with others."""

    def insert(self, rows: pa.Table) -> None:
        original, ordinals = rows[ORIGINAL].to_numpy(), rows[ORDINAL].to_numpy()
        arrived = rows.drop_columns([ORDINAL, ORIGINAL]).rename_columns(self._stage.columns)
        bound = self._stage.bound
        mine = arrived.filter(rows[ORIGINAL])
        self.key_loads = loads_of(hashes_of(mine, bound.keys), _times(mine, bound.time))
        self._counts["events"] += int(original.sum())
        late = self._bucket.operator.insert(arrived, ordinals)
        if late.num_rows:
            raise DataError(
                "rows were shared by another watermark than that of their batch: start it again"
            )

    @property
    def _counts_keys(self) -> bool:
        return False


@dataclass(frozen=True)
class ShareStage(WindowStage):
    """The step of such buckets."""

    call: ClassVar[type[BucketCall]] = ShareCall

    @classmethod
    def beside(cls, stage: WindowStage) -> ShareStage:
        """As many of them as the query has buckets, with the numbers that follow."""
        assert stage.look_backs is not None, "others do not share"
        count = len(stage.buckets)
        return cls(
            stage.look_backs.over_elements, stage.outputs, tuple(range(count, 2 * count)), stage.clock,
            stage.derived, SharedLookBacks, look_backs=stage.look_backs,
        )  # fmt: skip

    @cached_property
    def block(self) -> pa.Schema:
        assert self.look_backs is not None
        return share_block(self.look_backs)


def _times(rows: pa.Table, time: str) -> Ints:
    return to_integers(without_nulls(rows[time]))
