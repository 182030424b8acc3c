"""The watermark of a stream that runs in epochs: the journal has how far time has come.

    watermark  =  the least, over the inputs, of  max τ so far − delay

The tasks of a batch learn from the packers' stamps how far it has brought time (`packing.time_of_batch`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sash.runtimes.spark.streaming.watermark_units import Clock


@dataclass(frozen=True)
class EpochClock:
    """The watermark, from how far time has come on each input."""

    clock: Clock
    delays: tuple[int, ...]
    """Of each input, in its unit."""

    def watermark(self, newest: Sequence[int]) -> int:
        """In the query's unit."""
        return self.clock.watermark(self.milliseconds(newest))

    def milliseconds(self, newest: Sequence[int]) -> int:
        """As Spark computes it: whole milliseconds, never below 0, where 0 means that nothing is known. Of
        several inputs it is the least; one that has brought nothing yet holds it back."""
        delays = (int(self.clock.spark_delay(delay).split()[0]) for delay in self.delays)
        each = (time // 1000 - delay for time, delay in zip(newest, delays, strict=True))
        return max(min(each), 0)
