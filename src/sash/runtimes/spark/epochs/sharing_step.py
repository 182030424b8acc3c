"""The step of an epoch in which several buckets share the look-backs of hot keys.

    buckets 0 … B−1      of keys, as in every epoch
    buckets B … 2B−1     only where some keys are shared; without state in the first of such epochs, and
                         emptied in the one after the last

What is shared is in the journal of the epoch before, so that an epoch that is executed again computes the
same. Buckets that were left out of an epoch begin again with nothing: no look-back that they answer reaches
back to what they had.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from sash.aggregation.stores.epoch_store import EpochStore
from sash.aggregation.stores.files import Files
from sash.runtimes.spark.epochs.epoch_step import _STAGES, EpochStep, SavedCounts
from sash.runtimes.spark.state.operators_in_state import Bucket
from sash.runtimes.spark.streaming.bucket_call import BucketCall, PackedInput
from sash.runtimes.spark.streaming.hot_keys.key_loads import KeyLoads
from sash.runtimes.spark.streaming.hot_keys.keys_of_batch import SharedKeys
from sash.runtimes.spark.streaming.hot_keys.look_back_buckets import OwnerCall, ShareStage
from sash.runtimes.spark.streaming.window_stage import WindowStage


@dataclass(frozen=True)
class SharingStep(EpochStep):
    """The function of `mapInArrow`."""

    shared: SharedKeys = field(default_factory=SharedKeys)
    served: bool = False
    """Whether the buckets that share keys were there in the epoch before."""
    least: float = 0
    """Rows of a bucket from which on it is looked for hot keys."""

    @property
    def buckets(self) -> tuple[int, ...]:
        count = len(self.stage.buckets)
        return tuple(range(2 * count if self.shared.regimes or self.served else count))

    def _shares(self, bucket: int) -> bool:
        return bucket >= len(self.stage.buckets)

    def _go_back(self, bucket: int, store: EpochStore) -> None:
        if self._shares(bucket) and not (self.served and self.shared.regimes):
            assert isinstance(store, Files)
            store.restart(self.epoch - 1)
        else:
            super()._go_back(bucket, store)

    def _serve(
        self, stage: WindowStage, bucket: int, blocks: list[PackedInput], store: EpochStore,
        newest: list[int], held: SavedCounts, key_loads: list[KeyLoads],
    ) -> tuple[dict[str, pa.Table], dict[str, int]]:  # fmt: skip
        if self._shares(bucket) and not self.shared.regimes:
            return {}, {}
        if self._shares(bucket):
            stage = self._stage_of_shares()
        served = super()._serve(stage, bucket, blocks, store, newest, held, key_loads)
        if self._shares(bucket) and bucket in held:
            held[bucket] = 0, held[bucket][1]  # keys are counted by their owners
        return served

    def _stage_of_shares(self) -> WindowStage:
        name = f"{self.run} shares"
        if name not in _STAGES:
            _STAGES[name] = ShareStage.beside(self.stage)
        return _STAGES[name]

    def _call(self, stage: WindowStage, bucket: Bucket) -> BucketCall:
        if self._shares(bucket.number):
            return super()._call(stage, bucket)
        return OwnerCall(stage, bucket, self.shared, least=self.least)
