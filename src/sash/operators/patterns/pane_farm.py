"""Pane farm: a pane is folded once, and a window is folded from its panes.

    pane length  g  =  gcd(W, S)
    panes of a key begin where its first window begins, and then every g

No window begins or ends inside a pane. The pane-level query (PLQ) folds the events of each pane, the
window-level query (WLQ) folds runs of panes. A window of W events then costs W / g combines at most,
however many windows share its panes. Order is kept in both, so that the aggregates need not commute.

Panes are from Li, Maier, Tufte, Papadimos, Tucker, 'No pane, no gain' (SIGMOD Record, 2005).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import gcd

import numpy as np

from sash.arrays import Ints
from sash.operators.folding.values import Values
from sash.operators.patterns.folding import Folds, joined
from sash.operators.patterns.thread_pool import Job, Stages
from sash.operators.patterns.two_step_handover import Needed, in_two_steps
from sash.operators.patterns.window_share import WindowShare, blocks
from sash.operators.patterns.worker_pool import WorkerPool
from sash.semantics.window import ContextFreeWindow, IntervalWindow, Window
from sash.semantics.windows import RowsWindow, SlideByTupleWindow, TimeWindow


def pane_length(window: Window) -> int:
    """The longest pane that tiles all windows: in events for a window of rows, else in time.

    >>> from sash.semantics.windows import rows, time
    >>> pane_length(time(10, 4)), pane_length(rows(10, every=4)), pane_length(rows(10, every=12))
    (2, 2, 10)
    """
    match window:
        case RowsWindow():
            # Positions in a private buffer, where windows that do not overlap are neighbours.
            return gcd(window.size, min(window.size, window.slide))
        case TimeWindow():
            return gcd(window.size, window.slide)
        case ContextFreeWindow():
            return window.pane
        case SlideByTupleWindow():
            return 1  # a look-back may begin and end at any event
    raise AssertionError(f"{window} has no panes, and is refused before it comes here")


@dataclass(frozen=True)
class PaneRanges:
    """Panes as ranges of events, and windows as ranges of panes."""

    slot: Ints
    lo: Ints
    hi: Ints
    first: Ints
    last: Ints

    @classmethod
    def of(cls, share: WindowShare) -> PaneRanges:
        """The panes of a private share: all of them are needed."""
        layout, ranges = share.layout, share.ranges
        slot = layout.slot_of_position()
        axis, anchors = _axis(share, slot)
        # Slots without a window need no anchor: they have no events.
        anchor = np.zeros(layout.slots, np.int64)
        anchor[ranges.slot[::-1]] = anchors[::-1]
        pane = (axis - anchor[slot]) // pane_length(share.window)
        begins = np.ones(len(slot), np.bool_)
        begins[1:] = (np.diff(slot) != 0) | (np.diff(pane) != 0)
        lo = np.flatnonzero(begins)
        hi = np.append(lo, len(slot))[1:]
        first, last = np.searchsorted(lo, ranges.lo), np.searchsorted(lo, ranges.hi)
        return cls(slot[lo], lo, hi, first, last)

    def __len__(self) -> int:
        return len(self.lo)


def _axis(share: WindowShare, slot: Ints) -> tuple[Ints, Ints]:
    """Where each event stands on the axis that windows are cut from, and where each window begins on it."""
    if isinstance(share.window, IntervalWindow):
        return share.layout.times, share.ranges.start
    return np.arange(len(slot)), share.ranges.lo


def pane_farm(share: WindowShare, pool: WorkerPool, *, plq: int, wlq: int, level: int = 2) -> Stages:
    """The stages of one pane farm: panes, then windows."""
    return in_two_steps(partial(_Farm.of, share, pool), first=plq, second=wlq, level=level)


@dataclass(frozen=True)
class _Farm:
    """A private share and its panes, and what workers do with them."""

    share: WindowShare
    pool: WorkerPool
    panes: PaneRanges

    @classmethod
    def of(cls, share: WindowShare, pool: WorkerPool) -> _Farm:
        share = share.privately()
        return cls(share, pool, PaneRanges.of(share))

    @property
    def windows(self) -> int:
        return len(self.share)

    def parts(self, workers: int) -> list[Job]:
        # Without a pane there is nothing to fold, but windows still need elements to fold from.
        none = np.empty(0, np.int64)
        nothing = partial(self.pool.lift_and_fold, self.share.layout.rows.slice(0, 0), none, none, none)
        cuts = blocks(len(self.panes), workers)
        return [partial(self.fold_panes, first, last) for first, last in cuts] or [nothing]

    def fold_panes(self, first: int, last: int) -> Folds:
        panes = self.panes
        base, end = int(panes.lo[first]), int(panes.hi[last - 1])
        rows = self.share.layout.rows.slice(base, end - base)
        lo, hi = panes.lo[first:last] - base, panes.hi[first:last] - base
        return self.pool.lift_and_fold(rows, lo, hi, panes.slot[first:last])

    def fold_windows(self, needed: Needed, first: int, last: int) -> Values:
        base, _ = self._span(first, last)
        lo, hi = self.panes.first[first:last] - base, self.panes.last[first:last] - base
        values = self.pool.fold_and_lower(needed(), lo, hi, self.share.ranges.slot[first:last])
        return values.owned_by(self.share.windows[first:last])

    # Between the steps: see `two_step_handover.TwoSteps`.

    def gather(self, parts: list[Folds]) -> Folds:
        return joined(parts, 0, len(self.panes))

    def cut(self, whole: Folds, first: int, last: int) -> Folds:
        return joined([whole], *self._span(first, last))

    def take(self, parts: list[Folds], first: int, last: int) -> Folds:
        return joined(parts, *self._span(first, last))

    def _span(self, first: int, last: int) -> tuple[int, int]:
        return int(self.panes.first[first]), int(self.panes.last[last - 1])
