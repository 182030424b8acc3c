"""What a query has written to a folder of parquet files, read as it comes: windows, or rows of look-backs.

    rows      key · id · start · end · values, the newest of a look, at most `ROWS`
    hottest   the keys with the most events in their latest window, or else with the most reports
    seen      the rows of these files; read: how many of them, the last, were read for all this

Reading what a sink has written costs the query nothing. It happens in the driver, and a batch may have more
rows than the driver has memory: so one look reads only the columns that are shown, and of them the last
`BYTES`. The folder of a query of Sash has a folder for each batch, and only those of new batches are
opened: none of it is listed. Folders of others are listed, for at most a twentieth of the time, and of what
was read only the newest time of change is kept. What counts the events of a window is an aggregate
`sash.count()` of the query; where there is none, keys are ranked by how many rows were emitted of them, and
the ranking is named accordingly. A row of look-backs has no window: its start and end are the time of its
event.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.dashboard.last_rows_of_files import LastRows, last_rows
from sash.dashboard.shown_rows import KEY, key_texts, shown_rows
from sash.operators.bound_query import WINDOW
from sash.runtimes.flat_window_columns import nested_table, plain_names

ROWS = 2_000
"""Windows that one look hands on."""
FILES = 64
"""Files that one look reads, the newest."""
BYTES = 32 << 20
"""Of Arrow's columns, that one look reads: half a million rows with a key, a window and a few numbers."""
HOTTEST = 20
RANKED = 50 * HOTTEST
"""Keys whose numbers are kept from look to look."""
MANIFESTS = "_sash"
"""Where a folder of Sash's has the manifests of its batches: see `runtimes.spark.sinks.manifests`."""
NUMBER = "number"


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
        windows = (WINDOW, *plain_names(WINDOW, ("name", "id", "start", "end")).values())
        self._columns = frozenset(filter(None, (*keys, *values, count, time, *windows)))
        self._next = 0
        """The batch after the last that was read."""
        self._changed, self._read_then = 0.0, set[Path]()
        """The newest time of change of what was read, and the files with just that time."""
        self._rests_until = 0.0
        self._time = time
        self._ranks = pa.table({KEY: pa.array([], pa.string()), NUMBER: pa.array([], pa.int64())})

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
        tables: list[pa.Table] = []
        seen, room = 0, BYTES
        for path in reversed(fresh[-FILES:]):
            found = self._read(path, room)
            if found is not None:
                if found.table.num_rows:
                    tables.insert(0, found.table)
                seen, room = seen + found.rows, found.room
        if not seen:
            return None
        table = pa.concat_tables(tables, promote_options="permissive")
        order = pc.sort_indices(pc.struct_field(table[WINDOW], "end"))
        self._rank(table, order)
        shown = [name for name in self._values if name in table.column_names]
        newest = table.select([KEY, WINDOW, *shown]).take(order[-ROWS:])
        hottest = self._ranks.slice(0, HOTTEST)
        return {
            "rows": shown_rows(newest, shown),
            "seen": seen,
            "read": table.num_rows,
            "measure": self.measure,
            "hottest": list(zip(hottest[KEY].to_pylist(), hottest[NUMBER].to_pylist(), strict=True)),
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

    def _read(self, path: Path, room: int) -> LastRows | None:
        """The last rows of a file, each with its key and its window; None for a file without windows."""
        try:
            found = last_rows(path, self._columns, room)
            table = self._with_window(nested_table(found.table))
        except (OSError, pa.ArrowException):
            return None  # Spark is writing it: another look will find it complete
        self._remember(path)
        if not table.num_rows:
            return found  # there was no room for any of it
        if WINDOW not in table.column_names:
            return None
        return found._replace(table=table.append_column(KEY, key_texts(table, self._keys)))

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
            WINDOW, pa.StructArray.from_arrays([ids, at, at], ["id", "start", "end"])
        )

    def _rank(self, table: pa.Table, order: pa.Array) -> None:
        """The keys with the largest numbers, of these rows and of earlier looks."""
        keys = table[KEY].take(order)
        if self._count is None:
            numbers, how = pa.repeat(1, len(keys)), "sum"
        else:
            # The last of the order in which rows are given, which threads would not keep.
            numbers, how = table[self._count].take(order), "last"
        found = pa.table({KEY: keys, NUMBER: numbers}).cast(self._ranks.schema)
        every = pa.concat_tables([self._ranks, found])
        groups = every.group_by(KEY, use_threads=False).aggregate([(NUMBER, how)])
        column = f"{NUMBER}_{how}"
        most = groups.take(pc.sort_indices(groups, sort_keys=[(column, "descending")])[:RANKED])
        self._ranks = pa.table({KEY: most[KEY], NUMBER: most[column]})


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
