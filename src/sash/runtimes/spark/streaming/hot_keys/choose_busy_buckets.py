"""Which buckets are so busy that they hand windows out in a micro-batch, under functions of whole windows.
The driver decides between two batches.

    batch 7 ──▶ load of each bucket ──▶ driver ──▶ a local property of batch 8 ──▶ its tasks

    share     a bucket has more than 1.5 times the mean of all workers, and the gain is worth a stage
    gain      seconds of its windows − (seconds to hand them out + seconds / workers that get some); no
              stage ends before all seconds / cores

What matters is seconds, not rows: a window of ten rows may take 1 µs or 1 s, depending on the function.
Whether windows are handed out is no part of the state, so that it begins and ends with any batch, also with
one that is executed again after a crash. `hot_keys/__init__.py` names what other queries do with hot keys.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Observation

from sash.runtimes.spark.epochs.decision_records import Decision
from sash.runtimes.spark.epochs.epoch_metering import REMEMBERED
from sash.runtimes.spark.streaming.deliver_outputs_to_sinks import BatchFunction
from sash.runtimes.spark.streaming.hot_keys.handed_out_windows import BucketLoad, HandedWindows, loads_in
from sash.runtimes.spark.streaming.hot_keys.handing_of_batch import PROPERTY, Handing

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

    @property
    def decision(self) -> Decision:
        """For the next batch."""
        if not self.handing:
            return Decision("windows", "buckets compute their own windows", "none was far busier")
        buckets = f"{len(self.handing)} of the buckets {'hand' if len(self.handing) > 1 else 'hands'}"
        return Decision(
            "windows", f"{buckets} windows to {self.workers} workers",
            f"more than {SKEWED} times the mean, and more than {STAGE / 2} s are gained",
        )  # fmt: skip

    def see(self, loads: Mapping[int, BucketLoad]) -> None:
        """Of a batch. A bucket that has closed no window is left as it is."""
        loads = {bucket: load for bucket, load in loads.items() if load.windows}
        total = sum(load.seconds for load in loads.values())
        mean, even = total / self.workers, total / self.slots
        for bucket, load in loads.items():
            price = self._price.get(bucket, 0.0) * FADES
            if bucket in self.handing and load.seconds:
                price = load.handing / load.seconds
            self._price[bucket] = price
            shared = max(even, load.seconds / min(self.slots, load.windows))
            gain = max(even, load.seconds) - shared - price * load.seconds
            least = STAGE / 2 if bucket in self.handing else STAGE
            if load.seconds > SKEWED * mean and gain > least:
                self.handing |= {bucket}
            else:
                self.handing -= {bucket}


class SharingOut:
    """What the driver does with each batch, so that its busy buckets hand their windows out."""

    def __init__(self, windows: HandedWindows) -> None:
        self._windows, self._sharing = windows, Sharing(0, 0)
        self._decided: deque[tuple[int, Decision]] = deque(maxlen=REMEMBERED)
        self._seen = Observation()

    @property
    def decision(self) -> Decision:
        """For the next batch."""
        return self._sharing.decision

    @property
    def hands_out(self) -> bool:
        """Whether a bucket hands windows out in the next batch."""
        return bool(self._sharing.handing)

    def emitted(self, rows: DataFrame, batch: int) -> DataFrame:
        """The rows that leave the step of this batch, with windows computed, wherever. Nothing of it may
        have run."""
        context, windows, sharing = rows.sparkSession.sparkContext, self._windows, self._sharing
        slots = context.defaultParallelism
        # Executors come and go.
        sharing.workers, sharing.slots = max(slots, len(windows.buckets)), slots
        handing = Handing(sharing.workers, sharing.handing)
        self._decided.append((batch, sharing.decision))
        context.setLocalProperty(PROPERTY, str(handing))
        if handing.buckets:
            rows = windows.computed(rows, workers=handing.workers)
        self._seen = Observation()
        return rows.observe(self._seen, windows.loads().alias("loads"))

    def see(self) -> None:
        """Those rows have been delivered."""
        self._sharing.see(loads_in(self._seen.get["loads"]))

    def around(self, deliver: BatchFunction) -> BatchFunction:
        """The same function of `foreachBatch`, in which busy buckets hand their windows out."""

        def delivered(emitted: DataFrame, batch: int) -> None:
            deliver(self.emitted(emitted, batch), batch)
            self.see()

        return delivered

    def decisions_of(self, batch: int) -> tuple[Decision, ...]:
        """What was decided for a batch, if it is remembered."""
        return tuple(decision for number, decision in self._decided if number == batch)[-1:]
