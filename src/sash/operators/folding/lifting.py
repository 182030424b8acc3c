"""What an aggregate lifts of rows: its input columns, and which rows count.

    counts(row)  =  no input column is null  and  the condition `where`, if there is one, is true

Everything that makes elements of rows calls this, so that a condition needs no second path anywhere: a row
for which it is not true is masked like one with a null.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pyarrow as pa

from sash.aggregation.monoid import Monoid
from sash.arrays import Array, Mask
from sash.operators.columns.arrow_columns import to_numpy
from sash.operators.predicates.row_predicates import condition_truths


def known_rows(monoid: Monoid, rows: pa.Table) -> Mask | None:
    """Which rows count; None: all of them."""
    masks = [rows[column].is_valid().to_numpy() for column in monoid.columns if rows[column].null_count]
    if monoid.where is not None:
        masks.append(condition_truths(monoid.where, rows))
    return reduce(np.logical_and, masks) if masks else None


def inputs_of(monoid: Monoid, rows: pa.Table) -> tuple[list[Array], Mask | None]:
    """The input columns as kernels want them, and which rows count (None: all)."""
    return [to_numpy(rows[column])[0] for column in monoid.columns], known_rows(monoid, rows)
