"""What a query has written to a folder of parquet files, read as it comes: windows, or rows of look-backs.

    rows      key · id · start · end · values, the newest of a look, at most `ROWS`
    hottest   the keys with the most events in their latest window, or else with the most reports

Reading what a sink has written costs the query nothing. The folder of a query of Sash has a folder for each
batch, and only those of new batches are opened: none of it is listed. Folders of others are listed, for at
most a twentieth of the time, and of what was read only the newest time of change is kept. What counts the
events of a window is an aggregate `sash.count()` of the query; where there is none, keys are ranked by how
many rows were emitted of them, and the ranking is named accordingly. A row of look-backs has no window: its
start and end are the time of its event.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sash.runtimes.flat_window_columns import nested_table
from sash.semantics.time_format import EPOCH

ROWS = 2_000
"""Windows that one look hands on."""
FILES = 64
"""Files that one look reads, the newest."""
HOTTEST = 20
MANIFESTS = "_sash"
"""Where a folder of Sash's has the manifests of its batches: see `runtimes.spark.sinks.manifests`."""
KEY = "__key"


class ReportFolder:
    """A folder that a query writes to."""

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        keys: tuple[str, ...],
        values: tuple[str, ...],
        count: str | None,
        time: str | None = None,
    ) -> None:
        """`count`: the column with the number of events of a row, if there is one; `time`: the column with
        the time of a row that has no window."""
        self.path, self._keys, self._values, self._count = Path(path), keys, values, count
        self._next = 0
        """The batch after the last that was read."""
        self._changed, self._read_then = 0.0, set[Path]()
        """The newest time of change of what was read, and the files with just that time."""
        self._rests_until = 0.0
        self._time = time
        self._ranks: dict[str, float] = {}

    @property
    def measure(self) -> str:
        if self._count is None:
            return "windows reported" if self._time is None else "rows emitted"
        return "events in the latest window" if self._time is None else self._count

    def look(self, batch: int | None = None) -> dict[str, Any] | None:
        """What was written since the last look, as the body of a `reports` message; None when nothing.

        batch: the last micro-batch that is done, where that is known.
        """
        fresh = self._of_batches(batch) if (self.path / MANIFESTS).is_dir() else self._listed()
        tables = [table for path in fresh[-FILES:] if (table := self._read(path)) is not None]
        if not tables:
            return None
        table = pa.concat_tables(tables, promote_options="permissive")
        self._rank(table)
        ranked = sorted(self._ranks.items(), key=lambda one: -one[1])
        self._ranks = dict(ranked[: 50 * HOTTEST])
        return {
            "rows": self._rows(table),
            "seen": table.num_rows,
            "measure": self.measure,
            "hottest": ranked[:HOTTEST],
        }

    def _of_batches(self, newest: int | None) -> list[Path]:
        """The files of batches that are published and were not read; of the newest `FILES` at most."""
        if newest is None:
            # The manifests of older batches are put together: few are listed here.
            names = (path.name for path in (self.path / MANIFESTS).iterdir())
            found = sorted(int(name) for name in names if name.isdecimal() and int(name) >= self._next)
        else:
            first = max(self._next, newest - FILES + 1)
            batches = range(first, newest + 1)
            found = [batch for batch in batches if (self.path / MANIFESTS / str(batch)).exists()]
        files: list[Path] = []
        for batch in found[:FILES]:
            files += sorted((self.path / f"batch={batch}").glob("*/*.parquet"))
            self._next = batch + 1
        return files

    def _listed(self) -> list[Path]:
        """Files of a folder that somebody else writes, the newest last."""
        began = monotonic()
        if began < self._rests_until:
            return []
        fresh = sorted(
            (at, path)
            for path in self.path.rglob("*.parquet")
            if self._is_fresh(path, at := _written(path))
        )
        took = monotonic() - began
        self._rests_until = began + max(0.0, 20 * took - 0.1)
        return [path for _, path in fresh]

    def _is_fresh(self, path: Path, at: float) -> bool:
        """Spark hides what is not complete below names that begin with an underscore or a dot."""
        inside = path.relative_to(self.path).parts
        if at < self._changed or path in self._read_then:
            return False
        return not any(part.startswith(("_", ".")) for part in inside)

    def _read(self, path: Path) -> pa.Table | None:
        try:
            # The reader of a single file, which finds no partition columns in the path.
            table = self._with_window(nested_table(pq.ParquetFile(path).read()))
        except (OSError, pa.ArrowException):
            return None  # Spark is writing it: another look will find it complete
        self._remember(path)
        if "window" not in table.column_names or not table.num_rows:
            return None
        return table.append_column(KEY, _named(table, self._keys))

    def _remember(self, path: Path) -> None:
        at = _written(path)
        if at > self._changed:
            self._changed, self._read_then = at, set()
        if at == self._changed:
            self._read_then.add(path)

    def _with_window(self, table: pa.Table) -> pa.Table:
        """A row of look-backs with an instant where others have a window."""
        if self._time not in table.column_names:
            return table
        at = table[self._time].combine_chunks()
        ids = pa.nulls(len(table), pa.int64())
        return table.append_column(
            "window", pa.StructArray.from_arrays([ids, at, at], ["id", "start", "end"])
        )

    def _rank(self, table: pa.Table) -> None:
        # 'last' is the last of the order in which rows are given, which threads would not keep.
        column, function = (KEY, "count") if self._count is None else (self._count, "last")
        sorted_by_end = table.take(_by_end(table))
        groups = sorted_by_end.group_by(KEY, use_threads=False).aggregate([(column, function)])
        found = zip(groups[KEY].to_pylist(), groups[f"{column}_{function}"].to_pylist(), strict=True)
        for key, number in found:
            self._ranks[key] = number if self._count else self._ranks.get(key, 0) + number

    def _rows(self, table: pa.Table) -> list[dict[str, Any]]:
        newest = table.take(_by_end(table)[-ROWS:])
        shown = [name for name in self._values if name in table.column_names]
        return [_row(row, shown) for row in newest.select([KEY, "window", *shown]).to_pylist()]


def _named(table: pa.Table, keys: tuple[str, ...]) -> Any:
    """The key as people read it; a query without a key has one for all."""
    words = [pc.fill_null(pc.cast(table[key], pa.string()), "null") for key in keys]
    if not words:
        return pa.array(["(all)"] * table.num_rows)
    return words[0] if len(words) == 1 else pc.binary_join_element_wise(*words, " · ")


def _by_end(table: pa.Table) -> Any:
    return pc.sort_indices(pc.struct_field(table["window"], "end"))


def _row(row: Mapping[str, Any], values: list[str]) -> dict[str, Any]:
    window = row["window"]
    shown = {name: _value(row[name]) for name in values}
    named = {"name": window["name"]} if "name" in window else {}
    ends = {end: _plain(window[end]) for end in ("start", "end")}
    return {"key": row[KEY], "id": window["id"], **named, **ends, "values": shown}


def _plain(at: datetime | int | None) -> int | None:
    """A timestamp as milliseconds since 1970, an integer time as it is."""
    if not isinstance(at, datetime):
        return at
    moment = at if at.tzinfo is not None else at.replace(tzinfo=EPOCH.tzinfo)
    return round((moment - EPOCH).total_seconds() * 1000)


def _value(value: Any) -> Any:
    """What JSON has a word for as it is, anything else as text."""
    plain = value is None or isinstance(value, int | str) or (isinstance(value, float) and isfinite(value))
    return value if plain else str(value)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
