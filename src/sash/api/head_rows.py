"""The first rows of an answer, readable in terminals and notebooks: Arrow tables show columns, not rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any, Self

import pyarrow as pa

from sash.display import tables
from sash.errors import ArgumentError
from sash.operators.bound_query import WINDOW
from sash.semantics.durations import whole_number

ITEMS = 3
"""Elements of a list that are shown."""


@dataclass(frozen=True, repr=False)
class Head:
    """Some rows of an answer, and how many it has."""

    table: pa.Table
    total: int

    @classmethod
    def of(cls, first: Callable[[int], tuple[pa.Table, int]], rows: int) -> Self:
        """`first` returns so many rows of the answer, all of which is computed, and how many it has."""
        number = whole_number(rows)
        if number is None or number < 1:
            raise ArgumentError("rows", rows, "a positive number of rows")
        return cls(*first(number))

    def __repr__(self) -> str:
        return "\n".join([*tables.as_text(self.table.column_names, self._cells()), self._counted])

    def _repr_html_(self) -> str:
        rows = [[escape(cell) for cell in row] for row in self._cells()]
        heads = [escape(name) for name in self.table.column_names]
        return tables.block("head", [tables.as_html(heads, rows), f"<p>{self._counted}</p>"])

    @property
    def _counted(self) -> str:
        return f"{self.table.num_rows:,} of {self.total:,} row{'s' * (self.total != 1)}"

    def _cells(self) -> list[list[str]]:
        return [
            [_window(value) if name == WINDOW else _cell(value) for name, value in row.items()]
            for row in self.table.to_pylist()
        ]


def _window(value: Any) -> str:
    """A window by name, number and ends.

    >>> _window({"name": "short", "id": 7, "start": 70, "end": 80})
    'short 7: 70 – 80'
    """
    if not isinstance(value, dict) or "id" not in value:
        return _cell(value)
    named = f"{value['name']} " if "name" in value else ""
    return f"{named}{value['id']}: {_cell(value['start'])} – {_cell(value['end'])}"


def _cell(value: Any) -> str:
    """
    >>> _cell(0.1 + 0.2), _cell(None), _cell([1, 2, 3, 4]), _cell(datetime(2026, 1, 5, 10, 30))
    ('0.3', 'null', '[1, 2, 3, … 4 in all]', '2026-01-05 10:30:00')
    """
    match value:
        case None:
            return "null"
        case bool() | str():
            return str(value)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.6g}"
        case datetime():
            return str(value.replace(tzinfo=None))
        case list() if len(value) > ITEMS:
            return f"[{', '.join(map(_cell, value[:ITEMS]))}, … {len(value)} in all]"
        case list():
            return f"[{', '.join(map(_cell, value))}]"
        case dict():
            return ", ".join(f"{name} {_cell(part)}" for name, part in value.items())
    return str(value)
