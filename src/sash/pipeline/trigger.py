"""When a streaming pipeline takes what has arrived.

    available_now                all that is there, in as many micro-batches as it needs; then it ends
    once                         all that is there, in one micro-batch; then it ends
    processing_time <duration>   what has arrived, at this interval, until it is stopped

After the last micro-batch of `available_now` Spark moves the watermark once more, which closes windows;
`once` leaves that to the next run.

>>> Trigger.parse("processing_time 5 seconds", "trigger").spark
{'processingTime': '5000000 microseconds'}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sash.errors import ArgumentError
from sash.semantics import durations
from sash.semantics.durations import Duration, Unit

_EXPECTED = "'available_now', 'once' or 'processing_time <duration>'"


@dataclass(frozen=True)
class Trigger:
    """When a micro-batch begins."""

    word: str
    every: Duration | None = None

    @classmethod
    def parse(cls, given: Any, argument: str) -> Trigger:
        word, _, rest = given.strip().partition(" ") if isinstance(given, str) else ("", "", "")
        if word in ("available_now", "once") and not rest:
            return cls(word)
        if word != "processing_time" or not rest:
            raise ArgumentError(argument, given, _EXPECTED)
        every = durations.positive(rest, argument)
        assert every.unit is Unit.MICROSECONDS, "words are never ticks"
        return cls(word, every)

    @property
    def bounded(self) -> bool:
        """Whether it ends by itself."""
        return self.every is None

    @property
    def spark(self) -> dict[str, Any]:
        """The keyword of `DataStreamWriter.trigger`."""
        if self.every is not None:
            return {"processingTime": f"{self.every.length} microseconds"}
        return {"availableNow": True} if self.word == "available_now" else {"once": True}


AVAILABLE_NOW = Trigger("available_now")
