"""The compiled form of each algorithm, by name.

The first-in-first-out structures have it here: every operation is one call of machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.aggregation.algorithms.compiled.fiba import CompiledFiBA
from sash.aggregation.algorithms.compiled.input_columns import CompiledAlgorithm, Inlet
from sash.aggregation.algorithms.compiled.recalculate import CompiledRecalculate
from sash.aggregation.algorithms.compiled.time_codecs import time_codec
from sash.aggregation.algorithms.mta.aligned_blocks import LevelAndIndex, start, stop
from sash.aggregation.algorithms.mta.evict_by_policy import Descent
from sash.aggregation.algorithms.rings import STRUCTURES, RingWindow, Structure
from sash.aggregation.elements import ABSENT, Element
from sash.aggregation.kernels.compiler.compiled import Compiled
from sash.aggregation.monoid import Kind


class CompiledRing(CompiledAlgorithm, RingWindow):
    """A window in the arrays of one structure."""

    def __init__(self, structure: Structure, inlet: Inlet) -> None:
        super().__init__(inlet)
        self._arrange(structure, inlet)


class CompiledForest(CompiledRing, Descent):
    """Log MTA or Amortized MTA, whose blocks a slide policy can descend."""

    def _read(self, ids: Sequence[LevelAndIndex]) -> list[Element]:
        return [self._block(block) for block in ids]

    def _block(self, block: LevelAndIndex) -> Element:
        begin, end = start(block), stop(block)
        if self._nulls.cover(begin, end):
            return ABSENT
        mask = self._capacity - 1
        cell = begin & mask if block[1] & 1 else self._capacity + (end & mask)
        return self._inlet.load(self._ring, cell)


def window(
    name: str, machine: Compiled, kinds: tuple[Kind, ...] | None, time: Any
) -> CompiledAlgorithm | None:
    """An empty window; None when times such as `time` are nothing for its arrays."""
    inlet = Inlet(machine, kinds)
    if name == "Recalculate":
        return CompiledRecalculate(inlet)
    if name == "SubtractOnEvict":
        machine.monoid.require_inverse(name)
    if name != "FiBA":
        structure = STRUCTURES[name]
        return (CompiledForest if structure.cells == 2 else CompiledRing)(structure, inlet)
    clock = time_codec(time)
    return None if clock is None else CompiledFiBA(inlet, clock)
