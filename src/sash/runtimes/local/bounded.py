"""A bounded input is one batch: nothing in it is late, and its end closes every window.

    table → (group and sort) → windower → ranges → folder → table

The answer is that of `semantics.reference` for a single batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sash.operators.applied import whole_windows
from sash.operators.folder import fold_ranges
from sash.operators.layout import Layout, arrange
from sash.operators.ranges import Ranges
from sash.operators.windowers import window_ranges
from sash.runtimes.bound import (
    LATE_REASON,
    LATE_WINDOW,
    REVISION,
    WINDOW,
    BoundQuery,
    BoundRolling,
    BoundWhole,
)
from sash.runtimes.times import from_integers, to_integers
from sash.semantics.event import Order
from sash.semantics.window import Window

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Answer:
    """What a query says about a bounded input."""

    reports: pa.Table
    late: pa.Table


def answer(
    bound: BoundQuery, table: pa.Table, *, ordinals: Ints | None = None, horizon: int | None = None
) -> Answer:
    """Evaluate a bound query over a table.

    `ordinals` are the arrival order of the rows (as they stand, when not given). `horizon` is the greatest
    time of the whole input, when the table is only a part of it.
    """
    known = pc.is_valid(table[bound.time])
    late = [_late(bound, table.filter(pc.invert(known)), "time is null")]
    if ordinals is None:
        ordinals = np.arange(table.num_rows)
    ordinals = ordinals[known.to_numpy(zero_copy_only=False)]
    table = table.filter(known)
    times = to_integers(table[bound.time])
    newest = int(times.max()) if len(times) else 0
    layout = arrange(table, list(bound.keys), times, ordinals, bound.query.order)
    if isinstance(bound, BoundRolling):
        return Answer(_features(bound, layout), late[0])
    reports = []
    for window in bound.query.windows:
        placed, displaced = _place(bound, window, layout)
        late.append(displaced)
        last = newest if horizon is None else horizon
        ranges = window_ranges(window, placed, horizon=last, empty=bound.query.empty)
        reports.append(_reports(bound, window, placed, _reported(bound, ranges, last)))
    return Answer(pa.concat_tables(reports), pa.concat_tables(late))


def _reported(bound: BoundQuery, ranges: Ranges, newest: int) -> Ranges:
    """All windows when the end of the input flushes; otherwise those that the last watermark closes."""
    if bound.query.flush:
        return ranges
    if bound.query.order is Order.ARRIVAL:
        return ranges.where(ranges.waits_for_nothing)
    return ranges.where(ranges.closes_at <= newest - bound.query.delay.length)


def _place(bound: BoundQuery, window: Window, layout: Layout) -> tuple[Layout, pa.Table]:
    """The layout without the events that this window cannot place, and those events."""
    if type(window).place is Window.place:
        return layout, _late(bound, layout.rows.slice(0, 0), "")
    reasons: dict[int, str] = {}
    for base, events in layout.events():
        reasons |= {base + event.ordinal: reason for event, reason in window.place(events)[1]}
    out = np.fromiter(reasons, np.int64, len(reasons))
    rejected = _late(bound, layout.rows.take(pa.array(out)), list(reasons.values()), window=window.label)
    keep = np.ones(len(layout.times), np.bool_)
    keep[out] = False
    return layout.where(keep), rejected


def _late(
    bound: BoundQuery, rows: pa.Table, reasons: str | list[str], *, window: str | None = None
) -> pa.Table:
    given = reasons if isinstance(reasons, list) else [reasons] * rows.num_rows
    rows = rows.append_column(LATE_WINDOW, pa.array([window] * rows.num_rows, pa.string()))
    rows = rows.append_column(LATE_REASON, pa.array(given, pa.string()))
    return rows.select([name for name in bound.late_output.names if name in rows.schema.names])


def _reports(bound: BoundQuery, window: Window, layout: Layout, ranges: Ranges) -> pa.Table:
    if isinstance(bound, BoundWhole):
        owners, results = whole_windows(bound.computation, layout.rows, ranges)
        ranges = ranges.take(owners)
        values = {name: results[name] for name in results.column_names}
    else:
        values = {
            name: fold_ranges(monoid, layout.rows, ranges, bound.output.field(name).type)
            for name, monoid in bound.aggregates.items()
        }
    keys = layout.rows.select(list(bound.keys)).take(pa.array(layout.firsts[ranges.slot]))
    columns: dict[str, Any] = {key: keys[key] for key in bound.keys}
    columns[WINDOW] = _window_column(bound, window, ranges)
    columns |= values
    if bound.query.corrects:
        columns[REVISION] = pa.array(np.zeros(len(ranges), np.int64))
    return pa.table(columns, schema=bound.output)


def _features(bound: BoundRolling, layout: Layout) -> pa.Table:
    """A look-back has one window for every event, in the order of the layout: its folds are columns."""
    features = layout.rows
    for window in bound.query.windows:
        ranges = window_ranges(window, layout, horizon=0)
        for name, monoid in bound.aggregates.items():
            feature = bound.feature(name, window)
            result = bound.output.field(feature).type
            features = features.append_column(feature, fold_ranges(monoid, layout.rows, ranges, result))
    return features.cast(bound.output)


def _window_column(bound: BoundQuery, window: Window, ranges: Ranges) -> pa.StructArray:
    parts = [
        pa.array(ranges.id),
        from_integers(ranges.start, bound.bound_type),
        from_integers(ranges.end, bound.bound_type),
    ]
    if bound.several_windows:
        parts.insert(0, pa.array([window.label] * len(ranges), pa.string()))
    return pa.StructArray.from_arrays(parts, fields=list(bound.window_type))
