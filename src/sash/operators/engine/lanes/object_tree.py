"""The tree of folds of an aggregate whose elements are objects: sketches, sets, texts.

The nodes are those of `kernels.state.rings`, and so are the steps of a range: O(log n) combines, by Python.
A node has three words: where its bytes begin in the lane's heap of folds, how many there are, and how many
its leaves have together. Kept is a fold that is small, or clearly smaller than its leaves: a sketch, a set
of values that come again. Of one that is not kept ranges take the parts, and above it is tried again; but
from 1,024 elements on, a fold as large as its leaves is a list of them, and nothing above it is folded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.state import rings
from sash.arrays import Ints
from sash.operators.engine.lanes.element_layout import KNOWN, LaneAggregate
from sash.operators.folding.elements import Elements
from sash.operators.folding.fold_ranges import ObjectFolder
from sash.operators.kinds.kind_base import Held
from sash.operators.windows.ranges import Ranges

if TYPE_CHECKING:
    from sash.operators.engine.lanes.ring_lane import RingLane

NOT_KEPT, A_LIST = -1, -2
"""In the place of a length."""
SMALL, WORTH = 256, 0.75
"""Bytes that are always kept, and the share of its leaves' bytes that a larger fold may have."""
LISTS, AS_LARGE = 7, 0.9
"""The level from which on a fold with such a share is a list."""
SLICE = 4_096
"""So many nodes are made at once: their folds are Python objects until they are written."""
NOTHING: Any = object()
"""In place of a fold over which no element counts."""


class _NewNodes:
    """Nodes that become complete, until they are written."""

    def __init__(self, rows: Ints, used: int) -> None:
        self.rows, self.used = rows, used
        self.places = {row: at for at, row in enumerate(rows.tolist())}
        self.words, self.known = np.zeros((len(rows), 3), np.int64), np.zeros(len(rows), np.bool_)
        self.folds: dict[int, Any] = {}
        self.data: list[bytes] = []

    def put(self, at: int, fold: Any, encoded: bytes, *, level: int, leaves: int) -> None:
        """The fold of a node; `leaves` are the bytes of all its leaves."""
        size, known = len(encoded), fold is not NOTHING
        if level and size > max(SMALL, WORTH * leaves):
            is_list = level >= LISTS and size > AS_LARGE * leaves
            self.leave(at, A_LIST if is_list else NOT_KEPT, known, leaves)
            return
        self.words[at], self.known[at] = (self.used, size, leaves), known
        self.folds[self.rows.item(at)] = fold
        self.data.append(encoded)
        self.used += size

    def leave(self, at: int, length: int, known: bool, leaves: int) -> None:
        """A node that is not kept."""
        self.words[at], self.known[at] = (0, length, leaves), known


