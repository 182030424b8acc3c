"""Windows of time that slide by events: at event r = (w + 1)·S − 1, { τ_r − W < τ ≤ τ_r }."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sash.arrays import Ints
from sash.operators.kinds.kind_base import Held, KeyMemory, Moment, RangeKind
from sash.operators.windows.numbering import numbered
from sash.operators.windows.ranges import NEVER, Ranges
from sash.semantics.windows import SlideByTupleWindow


class SlideByTupleKind(RangeKind[SlideByTupleWindow]):
    """`next_id` is the first window whose trigger may still be joined by an event of its own time; `lo` is
    where the windows to come begin at the earliest."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": 0, "lo": 0}

    def ranges(self, held: Held, memory: KeyMemory, moment: Moment) -> Ranges:
        next_id = memory["next_id"]
        slot, number = numbered(np.maximum(held.count // self.window.slide - next_id, 0))
        w = next_id[slot] + number
        ordinals = (w + 1) * self.window.slide - 1
        trigger = held.time_at(slot, ordinals)
        lo = held.cut(slot, trigger - self.window.size + 1, since=memory["lo"][slot])
        hi = held.cut(slot, trigger + 1, since=ordinals)
        start, end = held.bounds(slot, lo, hi)
        return Ranges(slot, w, lo, hi, start, end, closes_at=trigger + 1)

    def advance(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        memory["next_id"][:] = held.before(settled) // self.window.slide
        return self._needed(held, memory, settled)

    def _needed(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        # The next trigger lies at `settled` or later, so it looks back no further than this.
        memory["lo"][:] = held.before(settled - self.window.size + 1, since=memory["lo"])
        needed: Ints = memory["lo"].copy()
        return needed

    def next_close(self, held: Held, memory: KeyMemory, now: int) -> Ints:
        """A trigger whose own time has just been reached closes with the next instant."""
        closes = np.full(len(held), NEVER)
        trigger = (memory["next_id"] + 1) * self.window.slide - 1
        waiting = np.flatnonzero(trigger < held.count)
        closes[waiting] = held.time_at(waiting, trigger[waiting]) + 1
        return closes

    def wakes(self, times: Ints) -> Ints:
        return times + 1

    def expires(self, newest: Ints) -> Ints:
        expiry: Ints = newest + self.window.size
        return expiry
