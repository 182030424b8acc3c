"""What a query says: reports in the form of its output, and the events that are in no window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.operators.applied import whole_windows
from sash.operators.bound import (
    LATE_REASON,
    LATE_WINDOW,
    REVISION,
    WINDOW,
    BoundQuery,
    BoundRolling,
    BoundWhole,
)
from sash.operators.folder import fold_ranges
from sash.operators.layout import Layout
from sash.operators.ranges import Ranges
from sash.operators.times import from_integers
from sash.semantics.window import Window

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Answer:
    """Reports, and late events."""

    reports: pa.Table
    late: pa.Table


def reports(
    bound: BoundQuery,
    window: Window,
    layout: Layout,
    ranges: Ranges,
    *,
    keys: pa.Table,
    revisions: Ints | None = None,
) -> pa.Table:
    """One row a window (or as many as a function over whole windows answers with); `keys` has the key of
    each slot."""
    if revisions is None:
        revisions = np.zeros(len(ranges), np.int64)
    if isinstance(bound, BoundWhole):
        owners, results = whole_windows(bound.computation, layout.rows, ranges)
        ranges, revisions = ranges.take(owners), revisions[owners]
        values = {name: results[name] for name in results.column_names}
    else:
        values = {
            name: fold_ranges(monoid, layout.rows, ranges, bound.output.field(name).type)
            for name, monoid in bound.aggregates.items()
        }
    owners_keys = keys.take(pa.array(ranges.slot))
    columns: dict[str, Any] = {key: owners_keys[key] for key in bound.keys}
    columns[WINDOW] = _window_column(bound, window, ranges)
    columns |= values
    if bound.query.corrects:
        columns[REVISION] = pa.array(revisions)
    return pa.table(columns, schema=bound.output)


def _window_column(bound: BoundQuery, window: Window, ranges: Ranges) -> pa.StructArray:
    parts = [
        pa.array(ranges.id),
        from_integers(ranges.start, bound.bound_type),
        from_integers(ranges.end, bound.bound_type),
    ]
    if bound.several_windows:
        parts.insert(0, pa.array([window.label] * len(ranges), pa.string()))
    return pa.StructArray.from_arrays(parts, fields=list(bound.window_type))


def features(bound: BoundRolling, layout: Layout, events: Ints, lookbacks: Sequence[Ranges]) -> pa.Table:
    """One row for each of the events at these positions: a look-back has one range for each, so that its
    folds are columns."""
    table = layout.rows.take(pa.array(events))
    for window, ranges in zip(bound.query.windows, lookbacks, strict=True):
        for name, monoid in bound.aggregates.items():
            feature = bound.feature(name, window)
            result = bound.output.field(feature).type
            table = table.append_column(feature, fold_ranges(monoid, layout.rows, ranges, result))
    return table.cast(bound.output)


def late_rows(
    bound: BoundQuery, rows: pa.Table, reasons: str | list[str], *, window: str | None = None
) -> pa.Table:
    """Input rows with the reason why they are in no window, and which window could not place them."""
    given = reasons if isinstance(reasons, list) else [reasons] * rows.num_rows
    rows = rows.append_column(LATE_WINDOW, pa.array([window] * rows.num_rows, pa.string()))
    rows = rows.append_column(LATE_REASON, pa.array(given, pa.string()))
    return rows.select([name for name in bound.late_output.names if name in rows.schema.names])
