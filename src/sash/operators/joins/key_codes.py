"""The keys of two tables as numbers that can be compared.

Each table is encoded by itself, so that two threads can do it, and then the few distinct keys of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.arrays import Ints
from sash.operators.columns.coded_keys import key_codes
from sash.operators.joins.hash_band_or_matrix import Equality
from sash.operators.threads import in_threads

_SPREAD = 4
"""Integer keys are their own codes unless their range is this many times as large as there are rows."""


def common_codes(
    keys: Sequence[Equality], left: pa.Table, right: pa.Table, *, workers: int = 1
) -> tuple[Ints, Ints, int]:
    """A number for each row of the left, and of the right: equal where the keys are; and one above all.

    >>> left, right = pa.table({"k": ["u", None]}), pa.table({"key": [None, "v"]})
    >>> common_codes([Equality("k", "key", pa.string())], left, right)
    (array([0, 1]), array([1, 2]), 3)
    """
    rows = left.num_rows, right.num_rows
    if not keys or not sum(rows):
        return np.zeros(rows[0], np.int64), np.zeros(rows[1], np.int64), 1
    columns = [
        [left[key.left].cast(key.type).combine_chunks() for key in keys],
        [right[key.right].cast(key.type).combine_chunks() for key in keys],
    ]
    if len(keys) == 1 and pa.types.is_integer(keys[0].type):
        (one,), (two,) = columns
        if not one.null_count + two.null_count:
            values = one.to_numpy(), two.to_numpy()
            least = min(int(own.min()) for own in values if len(own))
            greatest = max(int(own.max()) for own in values if len(own))
            if greatest - least < _SPREAD * sum(rows):
                return values[0] - least, values[1] - least, greatest - least + 1
    encoded = in_threads([partial(_encoded, own) for own in columns], workers=workers)
    distinct = pa.concat_tables([table for table, _ in encoded])
    codes = key_codes(distinct, distinct.column_names)
    first = encoded[0][0].num_rows
    return codes[:first][encoded[0][1]], codes[first:][encoded[1][1]], int(codes.max()) + 1


def _encoded(columns: Sequence[pa.Array]) -> tuple[pa.Table, Ints]:
    """Distinct keys, and for each row the number of its key among them."""
    table = pa.table(columns, [str(number) for number in range(len(columns))])
    if len(columns) == 1:
        encoded = pc.dictionary_encode(columns[0], null_encoding="encode")
        return pa.table([encoded.dictionary], ["0"]), encoded.indices.to_numpy()
    codes = key_codes(table, table.column_names)
    _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
    return table.take(pa.array(first)), numbers
