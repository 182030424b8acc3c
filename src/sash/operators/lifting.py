"""What an aggregate lifts of rows: its input columns, and which rows count.

    counts(row)  =  no input column is null  and  the condition `where`, if there is one, is true

Everything that makes elements of rows asks here, so that a condition needs no second path anywhere: a row
for which it is not true is masked like one with a null.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.monoid import Monoid
from sash.operators.inputs import Mask, to_numpy
from sash.operators.row_predicates import condition_truths


def inputs_of(monoid: Monoid, rows: pa.Table) -> tuple[list[NDArray[Any]], Mask | None]:
    """The input columns as kernels want them, and which rows count (None: all)."""
    read = [to_numpy(rows[column]) for column in monoid.columns]
    masks = [mask for _, mask in read if mask is not None]
    if monoid.where is not None:
        masks.append(condition_truths(monoid.where, rows))
    return [values for values, _ in read], reduce(np.logical_and, masks) if masks else None


def objects_of(monoid: Monoid, rows: pa.Table) -> tuple[list[tuple[Any, ...]], list[bool]]:
    """The inputs of each row as Python's own values, and whether the row counts."""
    columns = [rows[column].to_pylist() for column in monoid.columns]
    events = list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows
    counts = [all(value is not None for value in event) for event in events]
    if monoid.where is not None:
        true = condition_truths(monoid.where, rows)
        counts = [there and bool(holds) for there, holds in zip(counts, true, strict=True)]
    return events, counts