class ObjectTree:
    """Of one aggregate of a lane."""

    def __init__(self, lane: RingLane, aggregate: LaneAggregate) -> None:
        assert isinstance(aggregate.folder, ObjectFolder)
        self._lane, self._aggregate, self._folder = lane, aggregate, aggregate.folder
        self._combine: Callable[[Any, Any], Any] = aggregate.monoid.combine

    def grow(self, held: Held, first: Ints, done: Ints) -> None:
        """Of each key, the elements [first, done) are new and will not change."""
        nodes = kernel_of(rings.grown_nodes)(held.base, held.mask, held.head, first, done)
        for at in range(0, len(nodes[0]), SLICE):
            self._grow(held, *(part[at : at + SLICE] for part in nodes))

    def _grow(self, held: Held, which: Ints, level: Ints, number: Ints) -> None:
        """Nodes, parts before what they are parts of."""
        blocks = np.flatnonzero(level == 0)
        ordinals = (number[blocks, None] << rings.LEAF_BITS) + np.arange(rings.LEAF)
        leaves = self._lifted(held.positions(np.repeat(which[blocks], rings.LEAF), ordinals.ravel()))
        rows = kernel_of(rings.node_rows)(held.base, held.mask, which, level, number)
        new, block = _NewNodes(rows, self._lane.folds.size), 0
        for at, height in enumerate(level.tolist()):
            if height == 0:
                element = self._folded(leaves[block : block + rings.LEAF])
                encoded = self._encoded(element)
                new.put(at, element, encoded, level=0, leaves=len(encoded))
                block += rings.LEAF
                continue
            place = held.base.item(which[at]), held.mask.item(which[at])
            pair = [(height - 1, 2 * number.item(at) + side) for side in range(2)]
            words = [self._words_of(new, rings.node(*place, *each)) for each in pair]
            known, mass = any(counts for _, _, counts in words), sum(mass for _, mass, _ in words)
            if A_LIST in (length for length, _, _ in words):
                new.leave(at, A_LIST, known, mass)
                continue
            element = self._folded([self._fold_at(new, place, *each) for each in pair])
            new.put(at, element, self._encoded(element), level=height, leaves=mass)
        self._write(new)

    def _encoded(self, element: Any) -> bytes:
        return b"" if element is NOTHING else self._folder.encode(element)

    def _write(self, new: _NewNodes) -> None:
        lane, aggregate = self._lane, self._aggregate
        lane.folds.append(b"".join(new.data))
        nodes = lane.nodes
        for word in range(3):
            nodes[new.rows, aggregate.node + word] = new.words[:, word]
        marks = nodes[new.rows, aggregate.word] & ~aggregate.bit
        nodes[new.rows, aggregate.word] = marks | np.where(new.known, aggregate.bit, 0)

    def _words_of(self, new: _NewNodes, row: int) -> tuple[int, int, bool]:
        """The length of a node, the bytes of its leaves, and whether anything counts."""
        at, nodes, aggregate = new.places.get(row), self._lane.nodes, self._aggregate
        if at is not None:
            return *new.words[at, 1:].tolist(), bool(new.known[at])
        length, mass = nodes[row, aggregate.node + 1 : aggregate.node + 3].tolist()
        return length, mass, bool(nodes[row, aggregate.word] & aggregate.bit)

    def _fold_at(self, new: _NewNodes, place: tuple[int, int], level: int, number: int) -> Any:
        """The fold of a node, or of its parts where it is not kept."""
        row = rings.node(*place, level, number)
        if row in new.folds:
            return new.folds[row]
        if self._words_of(new, row)[0] >= 0:
            return self._of_node(row)
        halves = (self._fold_at(new, place, level - 1, 2 * number + side) for side in range(2))
        return self._folded(list(halves))

    def _of_node(self, row: int) -> Any:
        lane, aggregate = self._lane, self._aggregate
        begin, length = lane.nodes[row, aggregate.node : aggregate.node + 2].tolist()
        if not lane.nodes[row, aggregate.word] & aggregate.bit:
            return NOTHING
        return self._folder.decode(lane.folds.data[begin : begin + length].tobytes())

    def _lifted(self, rows: Ints) -> list[Any]:
        """The elements at these rows; NOTHING where they do not count."""
        lane, aggregate = self._lane, self._aggregate
        words = lane.elements[rows]
        known = (words[:, KNOWN + aggregate.word] & aggregate.bit) != 0
        table = lane.rows_of(words, list(aggregate.monoid.columns))
        objects = self._folder.objects(self._folder.lift(table, known=known))
        return [
            element if there else NOTHING for element, there in zip(objects, known.tolist(), strict=True)
        ]

    def _folded(self, parts: list[Any]) -> Any:
        total = NOTHING
        for part in parts:
            if part is not NOTHING:
                total = part if total is NOTHING else self._combine(total, part)
                self._lane.combines[self._aggregate.name] += 1
        return total

    def fold(self, held: Held, ranges: Ranges) -> Elements:
        """The fold of each range."""
        lengths = self._lane.nodes[:, self._aggregate.node + 1]
        offsets, steps = self._lane.steps(held, ranges, lengths=lengths)
        codes, index = np.unique(steps, return_inverse=True)
        rows, are_elements = codes >> 2, codes & 3 == rings.ELEMENT
        parts = np.empty(len(codes), object)
        lifted = self._lifted(rows[are_elements])
        for at, part in zip(np.flatnonzero(are_elements).tolist(), lifted, strict=True):
            parts[at] = part
        for at in np.flatnonzero(~are_elements).tolist():
            parts[at] = self._of_node(rows.item(at))
        taken = [parts[at] for at in index.reshape(-1).tolist()]
        folds = [
            self._folded(taken[begin:end])
            for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ]
        known = np.array([fold is not NOTHING for fold in folds], np.bool_)
        identity = self._aggregate.monoid.identity
        whole = [identity() if fold is NOTHING else fold for fold in folds]
        return self._folder.elements(whole, None if known.all() else known)
