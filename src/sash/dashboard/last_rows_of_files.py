"""The last rows of a parquet file, as many as there is room for.

    found = last_rows(path, columns, room)
    found.table     the last rows, with those of the columns that the file has
    found.rows      how many the file has
    found.room      what is left: bytes of Arrow's columns; 0 when rows were left out

Whoever looks at the output of a query must not need as much memory as a batch of it has. So row groups are
read from the end, a few megabytes at a time; of a group for which there is not enough room, the last part
is kept. At most `AT_ONCE` bytes more than there is room for are held, where a single value is not larger
than that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

AT_ONCE = 4 << 20
"""Bytes that are decoded at a time."""
MOST_ROWS = 1 << 16
BUFFER = 1 << 16
"""Bytes of a column that are read at a time: without it, all that a row group has of it."""


class LastRows(NamedTuple):
    """The end of a file."""

    table: pa.Table
    rows: int
    room: int


def last_rows(path: Path, columns: Collection[str], room: int) -> LastRows:
    """The last rows of a file in `room` bytes; what pyarrow raises for one that it cannot read."""
    with pq.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
        wanted = [name for name in file.schema_arrow.names if name in columns]
        held: list[pa.RecordBatch] = []
        for group in reversed(range(file.num_row_groups)):
            if room <= 0:
                break
            last, room = _last_batches(file, group, wanted, room)
            held = last + held
        table = pa.Table.from_batches(held, None if held else pa.schema([]))
        return LastRows(table, file.metadata.num_rows, room)


def _last_batches(
    file: pq.ParquetFile, group: int, wanted: list[str], room: int
) -> tuple[list[pa.RecordBatch], int]:
    """The last batches of a row group, one at least, and what is left of the room."""
    held: deque[pa.RecordBatch] = deque()
    size, cut = 0, False
    at_once = _rows_at_once(file.metadata.row_group(group), wanted)
    batches = file.iter_batches(at_once, row_groups=[group], columns=wanted, use_threads=False)
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        while size > room and len(held) > 1:
            size -= held.popleft().nbytes
            cut = True
    return list(held), 0 if cut else max(room - size, 0)


def _rows_at_once(group: pq.RowGroupMetaData, wanted: list[str]) -> int:
    """A number that repeats takes hardly a byte in a file, and eight in Arrow: lists are long by their
    values."""
    parts = [group.column(number) for number in range(group.num_columns)]
    size = sum(
        max(part.total_uncompressed_size, 8 * part.num_values)
        for part in parts
        if any(f"{part.path_in_schema}.".startswith(f"{name}.") for name in wanted)
    )
    fitting: int = AT_ONCE * group.num_rows // max(size, 1)
    return max(1, min(MOST_ROWS, fitting))
