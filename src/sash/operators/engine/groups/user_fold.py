"""`.fold(init, step)` over windows that only grow: the accumulator of an open window is all that is kept.

It is kept as bytes, so it must be made of numbers, text, dates, lists, tuples and dicts of them; one that
begins as something else is computed from the rows of its window, as `.apply` is.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregation import encoding
from sash.aggregation.monoid import Monoid
from sash.arrays import Array, Ints, Mask
from sash.errors import PredicateError, Unsupported
from sash.operators.folding.elements import Elements
from sash.operators.folding.whole_windows import Fold, result_table
from sash.semantics.event import Row

ACCUMULATOR = "__accumulator"


def accumulator() -> Monoid:
    """The accumulator as something that a lane keeps. It is no monoid: only what writes it is used."""
    return Monoid(ACCUMULATOR, (), tuple, tuple, max, tuple, encode=encoding.encode, decode=encoding.decode)


def can_be_kept(computation: Any) -> bool:
    """Whether the accumulator of this computation begins as something that can be kept as bytes."""
    if not isinstance(computation, Fold):
        return False
    try:
        encoding.encode(_begun(computation))
    except Unsupported:
        return False
    return True


def _begun(computation: Fold) -> Any:
    return computation.init() if callable(computation.init) else deepcopy(computation.init)


@dataclass(frozen=True)
class Steps:
    """A folder whose elements are rows to come and accumulators so far: see `fold_ranges.Folder`."""

    computation: Fold

    def known(self, rows: pa.Table) -> Mask | None:
        return None

    def lift(self, rows: pa.Table, *, known: Mask | None = None) -> Elements:
        return _column([Row(values) for values in rows.to_pylist()])

    def fold(self, elements: Elements, lo: Ints, hi: Ints, *, groups: Ints) -> Elements:
        (column,) = elements.columns
        return _column([self._stepped(column[a:b]) for a, b in zip(lo.tolist(), hi.tolist(), strict=True)])

    def _stepped(self, parts: Array) -> Any:
        total: Any = None
        begun = False
        for part in parts:
            if not isinstance(part, Row):
                total, begun = deepcopy(part), True  # a step may change it, and is made more than once
                continue
            if not begun:
                total, begun = _begun(self.computation), True
            try:
                total = self.computation.step(total, part)
            except Exception as error:
                raise PredicateError(
                    f"the step of fold raised {type(error).__name__}: {error}; the row is {part}"
                ) from error
        return total if begun else _begun(self.computation)

    def lower(self, elements: Elements, result: pa.DataType) -> pa.Array:
        raise AssertionError("accumulators become rows, see `results`")

    def results(self, elements: Elements) -> pa.Table:
        """The result rows of accumulators."""
        rows = [self.computation.result(total) for total in elements.columns[0]]
        return result_table(rows, self.computation.schema)

    def objects(self, elements: Elements) -> list[Any]:
        return list(elements.columns[0])

    def elements(self, objects: list[Any], known: Mask | None) -> Elements:
        return _column(objects)


def _column(values: list[Any]) -> Elements:
    column = np.empty(len(values), object)
    for at, value in enumerate(values):
        column[at] = value
    return Elements((column,), None)
