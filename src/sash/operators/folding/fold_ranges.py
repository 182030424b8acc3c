"""The folder: from ranges to values, one column per aggregate. HOW FAST, never WHICH events.

    lift: rows → elements        fold: elements × ranges → elements        lower: elements → values

A monoid whose elements fit numpy columns is folded by one compiled call for all keys. One over objects
(sketches, lists, strings) is interpreted, with two stacks: still about three combines per event. The three
steps are apart because a parallel plan puts other workers, or a shuffle, between them; where nothing is in
between, machine code does all three in one pass (`values`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat, starmap
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sash.aggregation import encoding
from sash.aggregation.elements import ABSENT
from sash.aggregation.interpreted import (
    interpreted,
    is_scalar,
    lifting,
    object_column,
    object_words,
    require_one_length,
    shaped,
)
from sash.aggregation.kernels.compiler.compiled import Compiled, compiled
from sash.aggregation.kernels.compiler.shape import shape_of
from sash.aggregation.kernels.folds.range_fold import present, range_fold, range_folds
from sash.aggregation.kernels.folds.range_values import range_values
from sash.aggregation.monoid import Kind, Monoid
from sash.arrays import Array, Ints, Mask
from sash.operators.columns.arrow_columns import from_numpy, kind_of_type, to_numpy
from sash.operators.folding.elements import Elements
from sash.operators.folding.lifting import inputs_of, known_rows
from sash.operators.windows.ranges import Ranges


class Folder(Protocol):
    """One monoid over columns of known types. Safe to share between threads."""

    def known(self, rows: pa.Table) -> Mask | None:
        """Which rows count: those without a null in a column of the monoid; None: all of them."""
        ...

    def lift(self, rows: pa.Table, *, known: Mask | None = None) -> Elements:
        """The elements of rows; `known` marks those that count, if that is known already."""
        ...

    def fold(self, elements: Elements, lo: Ints, hi: Ints, *, groups: Ints) -> Elements:
        """One element for each [lo, hi). `groups` is where runs of ranges begin in which neither lo nor
        hi decreases; its first entry is 0, its last the number of ranges."""
        ...

    def lower(self, elements: Elements, result: pa.DataType) -> pa.Array: ...


def compiles(monoid: Monoid, schema: pa.Schema) -> bool:
    """Whether its elements over columns of this schema are numbers, which machine code can fold."""
    kinds = _kinds(monoid, schema)
    return "object" not in kinds and monoid.bind(kinds).columnar


def combined_by_python(monoid: Monoid, schema: pa.Schema) -> bool:
    """Whether elements are objects, which Python combines: those of a sketch, or of a user's monoid."""
    bound = monoid.bind(_kinds(monoid, schema))
    return not compiles(monoid, schema) or shape_of(bound, None).has_objects


def folder_of(
    monoid: Monoid, schema: pa.Schema, *, rows: pa.Table | None = None, longest: int | None = None
) -> Folder:
    """The folder for columns of this schema. Given the rows, and how many of them the longest range has,
    integer sums take the cheaper form where that is proved to be safe."""
    if not compiles(monoid, schema):
        return ObjectFolder(monoid)
    bound = monoid.bind(_kinds(monoid, schema))
    if rows is not None and longest is not None and bound.plain is not None:
        inputs = [to_numpy(rows[column])[0] for column in monoid.columns]
        bound = bound.narrowed(magnitude=_magnitude(inputs), events=longest)
    return ColumnFolder(compiled(bound, kinds=None))


def fold_ranges(monoid: Monoid, rows: pa.Table, ranges: Ranges, result: pa.DataType) -> pa.Array:
    """The value of `monoid` over every range of `rows`."""
    folder = folder_of(monoid, rows.schema, rows=rows, longest=ranges.longest)
    return values_of(folder, rows, ranges, result)


def values_of(folder: Folder, rows: pa.Table, ranges: Ranges, result: pa.DataType) -> pa.Array:
    """The values of a folder over every range of `rows`."""
    values = folder.values(rows, ranges, result) if isinstance(folder, ColumnFolder) else None
    if values is None:
        folds = folder.fold(folder.lift(rows), ranges.lo, ranges.hi, groups=ranges.groups)
        values = folder.lower(folds, result)
    return values


