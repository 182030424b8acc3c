"""The progress of windows that count events: `base` is how many events of a slot are gone."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sash.aggregation.kernels.cuts import cut
from sash.operators.clock_windows import numbered
from sash.operators.layout import Layout
from sash.operators.ranges import NEVER, Ranges, event_bounds
from sash.operators.streaming.progress import Moment, Progress
from sash.semantics.windows import CountWindow, SlideByTupleWindow

Ints = NDArray[np.int64]


class CountProgress(Progress[CountWindow]):
    """`next_id` is the first window that is not full of final events."""

    memory: ClassVar[dict[str, int | float]] = {"base": 0, "next_id": 0}

    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        base, next_id = self.remembered["base"], self.remembered["next_id"]
        windows = -(-(base + layout.sizes) // self.window.slide)
        slot, number = numbered(np.maximum(windows - next_id, 0))
        w = next_id[slot] + number
        lo = layout.offsets[slot] + w * self.window.slide - base[slot]
        hi = np.minimum(lo + self.window.size, layout.offsets[slot + 1])
        start, end = event_bounds(layout.times, lo, hi)
        return Ranges(slot, w, lo, hi, start, end, np.where(hi - lo == self.window.size, end, NEVER))

    def move_on(self, layout: Layout, settled: int) -> Ints:
        base, final = self.remembered["base"], layout.before(settled + 1)
        full = np.maximum((base + final - self.window.size) // self.window.slide + 1, 0)
        gone: Ints = np.clip(full * self.window.slide - base, 0, final)
        self.remembered["next_id"] = full
        self.remembered["base"] = base + gone
        return gone


class SlideByTupleProgress(Progress[SlideByTupleWindow]):
    """`next_id` is the first window whose trigger may still be joined by an event of its own time."""

    memory: ClassVar[dict[str, int | float]] = {"base": 0, "next_id": 0}

    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        base, next_id = self.remembered["base"], self.remembered["next_id"]
        slot, number = numbered(np.maximum((base + layout.sizes) // self.window.slide - next_id, 0))
        w = next_id[slot] + number
        trigger = layout.times[self.triggers(layout, slot, w)]
        lo = cut(layout.times, layout.offsets, slot, trigger - self.window.size + 1)
        hi = cut(layout.times, layout.offsets, slot, trigger + 1)
        start, end = event_bounds(layout.times, lo, hi)
        return Ranges(slot, w, lo, hi, start, end, closes_at=trigger + 1)

    def triggers(self, layout: Layout, slot: Ints, w: Ints) -> Ints:
        """The positions of the events that trigger these windows."""
        base: Ints = layout.offsets[slot] - self.remembered["base"][slot]
        return base + (w + 1) * self.window.slide - 1

    def move_on(self, layout: Layout, settled: int) -> Ints:
        base = self.remembered["base"]
        self.remembered["next_id"] = (base + layout.before(settled)) // self.window.slide
        # The next trigger lies at `settled` or later, so it looks back no further than this.
        gone = layout.before(settled - self.window.size + 1)
        self.remembered["base"] = base + gone
        return gone
