"""The latest row of each key: how it is compared with the one before it, and what it looks like.

    code of a row  =  hash of its values, xor that of the row of no events

Two rows are the same if their codes are: a hash has 64 bits. Numbers are compared as Spark groups them, so
that −0.0 is 0.0 and NaN is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.bound_query import UPDATED_AT, BoundLatest
from sash.operators.columns.layout import Layout
from sash.operators.columns.times import from_integers
from sash.operators.engine.lanes.row_words import Words
from sash.operators.folding.values import values_over
from sash.operators.kinds.kind_base import Held
from sash.operators.windows.ranges import Ranges


def row_codes(rows: pa.Table) -> Ints:
    """The code of each row but the last, which is that of no events."""
    hashes = Words(rows.schema).hashed(rows)[0]
    codes: Ints = hashes[:-1] ^ hashes[-1]
    return codes


def latest_table(bound: BoundLatest, keys: pa.Table, look_backs: Sequence[pa.Table], now: int) -> pa.Table:
    """Keys and the values of each look-back as rows that hold for `now`."""
    columns: dict[str, Any] = {key: keys[key] for key in bound.keys}
    for window, values in zip(bound.query.windows, look_backs, strict=True):
        columns |= {bound.feature(name, window): values[name] for name in bound.aggregates}
    count = look_backs[0].num_rows
    columns[UPDATED_AT] = from_integers(np.full(count, now), bound.bound_type)
    return pa.table(columns, schema=bound.output)


def latest_of(bound: BoundLatest, layout: Layout, now: int) -> pa.Table:
    """The rows of a bounded input that holds no event after `now`."""
    if not layout.slots:
        return bound.output.empty_table()
    held, look_backs = Held.all_of(layout), []
    changed = np.zeros(layout.slots, np.bool_)
    slot = np.append(np.arange(layout.slots), layout.slots - 1)
    end = np.append(layout.offsets[1:], layout.offsets[-1])
    for window in bound.query.windows:
        first = held.before(now - window.size + 1)  # type: ignore[attr-defined]
        begin = np.append(layout.offsets[:-1] + first, layout.offsets[-1])
        ranges = Ranges(slot, slot, begin, end, begin, end, end)
        look_backs.append(values_over(bound, layout.rows, ranges).columns)
        changed |= row_codes(look_backs[-1]) != 0
    chosen = pa.array(np.flatnonzero(changed))
    firsts = pa.array(layout.firsts).take(chosen)
    keys = layout.rows.select(list(bound.keys)).take(firsts)
    return latest_table(bound, keys, [values.take(chosen) for values in look_backs], now)
