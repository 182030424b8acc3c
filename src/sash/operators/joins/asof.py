"""As-of joins over columns: rows of both sides in the order of time → the answers to those of the left."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.joins.asof import matches
from sash.arrays import Ints, Mask
from sash.operators.joins.archive import Rows, nullable
from sash.operators.joins.bound_asof import BoundAsof
from sash.operators.joins.key_codes import common_codes


def answers(bound: BoundAsof, left: Rows, right: Rows) -> Ints:
    """The position of the right row that answers each left row, or −1. Both are in the order of time."""
    codes, keys = common_codes(bound.keys, left.table, right.table)
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


def newest_of_each_key(bound: BoundAsof, rows: Rows) -> Mask:
    """Which rows, in the order of time, no later one of their key follows."""
    codes, keys = common_codes(bound.keys, bound.left.schema.empty_table(), rows.table)
    last = np.full(keys, -1)
    last[codes] = np.arange(len(rows))  # of equal codes numpy writes the last
    newest = np.zeros(len(rows), np.bool_)
    newest[last[last >= 0]] = True
    return newest
