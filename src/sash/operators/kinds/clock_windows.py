"""Time windows { origin + w·S ≤ τ < origin + w·S + W }, and cumulating ones, which grow by steps to W."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.windows import clock
from sash.arrays import Ints, Mask
from sash.operators.kinds.kind_base import Held, KeyMemory, Moment, RangeKind
from sash.operators.windows.ranges import MISSING, NEVER, Ranges
from sash.semantics.windows import CumulateWindow, TimeWindow

FARTHEST = 2**62
"""No window of an event has an identifier beyond: its time is within 2⁶¹."""


def clock_mapping(window: TimeWindow | CumulateWindow, times: Ints) -> tuple[Ints, Ints]:
    """M(τ) = [first … last], the windows that hold an event with time τ: `mapping`, on columns."""
    offset = times - window.origin
    if isinstance(window, TimeWindow):
        return (offset - window.size) // window.slide + 1, offset // window.slide
    block, offset = np.divmod(offset, window.size)
    return block * window.steps + offset // window.step, (block + 1) * window.steps - 1


class ClockKind(RangeKind[TimeWindow | CumulateWindow]):
    """`next_id` is only needed to report empty windows."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": MISSING}
    forgets: ClassVar[bool] = True

    def ranges(self, held: Held, memory: KeyMemory, moment: Moment) -> Ranges:
        some = held.head < held.count
        oldest, newest = self._mapping_of_ends(held, some)
        if moment.empty:
            first = np.where(memory["next_id"] == MISSING, oldest, memory["next_id"])
            last = np.full(len(held), _within(self.window.mapping(moment.horizon).stop - 1))
            some = some | (memory["next_id"] != MISSING)
        else:
            first, last = np.maximum(oldest, self._first_open(moment.settled)), newest
        if moment.until < FARTHEST:
            last = np.minimum(last, self._first_open(moment.until) - 1)
        return self.listed(held, first, np.where(some, last, first - 1), empty=moment.empty)

    def listed(self, held: Held, first: Ints, last: Ints, *, empty: bool) -> Ranges:
        """The windows first[k] ≤ w ≤ last[k] of each key that hold an element; with `empty`, all."""
        window = self.window
        slide, step = (window.slide, 0) if isinstance(window, TimeWindow) else (0, window.step)
        room = 4 * len(held) + 64
        while True:
            slot, w, lo, hi = (np.empty(room, np.int64) for _ in range(4))
            found = kernel_of(clock.clock_windows)(
                held.times, held.base, held.mask, held.head, held.count, first, last,
                window.size, slide, window.origin, step, empty, slot, w, lo, hi,
            )  # fmt: skip
            if found <= room:
                break
            room = found
        slot, w, lo, hi = (column[:found] for column in (slot, w, lo, hi))
        start, end = self._bounds(w)
        return Ranges(slot, w, lo, hi, start, end, closes_at=end)

    def extents(self, held: Held, slot: Ints, w: Ints) -> Ranges:
        """Window w[i] of key slot[i], whether or not it holds an element."""
        start, end = self._bounds(w)
        return Ranges(slot, w, held.cut(slot, start), held.cut(slot, end), start, end, closes_at=end)

    def _bounds(self, w: Ints) -> tuple[Ints, Ints]:
        window = self.window
        if isinstance(window, TimeWindow):
            start: Ints = window.origin + w * window.slide
            return start, start + window.size
        start = window.origin + w // window.steps * window.size
        return start, start + (w % window.steps + 1) * window.step

    def _mapping_of_ends(self, held: Held, some: Mask) -> tuple[Ints, Ints]:
        """The first window of the oldest element of each key, and the last window of the newest."""
        oldest, newest = np.zeros(len(held), np.int64), np.full(len(held), -1)
        keys = np.flatnonzero(some)
        oldest[keys] = clock_mapping(self.window, held.time_at(keys, held.head[keys]))[0]
        newest[keys] = clock_mapping(self.window, held.time_at(keys, held.count[keys] - 1))[1]
        return oldest, newest

    def _first_open(self, time: int) -> int:
        """The first window that ends after `time`."""
        return _within(self.window.mapping(time).start)

    def ends_after(self, time: int) -> int:
        """When the first window ends that is open at `time`, whether or not it holds an element."""
        _, end = self._bounds(np.array([self._first_open(time)]))
        return int(end[0])

    def advance(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        some = held.head < held.count
        first_open = self._first_open(settled)
        oldest, _ = self._mapping_of_ends(held, some)
        known = memory["next_id"] != MISSING
        begun = np.where(known, memory["next_id"], oldest)
        memory["next_id"][:] = np.where(known | some, np.maximum(begun, first_open), MISSING)
        return held.before(_within(self.window.extent(first_open).start))

    def next_close(self, held: Held, memory: KeyMemory, now: int) -> Ints:
        """The end of the first window that is open and holds something."""
        first_open = np.full(len(held), self._first_open(now))
        keys = np.arange(len(held))
        start, _ = self._bounds(first_open)
        at = held.cut(keys, start)
        closes = np.full(len(held), NEVER)
        some = np.flatnonzero(at < held.count)
        first, last = clock_mapping(self.window, held.time_at(some, at[some]))
        w = np.maximum(first, first_open[some])
        _, end = self._bounds(w)
        closes[some] = np.where(w <= last, end, self._after_gap(held, some, at[some], w))
        return closes

    def _after_gap(self, held: Held, keys: Ints, at: Ints, w: Ints) -> Ints:
        """An element that lies between two windows is in none: whatever comes next wakes early enough."""
        _, end = self._bounds(w)
        return np.where(at + 1 < held.count[keys], end, NEVER)

    def wakes(self, times: Ints) -> Ints:
        first, last = clock_mapping(self.window, times)
        _, end = self._bounds(first)
        return np.where(first <= last, end, NEVER)


def _within(number: int) -> int:
    return max(-FARTHEST, min(FARTHEST, number))
