"""The window of a report as plain columns: window_id, window_start and window_end instead of one struct."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from sash.operators.bound_query import WINDOW, BoundQuery


def plain_names(column: str, fields: Iterable[str]) -> dict[str, str]:
    """The name of each field as a column of its own.

    >>> plain_names("window", ["id", "start"])
    {'id': 'window_id', 'start': 'window_start'}
    """
    return {field: f"{column}_{field}" for field in fields}


def flat_schema(bound: BoundQuery) -> list[str]:
    """The names of the columns of flat reports."""
    window = plain_names(WINDOW, (field.name for field in bound.window_type))
    return [name for one in bound.output.names for name in (window.values() if one == WINDOW else [one])]


def flat_table(reports: pa.Table) -> pa.Table:
    """The same rows, with the fields of the window in its place."""
    columns: dict[str, pa.ChunkedArray] = {}
    for name in reports.column_names:
        column = reports[name]
        if name == WINDOW:
            fields = plain_names(WINDOW, (field.name for field in column.type))
            columns |= {plain: pc.struct_field(column, field) for field, plain in fields.items()}
        else:
            columns[name] = column
    return pa.table(columns)


def nested_table(reports: pa.Table) -> pa.Table:
    """The reverse of `flat_table`; reports that have a window, and other rows, are left as they are."""
    plain = plain_names(WINDOW, ("name", "id", "start", "end"))
    fields = {field: name for field, name in plain.items() if name in reports.column_names}
    if WINDOW in reports.column_names or not {"id", "start", "end"} <= set(fields):
        return reports
    parts = [reports[name].combine_chunks() for name in fields.values()]
    window = pa.StructArray.from_arrays(parts, names=list(fields))
    return reports.drop_columns(list(fields.values())).append_column(WINDOW, window)
