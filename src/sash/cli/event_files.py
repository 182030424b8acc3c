"""Recorded events from a file: Parquet, CSV, or JSON (an array, or one object per line)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from sash.errors import ArgumentError, UnknownColumn


def read_events(path: Path, *, time: str) -> pa.Table:
    """The rows of a file in their order; a time column of text is read as timestamps."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise ArgumentError("file", str(path), f"one that ends in {', '.join(_READERS)}")
    if not path.is_file():
        raise ArgumentError("file", str(path), "a file that exists")
    try:
        table = reader(path)
    except OSError as error:
        raise ArgumentError(
            "file", str(path), f"a file that can be read ({error.strerror or error})"
        ) from None
    except (pa.ArrowException, ValueError) as error:
        first = str(error).splitlines()[0]
        raise ArgumentError("file", str(path), f"well-formed {path.suffix[1:]} ({first})") from None
    if time not in table.column_names:
        raise UnknownColumn("time", time, table.column_names)
    return _with_timestamps(table, time)


def _parquet(path: Path) -> pa.Table:
    from pyarrow import parquet

    return parquet.read_table(path)


def _csv(path: Path) -> pa.Table:
    from pyarrow import csv

    return csv.read_csv(path)


def _json(path: Path) -> pa.Table:
    if path.read_text(encoding="utf-8").lstrip()[:1] == "[":
        rows = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("an array of something else than objects")
        return pa.Table.from_pylist(rows)
    from pyarrow import json as lines

    return lines.read_json(path)


_READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".json": _json,
    ".jsonl": _json,
    ".ndjson": _json,
}


def _with_timestamps(table: pa.Table, time: str) -> pa.Table:
    column = table[time]
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return table
    try:
        stamps = column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        try:
            stamps = column.cast(pa.timestamp("us", "UTC"))
        except pa.ArrowInvalid as error:
            expected = f"a column of timestamps or whole numbers ({error})"
            raise ArgumentError("time", time, expected) from None
    return table.set_column(table.column_names.index(time), time, stamps)
