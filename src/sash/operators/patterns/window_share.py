"""A share of the work: windows that belong to one worker, and the events that these windows hold.

Shares are cut, not copied, wherever a worker's events are neighbours: rows and times are then views of one
shared layout. Only a worker whose windows leave out events in between gets a buffer of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from sash.arrays import Ints, Mask
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.layout import Layout
from sash.operators.windows.ranges import Ranges
from sash.semantics.window import Window


@dataclass(frozen=True)
class WindowShare:
    """Windows over a layout. Their positions count from this layout's first event."""

    bound: BoundQuery
    window: Window
    layout: Layout
    ranges: Ranges
    windows: Ints
    """Where each stands in the list of all windows."""
    private: bool = False
    """Whether the layout has no other events than those of its windows."""

    @classmethod
    def whole(cls, bound: BoundQuery, window: Window, layout: Layout, ranges: Ranges) -> WindowShare:
        return cls(bound, window, layout, ranges, np.arange(len(ranges)))

    def __len__(self) -> int:
        return len(self.windows)

    def neighbours(self, first: int, last: int) -> WindowShare:
        """The windows first ≤ i < last and the events between the ends of these, not copied."""
        lo, hi = (int(self.ranges.lo[first]), int(self.ranges.hi[last - 1])) if first < last else (0, 0)
        ranges = _shifted(self.ranges.between(first, last), -lo)
        layout = replace(
            self.layout,
            rows=self.layout.rows.slice(lo, hi - lo),
            times=self.layout.times[lo:hi],
            offsets=np.clip(self.layout.offsets - lo, 0, hi - lo),
        )
        return replace(self, layout=layout, ranges=ranges, windows=self.windows[first:last])

    def where(self, chosen: Mask) -> WindowShare:
        """The chosen windows; all events stay."""
        return replace(
            self,
            ranges=self.ranges.where(chosen),
            windows=self.windows[chosen],
            private=False,
        )

    def privately(self) -> WindowShare:
        """The same windows, and only the events that they hold."""
        if self.private:
            return self
        ranges, size = self.ranges, len(self.layout.times)
        opened = np.bincount(ranges.lo, minlength=size + 1) - np.bincount(ranges.hi, minlength=size + 1)
        held = np.cumsum(opened)[:size] > 0
        if held.all():
            return replace(self, private=True)
        place = np.concatenate(([0], np.cumsum(held)))
        moved = replace(ranges, lo=place[ranges.lo], hi=place[ranges.hi])
        return replace(self, layout=self.layout.where(held), ranges=moved, private=True)


def blocks(count: int, parts: int) -> Iterator[tuple[int, int]]:
    """0 … count cut into at most `parts` runs of nearly equal length; none of them is empty.

    >>> list(blocks(5, 2)), list(blocks(1, 3)), list(blocks(0, 2))
    ([(0, 2), (2, 5)], [(0, 1)], [])
    """
    cuts = [count * part // parts for part in range(parts + 1)]
    return ((first, last) for first, last in pairwise(cuts) if first < last)


def _shifted(ranges: Ranges, by: int) -> Ranges:
    return replace(ranges, lo=ranges.lo + by, hi=ranges.hi + by)
