"""The look-backs of `.latest` over what is kept: one range per key, which ends now."""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.state.rings import COUNT
from sash.arrays import Ints, Mask
from sash.operators.engine.groups.lifetime_group import LifetimeGroup
from sash.operators.engine.groups.range_group import HeldWindows, RangeGroup
from sash.operators.engine.operator_turn import Turn
from sash.operators.kinds.latest import LatestKind
from sash.operators.windows.ranges import Ranges


class LatestGroup(RangeGroup):
    """All look-backs that have an end."""

    def latest(self, turn: Turn, gone: Mask) -> dict[int, pa.Table]:
        """The values of each look-back of the turn's keys, and last those of no events, which keys that
        are `gone` have too."""
        self.append(turn.final)
        if len(turn.open):
            counts = self.lane.slots.rows[turn.slots, self.lane.word + COUNT]
            self.append(turn.open)
        held = self.lane.held(turn.slots)
        kinds = [cast(LatestKind, track.kind) for track in self.tracks]
        memories = [track.memory(turn.slots) for track in self.tracks]
        lo = [
            np.where(gone, held.count, kind.begins(held, memory, turn.now))
            for kind, memory in zip(kinds, memories, strict=True)
        ]
        ranges = _dealt(lo, held.count)
        values = HeldWindows(self.bound, self.lane, held, dealt=len(kinds)).values(ranges).columns
        if len(turn.open):
            self.lane.keep(turn.slots, counts)
            held = self.lane.held(turn.slots)
        self.advance(turn, held)
        each = len(turn.slots) + 1
        return {track.number: values.slice(at * each, each) for at, track in enumerate(self.tracks)}


class LatestLifetimeGroup(LifetimeGroup):
    """A look-back without end."""

    def latest(self, turn: Turn, gone: Mask) -> dict[int, pa.Table]:
        """The same."""
        windows, listed = self._listed(turn.slots, turn.events)
        ends = windows.runs.offsets[1:]
        ranges = _dealt([np.where(gone, ends, windows.runs.offsets[:-1])], ends)
        found = {self.track.number: windows.values(ranges).columns}
        self.grow(turn, windows, listed)
        return found


def _dealt(lo: list[Ints], hi: Ints) -> Ranges:
    """A range of each key and look-back, those of one key together; then one without elements for each
    look-back."""
    each = len(lo)
    begins, ends = np.stack(lo, axis=1).ravel(), np.repeat(hi, each)
    slot = np.repeat(np.arange(len(hi)), each)
    nothing = np.full(each, hi[-1])
    begins, ends = np.concatenate([begins, nothing]), np.concatenate([ends, nothing])
    slot = np.concatenate([slot, np.full(each, len(hi) - 1)])
    return Ranges(slot, slot, begins, ends, begins, ends, ends)