@dataclass(frozen=True)
class ColumnFolder:
    """By machine code."""

    machine: Compiled

    def known(self, rows: pa.Table) -> Mask | None:
        return known_rows(self.machine.monoid, rows)

    def lift(self, rows: pa.Table, *, known: Mask | None = None) -> Elements:
        valid = self.known(rows) if known is None else known
        inputs = [to_numpy(rows[column])[0] for column in self.machine.monoid.columns]
        return Elements(self.machine.lift(inputs, valid=valid, n=rows.num_rows), valid)

    def fold(self, elements: Elements, lo: Ints, hi: Ints, *, groups: Ints) -> Elements:
        folds = range_fold(self.machine, elements.columns, lo, hi, groups=groups)
        return Elements(folds, present(elements.known, lo, hi))

    def lower(self, elements: Elements, result: pa.DataType) -> pa.Array:
        values, known = self.machine.lower(elements.columns, present=elements.known)
        return from_numpy(values, known, result)

    def values(self, rows: pa.Table, ranges: Ranges, result: pa.DataType) -> pa.Array | None:
        """All three steps in one pass; None where one of them is interpreted."""
        inputs, valid = inputs_of(self.machine.monoid, rows)
        found = range_values(
            self.machine, inputs, valid, ranges.lo, ranges.hi, groups=ranges.groups, n=rows.num_rows
        )
        return None if found is None else from_numpy(*found, result)


@dataclass(frozen=True)
class ObjectFolder:
    """By the monoid's own Python functions."""

    monoid: Monoid

    def known(self, rows: pa.Table) -> Mask | None:
        return known_rows(self.monoid, rows)

    def lift(self, rows: pa.Table, *, known: Mask | None = None) -> Elements:
        columns = [rows[column].to_pylist() for column in self.monoid.columns]
        events = zip(*columns, strict=True) if columns else repeat((), rows.num_rows)
        valid = self.known(rows) if known is None else known
        lifted: list[Any]
        with lifting(self.monoid):
            if valid is None:
                lifted = list(starmap(self.monoid.lift, events))
            else:
                lifted = [
                    self.monoid.lift(*event) if there else self.monoid.identity()
                    for event, there in zip(events, valid.tolist(), strict=True)
                ]
        return self.elements(lifted, valid, returned_by="lift")

    def objects(self, elements: Elements) -> list[Any]:
        return list(elements.columns[0].tolist())

    def elements(self, objects: list[Any], known: Mask | None, *, returned_by: str = "combine") -> Elements:
        if not is_scalar(self.monoid):
            require_one_length(self.monoid, returned_by, objects)
        return Elements((object_column(objects),), known)

    def encode(self, element: Any) -> bytes:
        """An element as bytes; one without `encode` is made of plain values."""
        return (self.monoid.encode or encoding.encode)(element)

    def decode(self, data: bytes) -> Any:
        if self.monoid.decode is not None:
            return self.monoid.decode(data)
        element = encoding.decode(data)
        return element if is_scalar(self.monoid) else shaped(self.monoid)(element)

    def fold(self, elements: Elements, lo: Ints, hi: Ints, *, groups: Ints) -> Elements:
        folds = [ABSENT] * len(lo)
        fold = interpreted(range_folds, object_words(self.monoid.combine))
        bad = fold(
            (self.objects(elements),),
            groups.tolist(),
            lo.tolist(),
            hi.tolist(),
            0,
            len(groups) - 1,
            (folds,),
        )
        assert bad < 0, f"range {bad} of {len(lo)} is out of order"
        whole = [self.monoid.identity() if folded is ABSENT else folded for folded in folds]
        return self.elements(whole, present(elements.known, lo, hi))

    def lower(self, elements: Elements, result: pa.DataType) -> pa.Array:
        known = np.ones(len(elements), np.bool_) if elements.known is None else elements.known
        values = [
            self.monoid.lower(element) if there else self.monoid.nothing
            for element, there in zip(self.objects(elements), known.tolist(), strict=True)
        ]
        return pa.array(values, result)


def _kinds(monoid: Monoid, schema: pa.Schema) -> tuple[Kind, ...]:
    return tuple(kind_of_type(schema.field(column).type) for column in monoid.columns)


def _magnitude(inputs: list[Array]) -> int:
    return max(
        (abs(int(end)) for values in inputs if len(values) for end in (values.min(), values.max())),
        default=0,
    )
