"""The first-in-first-out structures over numbers: every operation is one call of machine code."""

from __future__ import annotations

from collections.abc import Sequence

from sash.aggregation.algorithms.compiled.inlet import CompiledAlgorithm, Inlet
from sash.aggregation.algorithms.mta.aligned_blocks import Block, start, stop
from sash.aggregation.algorithms.mta.descent import Descent
from sash.aggregation.algorithms.rings import STRUCTURES, RingWindow, Structure
from sash.aggregation.elements import ABSENT, Element


class CompiledRing(CompiledAlgorithm, RingWindow):
    """A window in the arrays of one structure."""

    def __init__(self, structure: Structure, inlet: Inlet) -> None:
        super().__init__(inlet)
        self._arrange(structure, inlet)


class CompiledForest(CompiledRing, Descent):
    """Log MTA or Amortized MTA, whose blocks a slide policy can descend."""

    def _read(self, ids: Sequence[Block]) -> list[Element]:
        return [self._block(block) for block in ids]

    def _block(self, block: Block) -> Element:
        begin, end = start(block), stop(block)
        if self._nulls.cover(begin, end):
            return ABSENT
        mask = self._capacity - 1
        cell = begin & mask if block[1] & 1 else self._capacity + (end & mask)
        return self._inlet.load(self._ring, cell)


def compiled_ring(name: str, inlet: Inlet) -> CompiledRing:
    structure = STRUCTURES[name]
    return (CompiledForest if structure.cells == 2 else CompiledRing)(structure, inlet)
