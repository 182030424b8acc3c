"""Sessions: maximal chains of events whose neighbours are at most `gap` apart.

On a stream an open session is one running fold; `engine/groups/session_and_growing_group.py` joins it with
new events.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sash.arrays import Ints
from sash.operators.kinds.kind_base import GrowingKind, Runs
from sash.operators.windows.ranges import Ranges
from sash.semantics.windows import SessionWindow


class SessionKind(GrowingKind[SessionWindow]):
    """Sessions are known by their first event, so nothing is remembered of those that are over."""

    forgets: ClassVar[bool] = True
    numbered: ClassVar[bool] = False
    closes_by_time: ClassVar[bool] = True

    def runs(self, runs: Runs) -> Ranges:
        begins = runs.begins
        begins[1:] |= runs.first[1:] - runs.last[:-1] > self.window.reach
        lo = np.flatnonzero(begins)
        hi = np.append(lo[1:], len(begins))
        start, last = runs.first[lo], runs.last[hi - 1]
        closes_at = last + self.window.patience
        return Ranges(runs.key_of(lo), start, lo, hi, start, last + self.window.gap, closes_at)

    def wakes(self, times: Ints) -> Ints:
        after: Ints = times + self.window.patience
        return after
