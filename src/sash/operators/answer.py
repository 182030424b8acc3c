"""What a query answers with: reports in the form of its output, and the events that are in no window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.bound_query import (
    REVISION,
    WINDOW,
    BoundQuery,
    BoundRolling,
)
from sash.operators.columns.layout import Layout
from sash.operators.columns.times import from_integers
from sash.operators.folding.values import Evaluator, Values, evaluated
from sash.operators.windows.ranges import Ranges, RepeatedRanges
from sash.semantics.window import Window


@dataclass(frozen=True)
class Answer:
    """Reports, and late events."""

    reports: pa.Table
    late: pa.Table
    forgotten: int = 0
    """How many keys were forgotten because nothing came of them for `forget_after`."""
    handed: pa.Table | None = None
    """Windows that others compute, as whoever hands them out has written them."""


def reports(
    bound: BoundQuery,
    window: Window,
    layout: Layout,
    ranges: Ranges,
    *,
    keys: pa.Table,
    revisions: Ints | None = None,
    evaluate: Evaluator = evaluated,
) -> pa.Table:
    """One row per window (or as many as a function over whole windows answers with); `keys` has the key of
    each slot, `evaluate` is who computes the values."""
    values = evaluate(bound, window, layout, ranges)
    return report_table(bound, window, ranges, values, keys=keys, revisions=revisions)


def report_table(
    bound: BoundQuery,
    window: Window,
    ranges: Ranges,
    values: Values,
    *,
    keys: pa.Table,
    revisions: Ints | None = None,
) -> pa.Table:
    """Values that are computed already, as reports."""
    if revisions is None:
        first = np.zeros(len(ranges), np.int64)
        revisions = ranges.revision if isinstance(ranges, RepeatedRanges) else first
    if not values.is_one_each(len(ranges)):
        ranges, revisions = ranges.take(values.owners), revisions[values.owners]
    is_key = len(ranges) == keys.num_rows and bool((ranges.slot == np.arange(len(ranges))).all())
    owners_keys = keys if is_key else keys.take(pa.array(ranges.slot))
    columns: dict[str, Any] = {key: owners_keys[key] for key in bound.keys}
    columns[WINDOW] = _window_column(bound, window, ranges)
    columns |= {name: values.columns[name] for name in values.columns.column_names}
    if bound.query.revises:
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


def features(
    bound: BoundRolling, rows: pa.Table, lookbacks: Sequence[pa.Table], revisions: Ints | None = None
) -> pa.Table:
    """One row per event: a look-back has one range for each, so that its folds are columns."""
    columns: dict[str, Any] = {name: rows[name] for name in bound.output.names if name in rows.column_names}
    if bound.query.revises:
        columns[REVISION] = pa.array(np.zeros(rows.num_rows, np.int64) if revisions is None else revisions)
    for window, folds in zip(bound.query.windows, lookbacks, strict=True):
        columns |= {bound.feature(name, window): folds[name] for name in bound.aggregates}
    return pa.Table.from_arrays([columns[name] for name in bound.output.names], schema=bound.output)
