"""A bounded input is one batch: nothing in it is late, and its end makes every pair final."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.arrays import Ints
from sash.operators.columns.times import to_integers
from sash.operators.joins.asof.asof_columns import answer_table, matches
from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.bound_join import BoundJoin, BoundSide
from sash.operators.joins.join_output import pair_table
from sash.operators.joins.state.archive import Rows
from sash.operators.joins.state.side_shares import JoinStore
from sash.operators.late_rows import UNTIMED, with_reason
from sash.operators.windows.ranges import NEVER
from sash.semantics.expression import Side

SMALL = 2**16
"""As-of joins of fewer rows are done before threads have begun."""


def join_tables(
    bound: BoundJoin | BoundAsof, inputs: Mapping[Side, pa.Table], *, shares: int = 1,
    ordinals: Mapping[Side, Ints] | None = None, places: bool = False,
) -> pa.Table:  # fmt: skip
    """The pairs of two tables, in order, found in so many shares. `ordinals` are the arrival order of the
    rows (as they stand, when not given); with `places` they are in the answer."""
    new = {}
    for side in Side:
        table = inputs[side]
        sequence = np.arange(table.num_rows) if ordinals is None else ordinals[side]
        if table[bound.of(side).time].null_count:
            known = pc.is_valid(table[bound.of(side).time])
            table, sequence = table.filter(known), sequence[known.to_numpy()]
        new[side] = timed(bound.of(side), table, sequence)
    if isinstance(bound, BoundAsof):
        left, right = new.values()
        workers = shares if len(left) + len(right) > SMALL else 1
        found = matches(bound, left, right, workers=workers)
        return answer_table(bound, left, right, found, places=places, workers=workers)
    store = JoinStore(bound, shares=shares)
    pairs = store.meet(new)
    return pair_table(store, pairs, store.leave(NEVER), places=places)


def timed(side: BoundSide, table: pa.Table, sequence: Ints) -> Rows:
    """The rows of a table without null times, in event-time order."""
    times = to_integers(table[side.time])
    return Rows(table.combine_chunks(), times, sequence).in_order()


def untimed(side: BoundSide, table: pa.Table) -> pa.Table:
    """The rows that have no time, in the form of the late output."""
    return late(side, table.filter(pc.is_null(table[side.time])), UNTIMED)


def late(side: BoundSide, rows: pa.Table, reason: str) -> pa.Table:
    """Rows with the reason why they are in no pair."""
    return with_reason(rows, reason).cast(side.late_output)
