"""The parts of a pane: the element of each aggregate as columns of a row.

    numbers    a column per field of the element; machine code folds them, all groups in one call
    objects    one binary column, as `encode` writes the element; the monoid's own functions fold them

A part is null where no event counts for its aggregate. `over_elements` is the aggregate again, for such
columns: it takes elements as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sash.aggregation.elements import ABSENT, null_aware_combine
from sash.aggregation.kernels.compiler.compiled import Compiled, compiled
from sash.aggregation.kernels.folds.group_fold import group_fold
from sash.aggregation.monoid import Monoid
from sash.arrays import Ints, Mask
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.arrow_columns import kind_of_type, to_numpy
from sash.operators.folding.fold_ranges import ObjectFolder
from sash.operators.folding.lifting import inputs_of


class PaneParts(Protocol):
    """Of one aggregate."""

    @property
    def types(self) -> list[pa.DataType]:
        """Of its columns."""
        ...

    def over_elements(self, parts: tuple[str, ...], result: pa.DataType) -> Monoid:
        """The aggregate over columns of these names, which hold its elements."""
        ...

    def of_events(self, rows: pa.Table, codes: Ints, *, groups: int) -> list[pa.Array]:
        """The columns of so many panes; `codes` has that of each row."""
        ...

    def of_panes(self, parts: Sequence[pa.ChunkedArray], codes: Ints, *, groups: int) -> list[pa.Array]:
        """The same of panes that are parts of others."""
        ...


def pane_parts_of(monoid: Monoid, schema: pa.Schema, *, in_order: bool = False) -> PaneParts | None:
    """None for an aggregate that depends on the order of events, unless these will come `in_order`."""
    if not (monoid.commutative or in_order):
        return None
    kinds = tuple(kind_of_type(schema.field(column).type) for column in monoid.columns)
    typed = monoid.bind(kinds)
    if "object" in kinds or not typed.columnar or type(typed.identity()) not in (bool, int, float, tuple):
        return ObjectParts(monoid)
    machine = compiled(typed)
    if machine.mode == "interpreted" or len(machine.dtypes) not in _LIFTS:
        return ObjectParts(monoid)
    return NumberParts(monoid, machine)


def parts_by_name(bound: BoundQuery, *, in_order: bool = False) -> dict[str, PaneParts]:
    """Of every aggregate that has them."""
    found = {
        name: pane_parts_of(monoid, bound.schema, in_order=in_order)
        for name, monoid in bound.aggregates.items()
    }
    return {name: parts for name, parts in found.items() if parts is not None}


@dataclass(frozen=True)
class NumberParts:
    """Elements that are numbers."""

    monoid: Monoid
    machine: Compiled

    @property
    def types(self) -> list[pa.DataType]:
        return [pa.from_numpy_dtype(dtype) for dtype in self.machine.dtypes]

    def over_elements(self, parts: tuple[str, ...], result: pa.DataType) -> Monoid:
        lift = _LIFTS[0 if self.machine.shape.scalar else len(parts)]
        return _over_elements(self.machine.monoid, parts, lift, result)

    def of_events(self, rows: pa.Table, codes: Ints, *, groups: int) -> list[pa.Array]:
        inputs, valid = inputs_of(self.monoid, rows)
        return self._folded(self.machine.lift(inputs, valid=valid, n=rows.num_rows), valid, codes, groups)

    def of_panes(self, parts: Sequence[pa.ChunkedArray], codes: Ints, *, groups: int) -> list[pa.Array]:
        read = [to_numpy(part) for part in parts]
        columns, valid = tuple(values for values, _ in read), read[0][1]
        if valid is not None:
            pairs = zip(columns, self.machine.shape.identity, strict=True)
            columns = tuple(np.where(valid, values, blank) for values, blank in pairs)
        return self._folded(columns, valid, codes, groups)

    def _folded(self, columns: Any, valid: Mask | None, codes: Ints, groups: int) -> list[pa.Array]:
        folds = group_fold(self.machine, columns, codes, groups=groups)
        blank = None
        if valid is not None:
            blank = np.ones(groups, np.bool_)
            blank[codes[valid]] = False
        return [pa.array(fold, mask=blank) for fold in folds]


@dataclass(frozen=True)
class ObjectParts:
    """Any other elements."""

    monoid: Monoid

    @property
    def types(self) -> list[pa.DataType]:
        return [pa.binary()]

    def over_elements(self, parts: tuple[str, ...], result: pa.DataType) -> Monoid:
        return _over_elements(self.monoid, parts, Decoded(self.monoid), result)

    def of_events(self, rows: pa.Table, codes: Ints, *, groups: int) -> list[pa.Array]:
        elements = self._folder.lift(rows)
        return self._folded(self._folder.objects(elements), elements.known, codes, groups)

    def of_panes(self, parts: Sequence[pa.ChunkedArray], codes: Ints, *, groups: int) -> list[pa.Array]:
        (part,) = parts
        decode = self._folder.decode
        elements = [None if data is None else decode(data) for data in part.to_pylist()]
        known = part.is_valid().to_numpy() if part.null_count else None
        return self._folded(elements, known, codes, groups)

    def _folded(self, elements: list[Any], known: Mask | None, codes: Ints, groups: int) -> list[pa.Array]:
        folds: list[Any] = [ABSENT] * groups
        join, counts = null_aware_combine(self.monoid.combine), known
        for at in range(len(elements)) if counts is None else np.flatnonzero(counts).tolist():
            folds[codes[at]] = join(folds[codes[at]], elements[at])
        encode = self._folder.encode
        return [pa.array([None if fold is ABSENT else encode(fold) for fold in folds], pa.binary())]

    @cached_property
    def _folder(self) -> ObjectFolder:
        return ObjectFolder(self.monoid)


@dataclass(frozen=True)
class Decoded:
    """A `lift` that reads an element; equal ones make equal monoids."""

    monoid: Monoid

    def __call__(self, data: bytes) -> Any:
        return ObjectFolder(self.monoid).decode(data)


def _over_elements(
    monoid: Monoid, parts: tuple[str, ...], lift: Callable[..., Any], result: pa.DataType
) -> Monoid:
    """The aggregate again, for columns that hold its elements; these are of rows that count."""
    return replace(
        monoid,
        columns=parts,
        lift=lift,
        specialise=None,
        plain=None,
        where=None,
        unbound=None,
        timed=None,
        sql=None,
        result=_Always(result),
    )


@dataclass(frozen=True)
class _Always:
    """A result type that does not depend on the columns; equal ones make equal monoids."""

    type_: pa.DataType

    def __call__(self, types: tuple[pa.DataType, ...]) -> pa.DataType:
        return self.type_


def _scalar(a: Any) -> Any:
    return a


def _one(a: Any) -> Any:
    return (a,)


def _two(a: Any, b: Any) -> Any:
    return (a, b)


def _three(a: Any, b: Any, c: Any) -> Any:
    return (a, b, c)


def _four(a: Any, b: Any, c: Any, d: Any) -> Any:
    return (a, b, c, d)


def _five(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    return (a, b, c, d, e)


def _six(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    return (a, b, c, d, e, f)


def _seven(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any) -> Any:
    return (a, b, c, d, e, f, g)


def _eight(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    return (a, b, c, d, e, f, g, h)


# Written out, because a compiled kernel is kept on disk under the text of its functions.
_LIFTS: dict[int, Callable[..., Any]] = dict(
    enumerate((_scalar, _one, _two, _three, _four, _five, _six, _seven, _eight))
)
