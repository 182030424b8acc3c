"""What a join emits, as a table: pairs, and rows of an outer join that stay alone, in the join's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.kernels.joins.pair_order import pair_order
from sash.arrays import Ints, Mask
from sash.operators.columns.times import from_integers
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.joins.hash_band_or_matrix import Equality
from sash.operators.joins.state.side_shares import JoinStore, Pairs, columns_of
from sash.semantics.expression import Side


def pair_table(
    store: JoinStore, found: Sequence[Pairs], unmatched: Mapping[Side, Ints] | None = None, *,
    places: bool = False,
) -> pa.Table:  # fmt: skip
    """Pairs and rows that stay alone, in the form and the order of the join's output; with `places`, those
    of their rows too."""
    bound, pairs = store.bound, sum(len(left) for left, _ in found)
    unmatched = unmatched or {}
    if not pairs + sum(map(len, unmatched.values())):
        return (bound.placed_output if places else bound.output).empty_table()
    left, right = (np.concatenate(own) if found else np.empty(0, np.int64) for own in columns_of(found))
    met = {
        side: store.archives[side].at(np.concatenate([paired, unmatched.get(side, paired[:0])]))
        for side, paired in zip(Side, (left, right), strict=True)
    }
    times = {side: rows.time for side, rows in met.items()}
    together = np.maximum(*(time[:pairs] for time in times.values()))
    by_themselves = [times[side][pairs:] + bound.join.within.length for side in Side]
    time = np.concatenate([together, *by_themselves])
    # A row of the output has a row of the left, unless a right one is alone in it; and the other way round.
    rows = np.arange(len(time))
    first_right = pairs + len(by_themselves[0])
    has = {Side.LEFT: rows < first_right, Side.RIGHT: (rows < pairs) | (rows >= first_right)}
    sequences = {side: _spread(met[side].sequence, has[side]) for side in Side}
    order = pair_order(time, *sequences.values())
    ranks = {side: rows if own.all() else np.cumsum(own) - 1 for side, own in has.items()}
    sides = {side: met[side].table(ranks[side][order], has[side][order]) for side in Side}
    columns = [_key(sides, key, bound, has[Side.LEFT][order]) for key in bound.keys]
    columns.append(from_integers(time[order] + bound.after, bound.time_type))
    columns += [sides[side][name] for side in Side for name in bound.of(side).others]
    if not places:
        return pa.table(columns, schema=bound.output)
    columns += [pa.array(sequences[side][order], mask=~has[side][order]) for side in Side]
    return pa.table(columns, schema=bound.placed_output)


def _spread(numbers: Ints, has: Mask) -> Ints:
    """The numbers where a row has one; a greater one elsewhere."""
    if has.all():
        return numbers
    spread = np.full(len(has), numbers.max() + 1 if len(numbers) else 0)
    spread[has] = numbers
    return spread


def _key(
    sides: Mapping[Side, pa.Table], key: Equality, bound: BoundJoin, has_left: Mask
) -> pa.ChunkedArray:
    type_ = bound.output.field(key.left).type
    left = sides[Side.LEFT][key.left].cast(type_)
    if has_left.all():
        return left
    return pc.if_else(pa.array(has_left), left, sides[Side.RIGHT][key.right].cast(type_))
