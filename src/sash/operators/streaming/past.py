"""What has settled: the cells that the next windows need, in memory; all others only in the store.

    settle(panes)    panes that time has passed become cells, and whole runs of cells coarser ones
    refine(at)       cells that a window is about to begin inside of give way to what they were folded from
    let_go(head)     no window needs anything before the head any more

Every cell is written once and, unless the operator moves to another process, read at most once: when the
head comes near. In memory there are O(log n) cells, and a process that takes over reads just those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.stores.values import seal, unseal
from sash.operators.panes import Panes
from sash.operators.streaming.cells import Boundaries, Cell, Grid
from sash.operators.streaming.keyring import Keyring
from sash.operators.streaming.pane_rows import PaneRows

Ints = NDArray[np.int64]
START = "__start"


class Past:
    """Of all keys of a bucket."""

    def __init__(self, panes: Panes, grid: Grid, keyring: Keyring) -> None:
        self._panes, self._grid, self._keyring = panes, grid, keyring
        self.head: int | None = None
        """Nothing before is needed."""
        self.frontier: int | None = None
        """Everything before has settled."""
        self.loaded: dict[Cell, PaneRows] = {}
        self.written: dict[int, bytes] = {}
        self.dropped: set[int] = set()
        self.store: Mapping[int, bytes] = {}

    def rows(self) -> list[PaneRows]:
        return list(self.loaded.values())

    def refine(self, boundaries: Sequence[Boundaries]) -> None:
        waiting = list(self.loaded)
        while waiting:
            cell = waiting.pop()
            bounds = self._grid.bounds(cell)
            if cell.level == 0 or not any(boundary.cut(*bounds) for boundary in boundaries):
                continue
            del self.loaded[cell]
            waiting += [part for part in self._grid.parts(cell) if self._load(part)]

    def let_go(self, head: int) -> None:
        before, self.head = self.head, head
        for cell in [cell for cell in self.loaded if self._grid.bounds(cell)[1] <= head]:
            del self.loaded[cell]
        if before is None or self.frontier is None:
            return
        for level in range(self._grid.levels + 1):
            for place in self._grid.passed(level, before, min(head, self.frontier)):
                self._drop(Cell(level, place).number)

    def settle(self, panes: PaneRows, frontier: int) -> None:
        """Take the panes of the time since the last frontier."""
        before, self.frontier = self.frontier, frontier
        if len(panes):
            self._take(panes)
        for level in range(2, self._grid.levels + 1):
            self._coarsen(level, before, frontier)

    def _take(self, panes: PaneRows) -> None:
        assert self.head is not None
        length = self._grid.length(1)
        starts = panes.start - (panes.start - self._grid.origin) % length
        folded = panes.folded(self._panes, starts, length)
        fine, coarse = self._by_place(panes, starts), self._by_place(folded, folded.start)
        for place, rows in fine.items():
            self._write(Cell(0, place), rows)
            if self._grid.bounds(Cell(1, place))[0] < self.head:
                self.loaded[Cell(0, place)] = rows
            else:
                self._write(Cell(1, place), coarse[place])
                self.loaded[Cell(1, place)] = coarse[place]

    def _coarsen(self, level: int, before: int | None, frontier: int) -> None:
        parts: dict[int, list[Cell]] = {}
        for cell in self.loaded:
            parts.setdefault(self._grid.place(level, self._grid.bounds(cell)[0]), []).append(cell)
        for place, cells in parts.items():
            cell = Cell(level, place)
            start, end = self._grid.bounds(cell)
            settled_now = end <= frontier and (before is None or end > before)
            if not settled_now or (self.head is not None and start < self.head):
                continue
            whole = PaneRows.joined([self.loaded.pop(part) for part in cells])
            starts = np.full(len(whole), start)
            self.loaded[cell] = whole.folded(self._panes, starts, end - start)
            self._write(cell, self.loaded[cell])

    def _by_place(self, rows: PaneRows, starts: Ints) -> dict[int, PaneRows]:
        """Rows that stand together by the cell of level 1 that they are in."""
        order = np.argsort(starts, kind="stable")
        cuts = np.flatnonzero(np.diff(starts[order], prepend=np.iinfo(np.int64).min))
        return {
            self._grid.place(1, int(starts[order[lo]])): rows.take(order[lo:hi])
            for lo, hi in zip(cuts, np.append(cuts[1:], len(order)), strict=True)
        }

    # The store

    def resume(self, head: int | None, frontier: int | None) -> None:
        """Read the cells that the next windows need."""
        self.head, self.frontier = head, frontier
        if head is not None and frontier is not None:
            for cell in self._grid.cover(head, frontier):
                self._load(cell)

    def _write(self, cell: Cell, rows: PaneRows) -> None:
        self.written[cell.number] = encoded(cell.number, rows, self._keyring, self._panes)

    def _drop(self, number: int) -> None:
        if self.written.pop(number, None) is None:
            self.dropped.add(number)

    def _load(self, cell: Cell) -> bool:
        """Whether the cell holds anything: empty ones are not kept."""
        data = self.written.get(cell.number) or self.store.get(cell.number)
        if data is None:
            return False
        length = self._panes.length if cell.level == 0 else self._grid.length(cell.level)
        rows = decoded(cell.number, data, self._keyring, self._panes, length)
        self.loaded[cell] = rows if self.head is None else rows.where(rows.end > self.head)
        return True


def encoded(number: int, rows: PaneRows, keyring: Keyring, panes: Panes) -> bytes:
    """Panes with their keys, as one record batch; its schema is that of the query."""
    keys = keyring.of_slots(rows.slot).combine_chunks()
    elements = rows.elements.combine_chunks()
    columns = [keys[name] for name in keys.column_names] + [pa.array(rows.start)]
    table = pa.table([*columns, *elements.columns], schema=_schema(panes))
    (batch,) = table.combine_chunks().to_batches()
    return seal(chunk_name(number), batch.serialize())


def decoded(number: int, data: bytes, keyring: Keyring, panes: Panes, length: int) -> PaneRows:
    batch = pa.ipc.read_record_batch(pa.py_buffer(unseal(chunk_name(number), data)), _schema(panes))
    table = pa.Table.from_batches([batch])
    start = table[START].to_numpy()
    elements = table.select([field.name for field in panes.parts])
    return PaneRows(keyring.slots_of(table), start, start + length, elements)


def _schema(panes: Panes) -> pa.Schema:
    keys = [panes.bound.schema.field(key).remove_metadata() for key in panes.bound.keys]
    return pa.schema([*keys, pa.field(START, pa.int64()), *panes.parts])


def chunk_name(number: int) -> bytes:
    """What the chunk of a cell is sealed under."""
    return b"panes %d" % number
