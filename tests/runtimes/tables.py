"""Arrow tables from arrivals, and reports from Arrow tables: for comparing a runtime with the reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from sash.semantics.reference import Arrival, WindowReport

Shown = tuple[Any, ...]


def table_of(arrivals: Sequence[Arrival], types: dict[str, pa.DataType]) -> pa.Table:
    """One row an arrival: key, time, and the payload columns of `types`."""
    columns = {
        "k": pa.array([arrival.key for arrival in arrivals], pa.string()),
        "t": pa.array([arrival.time for arrival in arrivals], pa.int64()),
    }
    for name, type_ in types.items():
        columns[name] = pa.array([arrival.values.get(name) for arrival in arrivals], type_)
    return pa.table(columns)


def rows_of(reports: pa.Table, aggregates: Iterable[str]) -> list[Shown]:
    """(key, window, id, start, end, *aggregates) of every report of a runtime, sorted."""
    rows = []
    for row in reports.to_pylist():
        window = row["window"]
        values = [row[name] for name in aggregates]
        rows.append((row["k"], window.get("name"), window["id"], window["start"], window["end"], *values))
    return sorted(rows, key=repr)


def expected_rows(
    reports: Iterable[WindowReport], aggregates: Iterable[str], *, named: bool
) -> list[Shown]:
    """The same of the reference's reports."""
    names = list(aggregates)
    rows = [
        (
            report.key,
            report.window if named else None,
            report.id,
            report.start,
            report.end,
            *(report.values[name] for name in names),
        )
        for report in reports
    ]
    return sorted(rows, key=repr)
