"""The last W events, every S of time: at T = origin + (w + 1)·S, the last W elements with τ < T."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sash.arrays import Ints
from sash.operators.kinds.kind_base import Held, KeyMemory, Moment, RangeKind
from sash.operators.windows.numbering import numbered
from sash.operators.windows.ranges import MISSING, NEVER, Ranges
from sash.semantics.windows import SlideByTimeWindow


class SlideByTimeKind(RangeKind[SlideByTimeWindow]):
    """`next_id` is the first instant that is still to come; the last W events wait for it."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": MISSING}
    follows_horizon: ClassVar[bool] = True

    def ranges(self, held: Held, memory: KeyMemory, moment: Moment) -> Ranges:
        first = self._first(held, memory)
        until = int(self._following(moment.horizon))
        counts = np.where(first == MISSING, 0, np.maximum(until - first + 1, 0))
        slot, number = numbered(counts)
        w = first[slot] + number
        instant = self.window.origin + (w + 1) * self.window.slide
        hi = held.cut(slot, instant)
        lo = np.maximum(held.head[slot], hi - self.window.size)
        start, _ = held.bounds(slot, lo, hi)
        return Ranges(slot, w, lo, hi, start, instant, closes_at=instant)

    def _first(self, held: Held, memory: KeyMemory) -> Ints:
        """The first instant of each key that is not final; MISSING for a key without events."""
        first: Ints = memory["next_id"].copy()
        new = np.flatnonzero((first == MISSING) & (held.head < held.count))
        first[new] = self._following(held.time_at(new, held.head[new]))
        first[held.head == held.count] = MISSING
        return first

    def _following(self, time: Ints | int) -> Ints:
        """The first window whose instant lies after `time`."""
        return np.asarray((time - self.window.origin) // self.window.slide)

    def advance(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        first = self._first(held, memory)
        following = np.maximum(first, self._following(settled))
        memory["next_id"][:] = np.where(first == MISSING, memory["next_id"], following)
        return np.maximum(held.count - self.window.size, 0)

    def next_close(self, held: Held, memory: KeyMemory, now: int) -> Ints:
        first = self._first(held, memory)
        instant = self.window.origin + (np.maximum(first, self._following(now)) + 1) * self.window.slide
        return np.where(first == MISSING, NEVER, instant)

    def wakes(self, times: Ints) -> Ints:
        following: Ints = self.window.origin + (self._following(times) + 1) * self.window.slide
        return following
