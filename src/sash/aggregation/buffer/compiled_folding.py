"""The buffer's folds in compiled loops, for monoids whose elements are numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.aggregation.buffer.folding import (
    Columns,
    Element,
    Folding,
    Interpreted,
    Ints,
    as_columns,
    is_scalar,
    shaped,
)
from sash.aggregation.kernels.compiled import compiled
from sash.aggregation.monoid import Kind, Monoid


class Machine:
    """`Folding` by way of `compiled(monoid)`."""

    def __init__(self, monoid: Monoid, kinds: tuple[Kind, ...] | None) -> None:
        self._compiled = compiled(monoid, kinds=kinds)
        self._dtypes = self._compiled.dtypes
        self._fold = self._compiled.kernel("fold")
        self._fold_ranges = self._compiled.kernel("range_folds")
        self._scalar, self._shaped = is_scalar(self.monoid), shaped(self.monoid)

    @property
    def monoid(self) -> Monoid:
        return self._compiled.monoid

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        return self._dtypes

    def lift(self, inputs: Sequence[Any], n: int) -> Columns:
        if n == 0:
            # An empty list tells no type, and each type of input would be compiled for.
            return self._compiled.empty(0)
        return self._compiled.lift([np.asarray(values) for values in inputs], n=n)

    def columns(self, elements: Sequence[Element]) -> Columns:
        return as_columns(elements, self._dtypes, scalar=self._scalar)

    def load(self, columns: Columns, i: int) -> Element:
        if self._scalar:
            return columns[0].item(i)
        return self._shaped(column.item(i) for column in columns)

    def fold(self, columns: Columns, lo: int, hi: int) -> Element:
        if hi - lo == 1:
            return self.load(columns, lo)
        element = self._fold(self._compiled.columns(columns), lo, hi)
        return element if self._scalar else self._shaped(element)

    def fold_ranges(self, columns: Columns, lo: Ints, hi: Ints) -> Columns:
        # Straight to the kernel: `range_fold` around it checks what the buffer has checked, and a chunk is
        # small enough for that to cost as much as its folds.
        out = self._compiled.empty(len(lo))
        groups = _read_only(np.array([0, len(lo)]))
        self._fold_ranges(
            self._compiled.columns(columns), groups, _read_only(lo), _read_only(hi), 0, 1, out
        )
        return out


def _read_only(positions: Ints) -> Ints:
    # Kernels are compiled for read-only inputs; a writable one would be compiled for once more.
    view = np.ascontiguousarray(positions, np.int64).view()
    view.flags.writeable = False
    return view


def folding_of(monoid: Monoid, kinds: tuple[Kind, ...] | None) -> Folding:
    """Compiled where elements are numbers, interpreted where they are objects."""
    # Bound first: what is an object for columns of any kind may be a number for these.
    bound = monoid if kinds is None else monoid.bind(kinds)
    return Machine(bound, kinds) if bound.columnar else Interpreted(bound, [np.dtype(object)])
