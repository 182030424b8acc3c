"""The tree of folds of an aggregate whose elements are objects: sketches, sets, texts.

The nodes are those of `kernels.state.rings`, and so are the steps of a range: O(log n) combines, by Python.
A node is two words: where its bytes begin in the lane's heap of folds, and how many there are. One that is
not smaller than its two parts together (a list of all values) would only be a second copy of them: it is
not kept, its length is −1, and ranges take its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sash.aggregation.kernels.state import rings
from sash.arrays import Ints
from sash.operators.engine.form import KNOWN, Aggregate
from sash.operators.folding.elements import Elements
from sash.operators.folding.folder import ObjectFolder
from sash.operators.kinds.kind import Held
from sash.operators.windows.ranges import Ranges

if TYPE_CHECKING:
    from sash.operators.engine.rings import RingLane

NOT_KEPT = -1
NOTHING: Any = object()
"""In place of a fold over which no element counts."""


class _NewNodes:
    """Nodes that become complete with one batch."""

    def __init__(self, rows: Ints, used: int) -> None:
        self.rows, self.used = rows, used
        self.places = {row: at for at, row in enumerate(rows.tolist())}
        self.begins, self.lengths = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        self.known = np.zeros(len(rows), np.bool_)
        self.folds: dict[int, Any] = {}
        self.data: list[bytes] = []

    def put(self, at: int, fold: Any, encoded: bytes, *, parts: int | None = None) -> None:
        """The fold of the node; it is kept if it has fewer bytes than its parts."""
        if parts is not None and len(encoded) >= parts > 0:
            self.leave(at, fold is not NOTHING)
            return
        self.begins[at], self.lengths[at], self.known[at] = self.used, len(encoded), fold is not NOTHING
        self.folds[self.rows.item(at)] = fold
        self.data.append(encoded)
        self.used += len(encoded)

    def leave(self, at: int, known: bool) -> None:
        """A node that is not kept."""
        self.lengths[at], self.known[at] = NOT_KEPT, known


class ObjectTree:
    """Of one aggregate of a lane."""

    def __init__(self, lane: RingLane, aggregate: Aggregate) -> None:
        assert isinstance(aggregate.folder, ObjectFolder)
        self._lane, self._aggregate, self._folder = lane, aggregate, aggregate.folder
        self._combine: Callable[[Any, Any], Any] = aggregate.monoid.combine

    def grow(self, held: Held, first: Ints, done: Ints) -> None:
        """Of each key, the elements [first, done) are new and will not change."""
        which, level, number = rings.kernel("grown_nodes")(held.base, held.mask, held.head, first, done)
        blocks = np.flatnonzero(level == 0)
        ordinals = (number[blocks, None] << rings.LEAF_BITS) + np.arange(rings.LEAF)
        leaves = self._lifted(held.positions(np.repeat(which[blocks], rings.LEAF), ordinals.ravel()))
        rows = rings.kernel("node_rows")(held.base, held.mask, which, level, number)
        below = np.maximum(level - 1, 0)
        left = rings.kernel("node_rows")(held.base, held.mask, which, below, 2 * number)
        right = rings.kernel("node_rows")(held.base, held.mask, which, below, 2 * number + 1)
        nodes = _NewNodes(rows, int(self._lane.folds_used[0]))
        block = 0
        for at in range(len(rows)):
            if level[at] == 0:
                element = self._folded(leaves[block : block + rings.LEAF])
                nodes.put(at, element, self._encoded(element))
                block += rings.LEAF
                continue
            pair = [left.item(at), right.item(at)]
            lengths = [self._length(nodes, row) for row in pair]
            if NOT_KEPT in lengths:
                nodes.leave(at, any(self._counts(nodes, row) for row in pair))
                continue
            element = self._folded([self._fold_in(nodes, row) for row in pair])
            nodes.put(at, element, self._encoded(element), parts=sum(lengths))
        self._write(nodes)

    def _encoded(self, element: Any) -> bytes:
        return b"" if element is NOTHING else self._folder.encode(element)

    def _write(self, new: _NewNodes) -> None:
        lane, aggregate = self._lane, self._aggregate
        lane.keep_folds(b"".join(new.data))
        nodes = lane.nodes
        nodes[new.rows, aggregate.node], nodes[new.rows, aggregate.node + 1] = new.begins, new.lengths
        marks = nodes[new.rows, aggregate.word] & ~aggregate.bit
        nodes[new.rows, aggregate.word] = marks | np.where(new.known, aggregate.bit, 0)

    def _length(self, new: _NewNodes, row: int) -> int:
        at = new.places.get(row)
        return int(self._lane.nodes[row, self._aggregate.node + 1] if at is None else new.lengths[at])

    def _counts(self, new: _NewNodes, row: int) -> bool:
        at = new.places.get(row)
        known = self._lane.nodes[row, self._aggregate.word] & self._aggregate.bit
        return bool(known if at is None else new.known[at])

    def _fold_in(self, new: _NewNodes, row: int) -> Any:
        return new.folds[row] if row in new.folds else self._of_node(row)

    def _of_node(self, row: int) -> Any:
        lane, aggregate = self._lane, self._aggregate
        begin, length = lane.nodes[row, aggregate.node : aggregate.node + 2].tolist()
        if not lane.nodes[row, aggregate.word] & aggregate.bit:
            return NOTHING
        return self._folder.decode(lane.folds[begin : begin + length].tobytes())

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
