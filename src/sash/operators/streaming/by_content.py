"""The progress of windows that a user's function cuts. A policy goes through the events one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sash.operators.layout import Layout
from sash.operators.ranges import Ranges
from sash.operators.streaming.progress import Moment, Progress
from sash.operators.windowers import misfits_of, window_ranges
from sash.semantics.event import Event
from sash.semantics.window import Extent, spanned
from sash.semantics.windows import PolicyWindow, PunctuatedWindow, ThresholdWindow

Ints = NDArray[np.int64]


class RunProgress(Progress[ThresholdWindow | PunctuatedWindow]):
    """Threshold and punctuated windows: `next_id` is the number of the windows that are over."""

    memory: ClassVar[dict[str, int | float]] = {"next_id": 0}
    _seen: tuple[Layout, Ranges] | None = None

    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        found = window_ranges(self.window, layout, horizon=moment.horizon)
        self._seen = layout, found
        return found.numbered_from(self.remembered["next_id"])

    def move_on(self, layout: Layout, settled: int) -> Ints:
        final = layout.before(settled + 1)
        # The predicate was asked about these events when their windows were listed.
        known, found = self._seen or (None, None)
        self._seen = None
        if known is not layout or found is None:
            found = window_ranges(self.window, layout, horizon=settled)
        over = found.closes_at <= settled
        self.remembered["next_id"] = self.remembered["next_id"] + np.bincount(
            found.slot[over], minlength=layout.slots
        )
        gone = final.copy()
        still = found.where(~over)
        # The first window that goes on holds its events back; it comes first, because ends never decrease.
        slots, first = np.unique(still.slot, return_index=True)
        held_from = still.lo[first] - layout.offsets[slots]
        gone[slots] = np.minimum(gone[slots], held_from)
        return gone


class PolicyProgress(Progress[PolicyWindow]):
    """What is held is the window itself and what came after it: `inserted` events have been through the
    policy, the `inside` oldest of those that are held among them."""

    memory: ClassVar[dict[str, int | float]] = {"inserted": 0, "inside": 0}

    def misfits(self, layout: Layout) -> dict[int, str]:
        return misfits_of(self.window, layout)

    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        extents = (
            (slot, base, extent)
            for slot, (base, events) in enumerate(layout.events())
            for extent in self._extents(slot, events, empty=moment.empty)
        )
        return Ranges.of(extents)

    def _extents(self, slot: int, events: list[Event], *, empty: bool) -> Iterator[Extent]:
        for inserted, lo, hi in self._insertions(slot, events, len(events)):
            w, rest = divmod(inserted, self.window.slide)
            if rest == 0 and (lo < hi or empty):
                yield spanned(w - 1, events, lo, hi, closes_at=events[hi - 1].time)

    def _insertions(self, slot: int, events: list[Event], until: int) -> Iterator[tuple[int, int, int]]:
        """(number of the insertion, lo, hi) after each insertion that has not been through the policy."""
        inserted, inside = (int(self.remembered[name][slot]) for name in ("inserted", "inside"))
        lo = 0
        for hi in range(inside + 1, until + 1):
            lo += self.window.evicted(events[lo:hi])
            inserted += 1
            yield inserted, lo, hi

    def move_on(self, layout: Layout, settled: int) -> Ints:
        gone = np.zeros(layout.slots, np.int64)
        final = layout.before(settled + 1)
        for slot, (_, events) in enumerate(layout.events()):
            for inserted, lo, hi in self._insertions(slot, events, int(final[slot])):
                self.remembered["inserted"][slot] = inserted
                self.remembered["inside"][slot] = hi - lo
                gone[slot] = lo
        return gone
