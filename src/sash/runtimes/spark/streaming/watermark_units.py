"""Spark's watermark in the units of a query.

    watermark of a batch  =  max τ of the batches before it − delay,   in milliseconds since 1970

Spark keeps one watermark for a whole streaming query, rounded down to a millisecond, and 0 until it knows
better. Timestamps are microseconds. Integer times count one tick a millisecond and are shifted, so that
those before 0 have a watermark too; timestamps are not, because people read the watermark in Spark's
progress reports: windows that end before 1970 therefore wait until the watermark passes it.

A stream that comes with a watermark keeps it (see `upstream_watermark`); what is given as a further delay
is then taken off here.
"""

from __future__ import annotations

from dataclasses import dataclass

from sash.arrays import Ints
from sash.errors import DataError
from sash.operators.columns.times import FARTHEST

TICKS_SHIFT = 2**52
"""Of integer times: the farthest that fits, twice, into the microseconds of a Spark timestamp."""

UNKNOWN = -FARTHEST
"""The watermark before there is one: every event is on time, and time closes nothing."""


@dataclass(frozen=True)
class Clock:
    """How milliseconds of Spark and times of a query translate into each other."""

    scale: int
    """Units of the query in a millisecond."""
    shift: int
    """What Spark's milliseconds are ahead of the query's."""
    delay: int = 0
    """How far the query's watermark stays behind Spark's, in the query's unit."""

    @classmethod
    def of(cls, *, ticks: bool, delay: int = 0) -> Clock:
        return cls(1, TICKS_SHIFT, delay) if ticks else cls(1000, 0, delay)

    def watermark(self, milliseconds: int) -> int:
        """The query's watermark when Spark's is this.

        >>> Clock.of(ticks=False, delay=500).watermark(2)
        1500
        """
        if milliseconds <= 0:
            return UNKNOWN
        return (milliseconds - self.shift) * self.scale - self.delay

    def timer(self, time: int) -> int:
        """The least watermark of Spark's at which the query's has reached `time`.

        >>> Clock.of(ticks=False).timer(1001)
        2
        """
        return max(-((time + self.delay) // -self.scale) + self.shift, 1)

    def stamp(self, times: Ints) -> int:
        """The microseconds of the timestamp by which Spark knows how far these times have come."""
        if not len(times):
            return 0
        newest = int(times.max())
        if self.shift and not -self.shift <= newest <= self.shift:
            raise DataError(
                f"integer times of a stream must lie within ±2**52, as Spark's clock does; got {newest}"
            )
        return (newest + self.shift) * 1000 // self.scale

    def time(self, microseconds: int) -> int:
        """The time of such a stamp.

        >>> import numpy as np
        >>> clock = Clock.of(ticks=True)
        >>> clock.time(clock.stamp(np.array([-7, 5])))
        5
        """
        return microseconds * self.scale // 1000 - self.shift

    def spark_delay(self, delay: int) -> str:
        """A delay in the query's unit as Spark reads it: whole milliseconds, rounded up."""
        return f"{-(delay // -self.scale)} milliseconds"
