"""Look-backs without end: of a key the fold of all its events is kept, and nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.engine.groups.session_and_growing_group import FoldedWindows, RunGroup
from sash.operators.engine.operator_turn import Turn
from sash.operators.windows.ranges import Ranges


class LifetimeGroup(RunGroup):
    """One look-back of `.rolling`."""

    def features(self, turn: Turn, wanted: Ints) -> dict[int, pa.Table]:
        """The values at these of the turn's events; then the fold grows by those that are final."""
        windows, ranges = self._listed(turn.slots, turn.events)
        found = {self.track.number: windows.values(ranges.take(wanted)).columns} if len(wanted) else {}
        self.grow(turn, windows, ranges)
        return found

    def grow(self, turn: Turn, windows: FoldedWindows, ranges: Ranges) -> None:
        """By the events that are final; the windows and ranges are those of all of the turn's events."""
        if len(turn.open):
            windows, ranges = self._listed(turn.slots, turn.final)
        last = ranges.take(np.flatnonzero(np.diff(ranges.slot, append=-1)))
        folds = {name: windows.fold(each, last) for name, each in self.lane.form.aggregates.items()}
        first, newest = windows.runs.first[last.lo], windows.runs.last[last.hi - 1]
        self.lane.open(turn.slots[last.slot], first, newest, folds)
