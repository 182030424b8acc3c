"""The first-in-first-out structures in arrays: a ring, a few cells beside it, and a header of integers.

Every operation is one call of machine code that changes the arrays in place (`kernels.aggregators.ring`).
A ring that is full, or eight times too large, is exchanged when something is inserted; that copy is paid
for by the insertions and evictions since the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sash.aggregation.algorithms.aligned_blocks import Block, start, stop
from sash.aggregation.algorithms.compiled.inlet import CompiledAlgorithm, ElementBatch, Inlet
from sash.aggregation.algorithms.compiled.nulls import Nulls
from sash.aggregation.algorithms.descent import Descent
from sash.aggregation.algorithms.elements import ABSENT, Element
from sash.aggregation.algorithms.fifo import Fifo
from sash.aggregation.algorithms.protocol import Time
from sash.aggregation.kernels.aggregators import amta, daba, subtract_on_evict, two_stacks

SMALLEST = 16
"""Places in the smallest ring."""


@dataclass(frozen=True)
class Structure:
    """One algorithm: the name of its kernels and the sizes of its arrays."""

    kernels: str
    edge: int
    header: int
    cells: int = 1
    """Cells of the ring for one position."""


STRUCTURES = {
    "TwoStacks": Structure("two_stacks", two_stacks.EDGE_SIZE, two_stacks.HEADER_SIZE),
    "DABALite": Structure("daba", daba.EDGE_SIZE, daba.HEADER_SIZE),
    "SubtractOnEvict": Structure(
        "subtract_on_evict", subtract_on_evict.EDGE_SIZE, subtract_on_evict.HEADER_SIZE
    ),
    "LogMTA": Structure("log_mta", amta.EDGE_SIZE, amta.HEADER_SIZE, cells=2),
    "AMTA": Structure("amta", amta.EDGE_SIZE, amta.HEADER_SIZE, cells=2),
}


class CompiledFifo(CompiledAlgorithm, Fifo):
    """A window [lo, hi) of the stream in the arrays of one structure."""

    def __init__(self, structure: Structure, inlet: Inlet) -> None:
        super().__init__(inlet)
        self._cells, self._capacity = structure.cells, SMALLEST
        self._ring = inlet.machine.empty(self._cells * SMALLEST)
        self._edge = inlet.identities(structure.edge)
        self._header = np.zeros(structure.header, np.int64)
        self._nulls = Nulls()
        state = (self._ring, self._edge, self._header)
        self._insert_kernel = self._ready(f"{structure.kernels}_insert", inlet.identities(0), *state)
        self._evict_kernel = self._ready(f"{structure.kernels}_evict", *state, 0)
        self._query_kernel = self._ready(f"{structure.kernels}_query", *state)

    # Insertion.

    def _append(self, element: Element) -> None:
        column = self._inlet.one(element)
        self._make_room(1)
        self._insert_kernel(column, self._ring, self._edge, self._header)
        if element is ABSENT:
            self._nulls.append(self._hi)

    def _insert_batch(self, elements: ElementBatch, times: Sequence[Time]) -> None:
        self._take_times(times)
        self._make_room(len(elements))
        self._insert_kernel(elements.columns, self._ring, self._edge, self._header)
        if elements.known is not None:
            self._nulls.extend(np.flatnonzero(~elements.known) + self._hi)
        self._hi += len(elements)

    def _make_room(self, count: int) -> None:
        # One place more than there are elements: the even blocks of a forest are kept by their ends.
        wanted = self._hi - self._lo + count + 1
        if wanted <= self._capacity and (self._capacity <= 8 * wanted or self._capacity == SMALLEST):
            return
        capacity = max(SMALLEST, 1 << (wanted - 1).bit_length())
        positions = np.arange(self._lo, self._hi + 1)
        old, new = positions & (self._capacity - 1), positions & (capacity - 1)
        ring = self._inlet.machine.empty(self._cells * capacity)
        for before, after in zip(self._ring, ring, strict=True):
            for cell in range(self._cells):
                after[cell * capacity + new] = before[cell * self._capacity + old]
        self._ring, self._capacity = ring, capacity

    # Eviction and query.

    def _evict(self, count: int) -> None:
        self._evict_kernel(self._ring, self._edge, self._header, count)
        self._lo += count
        self._nulls.delete_before(self._lo)
        if self._timed:
            self._times.delete_before(self._lo)

    def _fold(self) -> Element:
        if self._nulls.cover(self._lo, self._hi):
            return ABSENT
        return self._inlet.element(self._query_kernel(self._ring, self._edge, self._header))


class CompiledForest(CompiledFifo, Descent):
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


def compiled_fifo(name: str, inlet: Inlet) -> CompiledFifo:
    """The compiled structure of a public class."""
    structure = STRUCTURES[name]
    return (CompiledForest if structure.cells == 2 else CompiledFifo)(structure, inlet)
