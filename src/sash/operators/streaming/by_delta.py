"""The progress of delta windows, on columns wherever 64 bits hold what Python would compute."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from sash.aggregation.kernels.cuts import cut
from sash.operators.deltas import Deltas, Memory, misfits
from sash.operators.layout import Layout
from sash.operators.ranges import Ranges
from sash.operators.streaming.delta_by_definition import DeltaByDefinition, look_back
from sash.operators.streaming.progress import Moment

Ints = NDArray[np.int64]


class DeltaProgress(DeltaByDefinition):
    """Each batch chooses anew: what is remembered is the same either way."""

    def misfits(self, layout: Layout) -> dict[int, str]:
        found = misfits(self.window, layout, self.remembered["floor"])
        return super().misfits(layout) if found is None else found

    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        deltas = self._deltas(layout)
        return super().ranges(layout, moment) if deltas is None else deltas.ranges(empty=moment.empty)

    def move_on(self, layout: Layout, settled: int) -> Ints:
        deltas = self._deltas(layout)
        if deltas is None:
            return super().move_on(layout, settled)
        final = layout.before(settled + 1)
        self._remember_triggers(deltas, final)
        return self._let_go(deltas, final)

    def _deltas(self, layout: Layout) -> Deltas | None:
        memory = Memory(**{field.name: self.remembered[field.name] for field in fields(Memory)})
        return Deltas.of(self.window, layout, memory)

    def _remember_triggers(self, deltas: Deltas, final: Ints) -> None:
        slot, w, position = deltas.triggers(final)
        last = np.flatnonzero(np.diff(slot, append=-1))
        self.remembered["next_id"][slot[last]] = w[last] + 1
        self.remembered["trigger"][slot[last]] = deltas.values[position[last]]
        self.remembered["open"][slot[last]] = self.window.closed == "right"

    def _let_go(self, deltas: Deltas, final: Ints) -> Ints:
        values, offsets = deltas.values, deltas.layout.offsets
        some = np.flatnonzero(final)
        trigger, top = self.remembered["trigger"][some], values[offsets[some] + final[some] - 1]
        self.remembered["open"][some[top > trigger]] = 0
        # The next trigger is above `trigger + every`, and not below what has been seen.
        following = np.maximum(trigger + deltas.slide, top)
        reach = np.where(self.remembered["open"][some], trigger, following).astype(np.float64)
        needed = look_back(self.window, reach, trigger.astype(np.float64))
        gone = np.zeros(deltas.layout.slots, np.int64)
        gone[some] = cut(values.astype(np.float64), offsets, some, needed) - offsets[some]
        gone = np.minimum(gone, final)
        left = np.flatnonzero(gone)
        self.remembered["floor"][left] = values[offsets[left] + gone[left] - 1]
        self.remembered["scanned"][some] = (final - gone)[some]
        return gone
