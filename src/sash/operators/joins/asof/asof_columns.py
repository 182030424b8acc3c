"""As-of joins over columns: which right row matches each left one; both sides are in the order of time."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.joins import asof as kernels
from sash.arrays import Ints, Mask
from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.key_codes import common_codes
from sash.operators.joins.state.archive import Rows
from sash.operators.threads import in_threads
from sash.semantics.asof import Direction


def matches(bound: BoundAsof, left: Rows, right: Rows, *, workers: int = 1) -> Ints:
    """The position of the right row that matches each left row, or −1. Both are in the order of time."""
    left_codes, right_codes, keys = common_codes(bound.keys, left.table, right.table, workers=workers)

    def merged(direction: Direction) -> Ints:
        return kernels.matches(
            direction, left_codes, left.time, right_codes, right.time,
            keys=keys, reach=bound.reach,
        )  # fmt: skip

    if bound.join.direction != "nearest":
        return merged(bound.join.direction)

    before, after = in_threads([partial(merged, "backward"), partial(merged, "forward")], workers=workers)
    return kernels.nearer(left.time, right.time, before, after)


def answer_table(
    bound: BoundAsof, left: Rows, right: Rows, found: Ints, *, places: bool = False, workers: int = 1
) -> pa.Table:
    """Left rows with the columns of the right rows that were found for them."""
    known = found >= 0
    index = pa.array(found) if known.all() else pa.array(found, mask=~known)
    taken = in_threads(
        [partial(right.table[name].take, index) for name in bound.right.others], workers=workers
    )
    columns = [*left.table.columns, *taken]
    if places:
        return pa.table([*columns, pa.array(left.sequence)], schema=bound.placed_output)
    return pa.table(columns, schema=bound.output)


def newest_of_each_key(bound: BoundAsof, rows: Rows) -> Mask:
    """Which rows, in the order of time, no later one of their key follows."""
    _, codes, keys = common_codes(bound.keys, bound.left.schema.empty_table(), rows.table)
    last = np.full(keys, -1)
    last[codes] = np.arange(len(rows))  # of equal codes numpy writes the last
    newest = np.zeros(len(rows), np.bool_)
    newest[last[last >= 0]] = True
    return newest
