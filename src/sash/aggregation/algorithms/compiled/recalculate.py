"""Recalculate with its elements in columns: one call of machine code folds them all at every query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sash.aggregation.algorithms.compiled.input_columns import CompiledAlgorithm, Inlet, read_only
from sash.aggregation.algorithms.protocol import Time
from sash.aggregation.algorithms.recalculate import RecalculatedWindow
from sash.aggregation.elements import ABSENT, Element, ElementBatch
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.arrays import Array

SMALLEST = 16


class CompiledRecalculate(CompiledAlgorithm, RecalculatedWindow):
    """Any order; the window is [lo, hi) of columns with room behind it."""

    def __init__(self, inlet: Inlet) -> None:
        super().__init__(inlet)
        self._lo = self._hi = 0
        self._columns, self._known = inlet.machine.empty(SMALLEST), np.ones(SMALLEST, np.bool_)
        self._fold_kernel = self._ready("fold", self._shown(), 0, 0)

    def __len__(self) -> int:
        return self._hi - self._lo

    def _shown(self) -> Columns:
        return tuple(read_only(column) for column in self._columns)

    def _insert_one(self, element: Element, time: Time) -> None:
        known = None if element is not ABSENT else np.zeros(1, np.bool_)
        self._insert_batch(ElementBatch(self._inlet.one(element), known), [time])

    def _insert_batch(self, elements: ElementBatch, times: Sequence[Time]) -> None:
        new = slice(self._make_room(len(elements)), self._hi + len(elements))
        for column, values in zip(self._columns, elements.columns, strict=True):
            column[new] = values
        self._known[new] = True if elements.known is None else elements.known
        late = bool(self._times) and times[0] < self._times[-1]
        self._times += times
        self._hi += len(elements)
        if late or any(after < before for before, after in pairwise(times)):
            self._sort()

    def _make_room(self, count: int) -> int:
        """Where the next element goes, once so many fit behind it."""
        if self._hi + count > len(self._known):
            size = len(self)
            capacity = max(SMALLEST, 2 * (size + count))
            self._columns = tuple(self._moved(column, capacity) for column in self._columns)
            self._known = self._moved(self._known, capacity)
            self._lo, self._hi = 0, size
        return self._hi

    def _moved(self, column: Array, capacity: int) -> Array:
        larger: Array = np.empty(capacity, column.dtype)
        larger[: len(self)] = column[self._lo : self._hi]
        return larger

    def _sort(self) -> None:
        # By Python, because times are of any type; stable, so that equal times keep their order.
        order = sorted(range(len(self._times)), key=self._times.__getitem__)
        self._times = [self._times[i] for i in order]
        for column in (*self._columns, self._known):
            column[self._lo : self._hi] = column[self._lo : self._hi][order]

    def _evict(self, count: int) -> None:
        del self._times[:count]
        self._lo += count

    def _held(self) -> Iterable[Element]:
        for i in range(self._lo, self._hi):
            yield self._inlet.load(self._columns, i) if self._known[i] else ABSENT

    def _fold(self) -> Element:
        if not self._known[self._lo : self._hi].any():
            return ABSENT
        return self._inlet.element(self._fold_kernel(self._shown(), self._lo, self._hi))

    def _as_times(self, times: Any) -> Any:
        return list(super()._as_times(times))
