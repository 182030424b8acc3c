"""The log of a ScaleGate: items in one order, which readers go through, each at its own pace.

    places    0 → 1 → 2 → … → end        an item at each, and none yet at the end

A reader holds the place of what it gets next, and a place leads to the one behind it. So a step costs the
same wherever the others are, and what every reader has passed is held by nobody: memory ends by itself.

>>> import numpy as np
>>> log = GateLog()
>>> begin = log.end
>>> for time in (1, 4, 9):
...     log.append(Interleaved(np.array([time]), np.zeros(1, np.int8), (), time, first=0))
>>> log.join(begin, 2)
>>> begin.item.times.tolist(), begin.following.item.times.tolist()
([1, 4], [9])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from sash.operators.order.interleaved import Interleaved, joined


@dataclass(frozen=True, eq=False)
class Control:
    """A message in the stream: every reader meets it at the same place, right behind time γ."""

    message: Any
    gamma: int


@dataclass(eq=False, slots=True)
class LogPlace:
    """Of two places, the one with the higher number is further on."""

    number: int
    item: Interleaved | Control | None = None
    following: LogPlace | None = None
    """None at the end of the log."""


class GateLog:
    """Not for several threads at once: the gate's lock is held."""

    def __init__(self) -> None:
        self.end = LogPlace(0)
        self._empty: LogPlace | None = None
        """The last place, if it holds a run without tuples: only how far time has come."""

    def append(self, item: Interleaved | Control) -> None:
        filled = self.end
        filled.item, filled.following = item, LogPlace(filled.number + 1)
        self.end = filled.following
        self._keep_empty(filled)

    def supersede(self, empty: Interleaved) -> bool:
        """Put a run without tuples in place of the last one, if that has none either and is unread."""
        if self._empty is None:
            return False
        self._empty.item = empty
        return True

    def join(self, place: LogPlace, most: int) -> None:
        """Make one run of those from here on, of at most so many tuples. No reader is further on."""
        runs, held, after = list[Interleaved](), 0, place
        while isinstance(run := after.item, Interleaved) and held + len(run) <= most:
            runs.append(run)
            held += len(run)
            after = cast(LogPlace, after.following)
        if len(runs) > 1:
            place.item, place.following = joined(runs), after
            if after is self.end:
                self._keep_empty(place)

    def _keep_empty(self, last: LogPlace) -> None:
        item = last.item
        self._empty = last if isinstance(item, Interleaved) and not len(item) else None
