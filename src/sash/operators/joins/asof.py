"""As-of joins over columns: rows of both sides in the order of time → the answers to those of the left."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.joins.asof import matches
from sash.arrays import Ints, Mask
from sash.operators.columns.layout import key_codes
from sash.operators.joins.archive import Rows, nullable
from sash.operators.joins.bound_asof import BoundAsof
from sash.operators.joins.strategy import Equality

_SPREAD = 4
"""Integer keys are their own codes unless their range is this many times as large as there are rows."""


def answers(bound: BoundAsof, left: Rows, right: Rows) -> Ints:
    """The position of the right row that answers each left row, or −1. Both are in the order of time."""
    codes, keys = codes_of(bound, left, right)
    tolerance = bound.join.tolerance
    return matches(
        bound.join.direction, codes[: len(left)], left.time, codes[len(left) :], right.time,
        keys=keys, reach=None if tolerance is None else tolerance.length,
    )  # fmt: skip


def answer_table(
    bound: BoundAsof, left: Rows, right: Rows, found: Ints, *, places: bool = False
) -> pa.Table:
    """Left rows with the columns of the right rows that were found for them."""
    known = found >= 0
    index = pa.array(found) if known.all() else pa.array(found, mask=~known)
    taken = nullable(right.table.select(bound.right.others)).take(index)
    columns = [*left.table.columns, *taken.columns]
    if places:
        return pa.table([*columns, pa.array(left.sequence)], schema=bound.placed_output)
    return pa.table(columns, schema=bound.output)


def codes_of(bound: BoundAsof, left: Rows, right: Rows) -> tuple[Ints, int]:
    """A number for each row of the left, then of the right: equal where the keys are; and a greater one."""
    rows = len(left) + len(right)
    if not bound.keys or not rows:
        return np.zeros(rows, np.int64), 1
    columns = {str(number): _both(key, left, right) for number, key in enumerate(bound.keys)}
    if len(columns) == 1:
        (column,) = columns.values()
        if pa.types.is_integer(column.type) and not column.null_count:
            values = column.to_numpy()
            least, greatest = int(values.min()), int(values.max())
            if greatest - least < _SPREAD * rows:
                return values - least, greatest - least + 1
    codes = key_codes(pa.table(columns), list(columns))
    return codes, int(codes.max()) + 1


def _both(key: Equality, left: Rows, right: Rows) -> pa.ChunkedArray:
    parts = [left.table[key.left].cast(key.type), right.table[key.right].cast(key.type)]
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], key.type)


def newest_of_each_key(bound: BoundAsof, rows: Rows) -> Mask:
    """Which rows, in the order of time, no later one of their key follows."""
    codes, keys = codes_of(bound, Rows.nothing(bound.left.schema), rows)
    last = np.full(keys, -1)
    last[codes] = np.arange(len(rows))  # of equal codes numpy writes the last
    newest = np.zeros(len(rows), np.bool_)
    newest[last[last >= 0]] = True
    return newest
