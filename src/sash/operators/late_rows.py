"""Late rows: a row of the input as it came, with the reason why it is in no window, pair or result.

Windows also name the window that could not place it. Which rows are late is decided where they are judged:
`engine.lateness`, `engine.operator` and `bounded_input` for windows, `joins.two_sided` and, of bounded
inputs, `joins.bounded_join` for joins, `stateful.streaming` for O+. On Spark `streaming.start` takes the
sink of `late=` and `streaming.deliver_outputs_to_sinks` hands them to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from sash.operators.bound_query import BoundQuery

LATE_WINDOW, LATE_REASON = "late_window", "late_reason"
UNTIMED = "time is null"
"""The reason of a row without a time; others are those of `semantics.watermark.Lateness` and of windows."""


def late_schema(schema: pa.Schema, *, windows: bool) -> pa.Schema:
    """Of the late rows of an input; with `windows` they name the window that could not place them."""
    added = [LATE_WINDOW, LATE_REASON] if windows else [LATE_REASON]
    fields = [*schema, *(pa.field(name, pa.string()) for name in added)]
    return pa.schema([field.remove_metadata() for field in fields])


def with_reason(rows: pa.Table, reasons: str | Sequence[str]) -> pa.Table:
    """Rows with their reasons, or with the one of all of them."""
    given = [reasons] * rows.num_rows if isinstance(reasons, str) else reasons
    return rows.append_column(LATE_REASON, pa.array(given, pa.string()))


def with_window(rows: pa.Table, reasons: str | Sequence[str], window: str | None) -> pa.Table:
    """… and with the window that could not place them; None: no window could."""
    return with_reason(
        rows.append_column(LATE_WINDOW, pa.array([window] * rows.num_rows, pa.string())), reasons
    )


def late_rows(
    bound: BoundQuery, rows: pa.Table, reasons: str | list[str], *, window: str | None = None
) -> pa.Table:
    """Input rows with the reason why they are in no window, and which window could not place them."""
    rows = with_window(rows, reasons, window)
    return rows.select([name for name in bound.late_output.names if name in rows.schema.names])


def no_late_rows(bound: BoundQuery) -> pa.Table:
    """None of them."""
    fields = [bound.schema.field(name) for name in bound.columns]
    return late_rows(bound, pa.schema(fields).empty_table(), "")
