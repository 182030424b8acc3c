"""When a query over a stream takes what has arrived: the words of `start(trigger=…)` and pipeline files.

    available now                all that is there, in as many micro-batches as it needs; then it ends
    once                         all that is there, in one micro-batch; then it ends
    5 seconds                    what has arrived, at this interval, until it is stopped

`available-now`, `available_now` and `availableNow` mean the first, and `processing_time 5 seconds` the
last, as Spark calls them. After the last micro-batch of `available now` Spark moves the watermark once
more, which closes windows; `once` leaves that to the next run.

>>> Trigger.parse("5 seconds", "trigger").spark
{'processingTime': '5000000 microseconds'}
>>> Trigger.parse("availableNow", "trigger").spark
{'availableNow': True}
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sash.errors import ArgumentError, DurationError, did_you_mean
from sash.semantics import durations
from sash.semantics.durations import Duration, DurationLike, Unit

_EXPECTED = "'available now', 'once' or a duration such as '5 seconds'"
_PROCESSING_TIME = re.compile(r"^\s*processing[ _]?time(\s+|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Trigger:
    """When a micro-batch begins."""

    word: str
    every: Duration | None = None

    @classmethod
    def parse(cls, given: Any, argument: str) -> Trigger:
        words = given
        if isinstance(given, str):
            known = _WORDS.get(re.sub(r"[\s_-]", "", given).lower())
            if known is not None:
                return known
            words = _PROCESSING_TIME.sub("", given)
        try:
            every = durations.parse(words, argument)
        except DurationError as error:
            near = did_you_mean(given, ["available now", "once"])
            raise ArgumentError(argument, given, _EXPECTED, hint=near or error.hint) from None
        if every.unit is not Unit.MICROSECONDS:
            raise ArgumentError(argument, given, _EXPECTED)
        return cls("processing time", durations.positive(words, argument))

    @property
    def bounded(self) -> bool:
        """Whether it ends by itself."""
        return self.every is None

    @property
    def given(self) -> DurationLike:
        """As `start(trigger=…)` takes it."""
        return self.word if self.every is None else timedelta(microseconds=self.every.length)

    @property
    def spark(self) -> dict[str, Any]:
        """The keyword of `DataStreamWriter.trigger`."""
        if self.every is not None:
            return {"processingTime": f"{self.every.length} microseconds"}
        return {"availableNow": True} if self == AVAILABLE_NOW else {"once": True}


AVAILABLE_NOW = Trigger("available now")
ONCE = Trigger("once")
_WORDS = {"availablenow": AVAILABLE_NOW, "once": ONCE}
