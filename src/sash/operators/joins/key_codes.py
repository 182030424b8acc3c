"""The keys of two tables as numbers that can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.columns.layout import key_codes
from sash.operators.joins.strategy import Equality

_SPREAD = 4
"""Integer keys are their own codes unless their range is this many times as large as there are rows."""


def common_codes(keys: Sequence[Equality], left: pa.Table, right: pa.Table) -> tuple[Ints, int]:
    """A number for each row of the left, then of the right: equal where the keys are; and one above all of
    them.

    >>> left, right = pa.table({"k": ["u", None]}), pa.table({"key": [None, "v"]})
    >>> common_codes([Equality("k", "key", pa.string())], left, right)
    (array([0, 1, 1, 2]), 3)
    """
    rows = left.num_rows + right.num_rows
    if not keys or not rows:
        return np.zeros(rows, np.int64), 1
    columns = {str(number): _both(key, left, right) for number, key in enumerate(keys)}
    if len(columns) == 1:
        (column,) = columns.values()
        if pa.types.is_integer(column.type) and not column.null_count:
            values = column.to_numpy()
            least, greatest = int(values.min()), int(values.max())
            if greatest - least < _SPREAD * rows:
                return values - least, greatest - least + 1
    codes = key_codes(pa.table(columns), list(columns))
    return codes, int(codes.max()) + 1


def _both(key: Equality, left: pa.Table, right: pa.Table) -> pa.ChunkedArray:
    parts = [left[key.left].cast(key.type), right[key.right].cast(key.type)]
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], key.type)
