"""A look-back without end, of `.rolling`: at every event, all events of its key up to its own time."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from sash.arrays import Ints
from sash.operators.kinds.kind_base import GrowingKind, Runs
from sash.operators.windows.ranges import Ranges
from sash.semantics.windows import SlideByTupleWindow


class LifetimeKind(GrowingKind[SlideByTupleWindow]):
    """Its windows never close: each is the one before it, grown. So the fold of all events is enough."""

    numbered: ClassVar[bool] = False

    def runs(self, runs: Runs) -> Ranges:
        """One window per event that is new, in their order."""
        position = np.flatnonzero(~runs.carried)
        key, trigger = runs.key_of(position), runs.last[position]
        # Events of one time are in the windows of each other.
        ends_time = np.append((np.diff(runs.last) != 0) | runs.begins[1:], True)
        ends = np.flatnonzero(ends_time) + 1
        hi = ends[np.searchsorted(ends, position, side="right")]
        return Ranges(key, position, runs.offsets[key], hi, trigger, trigger, trigger + 1)

    def wakes(self, times: Ints) -> Ints:
        return times + 1
