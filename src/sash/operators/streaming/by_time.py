"""The progress of windows that are ranges of time: the clock alone says which of them are final."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sash.operators.clock_windows import clock_mapping, clock_ranges, numbered
from sash.operators.layout import Layout
from sash.operators.ranges import MISSING, Ranges
from sash.operators.streaming.progress import Moment, Progress, first_or
from sash.operators.windowers import instants, window_ranges
from sash.semantics.windows import CumulateWindow, SessionWindow, SlideByTimeWindow, TimeWindow

Ints = NDArray[np.int64]


class ClockProgress(Progress[TimeWindow | CumulateWindow]):
    """Time and cumulating windows. `next_id` is only needed to tell of empty windows."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": MISSING}
    forgets: ClassVar[bool] = True

    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        if not moment.empty:
            found = window_ranges(self.window, layout, horizon=moment.horizon)
            return found.where(found.closes_at > moment.settled)
        next_id = self._next_ids(layout)
        known = np.flatnonzero(next_id != MISSING)
        until = self.window.mapping(moment.horizon).stop
        slot, number = numbered(np.maximum(until - next_id[known], 0))
        return clock_ranges(self.window, layout, known[slot], next_id[known][slot] + number)

    def _next_ids(self, layout: Layout) -> Ints:
        next_id: Ints = self.remembered["next_id"].copy()
        first, _ = clock_mapping(self.window, layout.times[layout.firsts])
        next_id[layout.sizes > 0] = first_or(next_id, layout, first)
        return next_id

    def move_on(self, layout: Layout, settled: int) -> Ints:
        first_open = self.window.mapping(settled).start
        next_id = self._next_ids(layout)
        # Until its first event is final, an earlier one may come and begin the windows of a slot.
        begun = (self.remembered["next_id"] != MISSING) | (layout.before(settled + 1) > 0)
        self.remembered["next_id"] = np.where(begun, np.maximum(next_id, first_open), MISSING)
        return layout.before(self.window.extent(first_open).start)


class SessionProgress(Progress[SessionWindow]):
    """Sessions are known by their first event, so nothing is remembered of those that are over."""

    forgets: ClassVar[bool] = True

    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        return window_ranges(self.window, layout, horizon=moment.horizon)

    def move_on(self, layout: Layout, settled: int) -> Ints:
        sessions = window_ranges(self.window, layout, horizon=settled)
        over = sessions.where(sessions.closes_at <= settled)
        return np.bincount(over.slot, weights=over.hi - over.lo, minlength=layout.slots).astype(np.int64)


class SlideByTimeProgress(Progress[SlideByTimeWindow]):
    """`next_id` is the first instant that is still to come; the last W events wait for it."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": MISSING}

    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        held = np.flatnonzero(layout.sizes > 0)
        first = first_or(self.remembered["next_id"], layout, self._following(layout.times[layout.firsts]))
        slot, number = numbered(np.maximum(self._following(moment.horizon) - first + 1, 0))
        return instants(self.window, layout, held[slot], first[slot] + number)

    def _following(self, time: Ints | int) -> Ints:
        """The first window whose instant lies after `time`."""
        return np.asarray((time - self.window.origin) // self.window.slide)

    def move_on(self, layout: Layout, settled: int) -> Ints:
        final = layout.before(settled + 1)
        remembered = self.remembered["next_id"]
        begun = (remembered != MISSING) | (final > 0)
        first = np.full(layout.slots, MISSING)
        first[layout.sizes > 0] = self._following(layout.times[layout.firsts])
        first = np.where(remembered == MISSING, first, remembered)
        self.remembered["next_id"] = np.where(begun, np.maximum(first, self._following(settled)), MISSING)
        return np.maximum(final - self.window.size, 0)
