"""Which buckets hand windows out in a micro-batch: the driver decides between two batches.

    batch 7 ──▶ load of each bucket ──▶ driver ──▶ a local property of batch 8 ──▶ its tasks

    share     a bucket has more than 1.5 times the mean of all workers, and the gain is worth a stage
    gain      seconds of its windows − (seconds to hand them out + seconds / workers that get some)

What matters is seconds, not rows: a window of ten rows may take 1 µs or 1 s, depending on the function.
Whether windows are handed out is no part of the state, so that it begins and ends with any batch, also with
one that is executed again after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Observation

from sash.runtimes.spark.patterns.handed_windows import BucketLoad, HandedWindows, loads_in
from sash.runtimes.spark.streaming.handing_out_in_tasks import PROPERTY, Handing
from sash.runtimes.spark.streaming.write_outputs import BatchFunction

SKEWED = 1.5
"""A bucket with more than so many times the mean is busy."""
STAGE = 0.1
"""Seconds that a stage more must gain. Half of it is enough to go on."""
FADES = 0.97
"""What is known about handing out counts less with every batch."""


@dataclass
class Sharing:
    """The decision, from the loads of each batch."""

    workers: int
    slots: int
    """How many tasks run at a time."""
    handing: frozenset[int] = frozenset()
    _price: dict[int, float] = field(default_factory=dict)
    """Of handing out, as a part of what computing takes, where that has been seen."""

    def see(self, loads: Mapping[int, BucketLoad]) -> None:
        """Of a batch. A bucket that has closed no window is left as it is."""
        loads = {bucket: load for bucket, load in loads.items() if load.windows}
        mean = sum(load.seconds for load in loads.values()) / self.workers
        for bucket, load in loads.items():
            price = self._price.get(bucket, 0.0) * FADES
            if bucket in self.handing and load.seconds:
                price = load.handing / load.seconds
            self._price[bucket] = price
            shared = load.seconds / min(self.slots, load.windows)
            gain = load.seconds * (1 - price) - shared
            least = STAGE / 2 if bucket in self.handing else STAGE
            if load.seconds > SKEWED * mean and gain > least:
                self.handing |= {bucket}
            else:
                self.handing -= {bucket}


def sharing_out(deliver: BatchFunction, windows: HandedWindows) -> BatchFunction:
    """The same function of `foreachBatch`, in which busy buckets hand their windows out."""
    sharing: Sharing | None = None

    def shared(emitted: DataFrame, batch: int) -> None:
        nonlocal sharing
        context = emitted.sparkSession.sparkContext
        slots = context.defaultParallelism
        sharing = sharing or Sharing(0, 0)
        # Executors come and go.
        sharing.workers, sharing.slots = max(slots, len(windows.buckets)), slots
        handing = Handing(sharing.workers, sharing.handing)
        context.setLocalProperty(PROPERTY, str(handing))
        if handing.buckets:
            emitted = windows.computed(emitted, workers=handing.workers)
        seen = Observation()
        deliver(emitted.observe(seen, windows.loads().alias("loads")), batch)
        sharing.see(loads_in(seen.get["loads"]))

    return shared
