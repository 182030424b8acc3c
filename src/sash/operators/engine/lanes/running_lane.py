"""A lane of running folds: of a window that only grows, its fold is all that is kept.

    a key's words    is a window open · first and last time · which aggregates count · their partial folds

Partial aggregates that are no numbers lie in the lane's heap, as the monoid encodes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.aggregation import encoding
from sash.arrays import Array, Bytes, Ints, Mask
from sash.operators.arena import Arena, TableSpec
from sash.operators.engine.groups.user_fold import Steps
from sash.operators.engine.lanes.byte_heap import ByteHeap
from sash.operators.engine.lanes.element_layout import Form, LaneAggregate
from sash.operators.engine.lanes.row_words import gathered
from sash.operators.engine.lanes.slots import Slots
from sash.operators.folding.elements import Elements
from sash.operators.folding.fold_ranges import ColumnFolder, ObjectFolder

OPEN, FIRST, LAST, KNOWN = range(4)


class RunningLane:
    """The open window of each key, for one window of the query."""

    def __init__(self, arena: Arena, slots: Slots, name: str, form: Form, *, word: int) -> None:
        self.arena, self.slots, self.name, self.form, self.word = arena, slots, name, form, word

    @staticmethod
    def tables(name: str) -> dict[str, TableSpec]:
        return {f"{name}.heap": TableSpec(1, "uint8"), f"{name}.used": TableSpec(1)}

    @staticmethod
    def words(form: Form) -> int:
        """How many words of a slot's row it takes."""
        return KNOWN + form.known_words + sum(_width(a) for a in form.aggregates.values())

    def _at(self, aggregate: LaneAggregate) -> int:
        before = [a for a in self.form.aggregates.values() if a.number < aggregate.number]
        return self.word + KNOWN + self.form.known_words + sum(map(_width, before))

    def new_slots(self, slots: Ints) -> None:
        """A row of zeros is a key without an open window."""

    @property
    def size(self) -> int:
        """Bytes of the heap: the folds themselves are a part of the keys' rows."""
        return self.heap.size

    @property
    def folds_size(self) -> int:
        """Bytes of folds beside what is kept: there are none."""
        return 0

    def is_empty(self, slots: Ints) -> Mask:
        empty: Mask = self.slots.rows[slots, self.word + OPEN] == 0
        return empty

    def bounds(self, slots: Ints) -> tuple[Ints, Ints]:
        """The first and last time of open windows."""
        rows = self.slots.rows
        return rows[slots, self.word + FIRST], rows[slots, self.word + LAST]

    def elements(self, aggregate: LaneAggregate, slots: Ints) -> Elements:
        """The partial aggregates of open windows."""
        rows, at = self.slots.rows, self._at(aggregate)
        known = (rows[slots, self.word + KNOWN + aggregate.word] & aggregate.bit) != 0
        folder = aggregate.folder
        if isinstance(folder, ColumnFolder):
            words = (np.ascontiguousarray(rows[slots, at + k]) for k in range(len(folder.machine.dtypes)))
            pairs = zip(words, folder.machine.dtypes, strict=True)
            return Elements(tuple(_from_words(column, dtype) for column, dtype in pairs), known)
        assert isinstance(folder, ObjectFolder | Steps)
        data, offsets = gathered(self.heap.data, rows[slots, at], rows[slots, at + 1])
        raw, decode = data.tobytes(), aggregate.monoid.decode or encoding.decode
        spans = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return folder.elements([decode(raw[begin:end]) for begin, end in spans], known)

    def close(self, slots: Ints) -> None:
        """No window is open any more."""
        self.slots.rows[slots, self.word + OPEN] = 0

    def open(self, slots: Ints, first: Ints, last: Ints, folds: dict[str, Elements]) -> None:
        """The open windows of these keys, with the partial aggregates that they have now."""
        rows = self.slots.rows
        rows[slots, self.word + OPEN] = 1
        rows[slots, self.word + FIRST], rows[slots, self.word + LAST] = first, last
        known = np.zeros((len(slots), self.form.known_words), np.int64)
        for name, aggregate in self.form.aggregates.items():
            elements = folds[name]
            there = np.ones(len(slots), np.bool_) if elements.known is None else elements.known
            known[:, aggregate.word] |= there.astype(np.int64) * aggregate.bit
            self._write(aggregate, slots, elements)
        rows[slots, self.word + KNOWN : self.word + KNOWN + self.form.known_words] = known

    def _write(self, aggregate: LaneAggregate, slots: Ints, elements: Elements) -> None:
        rows, at, folder = self.slots.rows, self._at(aggregate), aggregate.folder
        if isinstance(folder, ColumnFolder):
            for k, column in enumerate(elements.columns):
                rows[slots, at + k] = _to_words(column)
            return
        assert isinstance(folder, ObjectFolder | Steps)
        encode = aggregate.monoid.encode or encoding.encode
        parts = [encode(each) for each in folder.objects(elements)]
        lengths = np.array([len(part) for part in parts], np.int64)
        begins = self.heap.append(b"".join(parts)) + np.concatenate(([0], np.cumsum(lengths)))[:-1]
        rows[slots, at], rows[slots, at + 1] = begins.astype(np.int64), lengths

    @property
    def heap(self) -> ByteHeap:
        """What folds that are no numbers point into."""
        self.arena.reserve(f"{self.name}.used", 1)
        return ByteHeap(self.arena, f"{self.name}.heap", self.arena.ints(f"{self.name}.used")[:, 0])

    @property
    def pointers(self) -> Ints:
        """The words of a slot's row that point into the heap."""
        objects = [a for a in self.form.aggregates.values() if a.machine is None]
        return np.array([self._at(aggregate) for aggregate in objects], np.int64)

    def restore(self, heap: Bytes) -> None:
        self.heap.append(heap)


def _width(aggregate: LaneAggregate) -> int:
    return 2 if aggregate.machine is None else len(aggregate.machine.dtypes)


def _from_words(words: Ints, dtype: np.dtype[Any]) -> Array:
    if dtype == np.float64:
        return words.view(np.float64)
    return words.astype(np.bool_) if dtype == np.bool_ else words


def _to_words(column: Array) -> Ints:
    return column.view(np.int64) if column.dtype == np.float64 else column.astype(np.int64)
