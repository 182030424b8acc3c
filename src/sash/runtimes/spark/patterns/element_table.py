"""Elements of aggregates as a table, one row for each fold: how they travel between tasks.

A column holds numbers, or bytes (see `element_bytes`); one more has which elements are known, where not
all of them are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, takewhile

import numpy as np
import pyarrow as pa

from sash.aggregation.interpreted import object_column
from sash.arrays import Array
from sash.operators.folding.elements import Elements
from sash.operators.patterns.folding import Folds

KNOWN = "known"


def table_of_elements(folds: Folds) -> pa.Table:
    """
    >>> elements = Elements((np.array([1, 2]),), np.array([True, False]))
    >>> table_of_elements({"s": elements}).column_names
    ['0 0', '0 known']
    """
    columns = {}
    for aggregate, elements in enumerate(folds.values()):
        for part, column in enumerate(elements.columns):
            values = pa.array(column.tolist(), pa.binary()) if column.dtype == object else pa.array(column)
            columns[f"{aggregate} {part}"] = values
        if elements.known is not None:
            columns[f"{aggregate} {KNOWN}"] = pa.array(elements.known)
    return pa.table(columns)


def elements_in(table: pa.Table, names: Sequence[str]) -> Folds:
    """The elements of aggregates of these names.

    >>> table = table_of_elements({"s": Elements((np.array([1, 2]),), None)})
    >>> elements_in(table, ["s"])["s"].columns[0].tolist()
    [1, 2]
    """
    return {name: _elements(table, aggregate) for aggregate, name in enumerate(names)}


def _elements(table: pa.Table, aggregate: int) -> Elements:
    there = set(table.column_names)
    parts = takewhile(there.__contains__, (f"{aggregate} {part}" for part in count()))
    known = f"{aggregate} {KNOWN}"
    columns = tuple(_column(table[part]) for part in parts)
    return Elements(columns, _column(table[known]) if known in there else None)


def _column(values: pa.ChunkedArray) -> Array:
    if pa.types.is_binary(values.type):
        return object_column(values.to_pylist())
    column: Array = np.array(values.to_numpy())
    return column
