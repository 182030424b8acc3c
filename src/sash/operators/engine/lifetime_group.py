"""Look-backs without end: of a key the fold of all its events is kept, and nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.operators.engine.run_group import RunGroup
from sash.operators.engine.turn import Turn


class LifetimeGroup(RunGroup):
    """One look-back of `.rolling`."""

    def features(self, turn: Turn, *, wanted: bool) -> dict[int, pa.Table]:
        """The values at each final event, in their order, if they are wanted; then the fold grows."""
        windows, ranges = self._listed(turn.slots, turn.final)
        found = {self.track.number: windows.values(ranges).columns} if wanted else {}
        last = ranges.take(np.flatnonzero(np.diff(ranges.slot, append=-1)))
        folds = {name: windows.fold(each, last) for name, each in self.lane.form.aggregates.items()}
        first, newest = windows.runs.first[last.lo], windows.runs.last[last.hi - 1]
        self.lane.open(turn.slots[last.slot], first, newest, folds)
        return found
