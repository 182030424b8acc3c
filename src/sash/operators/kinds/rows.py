"""Windows of rows: { i : w·S ≤ i < w·S + W }. An ordinal is all that they need."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sash.arrays import Ints
from sash.operators.kinds.kind_base import Held, KeyMemory, Moment, RangeKind
from sash.operators.windows.numbering import numbered
from sash.operators.windows.ranges import NEVER, Ranges
from sash.semantics.windows import RowsWindow


class RowsKind(RangeKind[RowsWindow]):
    """`next_id` is the first window that is not full of final events."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": 0}

    def ranges(self, held: Held, memory: KeyMemory, moment: Moment) -> Ranges:
        next_id = memory["next_id"]
        # A window that is not full closes with an event that has not arrived.
        windows = self._full(held) if moment.until < NEVER else -(-held.count // self.window.slide)
        slot, number = numbered(np.maximum(windows - next_id, 0))
        w = next_id[slot] + number
        lo = w * self.window.slide
        hi = np.minimum(lo + self.window.size, held.count[slot])
        start, end = held.bounds(slot, lo, hi)
        return Ranges(slot, w, lo, hi, start, end, np.where(hi - lo == self.window.size, end, NEVER))

    def advance(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        memory["next_id"][:] = self._full(held)
        needed: Ints = memory["next_id"] * self.window.slide
        return needed

    def _full(self, held: Held) -> Ints:
        """How many windows of each key are full."""
        return np.maximum((held.count - self.window.size) // self.window.slide + 1, 0)

    def wakes(self, times: Ints) -> Ints:
        return times
