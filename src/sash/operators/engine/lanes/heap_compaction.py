"""Heaps of bytes are appended to. When one has doubled, what nobody points to any more is dropped from it.

    keys        of slots that are live
    elements    that are held
    folds       of windows that are open, and of nodes that are objects

So a heap has at most about twice the bytes that are needed, and a byte that is kept is moved about once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.state import rings
from sash.arrays import Bytes, Ints
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.operators.engine.lanes.row_words import packed
from sash.operators.engine.lanes.running_lane import RunningLane
from sash.operators.engine.lanes.slots import HEAP, KEYS, Slots
from sash.operators.windows.numbering import numbered

if TYPE_CHECKING:
    from sash.operators.engine.state import OperatorState


LEAST = 1 << 16
"""Fewer bytes are not worth it."""
SIZES = 16
"""In the arena's numbers: how many bytes each heap had when it was last compacted."""


@dataclass(frozen=True)
class _Heap:
    data: Bytes
    used: Ints
    """One number, in its place."""
    table: Ints
    """What points into the heap …"""
    rows: Callable[[], Ints]
    """… which rows of it count …"""
    pointers: Ints
    """… and which of their words."""

    def compact(self) -> None:
        rows = self.rows()
        words = self.table[rows]
        kept = packed(words, self.pointers, self.data)
        self.table[rows[:, None], self.pointers] = words[:, self.pointers]
        self.data[: len(kept)] = kept
        self.used[0] = len(kept)


def compact(operator: OperatorState) -> None:
    """All heaps that have doubled since the last time."""
    sizes = operator.arena.numbers[SIZES:]
    for number, heap in enumerate(_heaps(operator)):
        if heap.used[0] > max(LEAST, 2 * sizes[number]):
            operator.arena.begin()
            heap.compact()
            sizes[number] = heap.used[0]


def _heaps(operator: OperatorState) -> Iterator[_Heap]:
    slots, arena = operator.slots, operator.arena
    pointers = slots.first_key_word + np.flatnonzero(slots.codec.variable)
    if len(pointers):
        yield _Heap(arena.bytes_of(KEYS), arena.numbers[HEAP : HEAP + 1], slots.rows, slots.live, pointers)
    for group in operator.groups:
        lane = group.lane
        if isinstance(lane, RingLane):
            if len(lane.form.pointers):
                held = _held(lane, slots)
                yield _Heap(lane.heap.data, lane.heap.used, lane.elements, held, lane.form.pointers)
            if len(lane.form.node_pointers):
                nodes = _nodes(lane, slots)
                yield _Heap(lane.folds.data, lane.folds.used, lane.nodes, nodes, lane.form.node_pointers)
        elif len(lane.pointers):
            yield _Heap(lane.heap.data, lane.heap.used, slots.rows, _open(lane, slots), lane.pointers)


def _held(lane: RingLane, slots: Slots) -> Callable[[], Ints]:
    def rows() -> Ints:
        held = lane.held(slots.live())
        which, number = numbered(held.count - held.head)
        return held.positions(which, held.head[which] + number)

    return rows


def _nodes(lane: RingLane, slots: Slots) -> Callable[[], Ints]:
    def rows() -> Ints:
        held = lane.held(slots.live())
        found: Ints = kernel_of(rings.live_nodes)(held.base, held.mask, held.head, held.count)
        return found

    return rows


def _open(lane: RunningLane, slots: Slots) -> Callable[[], Ints]:
    def rows() -> Ints:
        live = slots.live()
        return live[~lane.is_empty(live)]

    return rows
