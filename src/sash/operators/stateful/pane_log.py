"""The windows of A+ between two batches: what each run has folded to in each pane of each key.

    a chunk    start of a pane · key · the element of each aggregate, and whether it had a value
    a pane     the chunks' parts of it, combined in the order in which they were written

Tuples come in the order of time, so that parts do too, whatever the monoid. A chunk is needed as long as an
open window may hold one of its panes. Of the newest chunks, every few that are alike in size become one, in
which a pane has one part again: so there are few chunks, however many batches a window is long, and what is
loaded are panes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.stores.values import reading
from sash.arrays import Array, Ints, Mask
from sash.operators.order.interleaved import Interleaved
from sash.operators.stateful.pane_table import Expired
from sash.operators.stateful.shared_preparation import Prepared

if TYPE_CHECKING:
    from sash.operators.stateful.compiled_aggregate import CompiledAggregate

START, KEY = "start", "key"


FEW = 8


class PaneLog:
    """Of an operator with one share."""

    def __init__(self, running: CompiledAggregate) -> None:
        self._running = running
        self._unsaved: list[pa.Table] = []
        self._chunks: dict[int, pa.Table] = {}
        """Those that are needed, the oldest first."""

    def take(self, run: Interleaved, prepared: Prepared) -> None:
        if len(run):
            self._unsaved.append(self._table(self._running.partial_panes(run, prepared)))

    def save(self, number: int, watermark: int) -> dict[int, pa.Table]:
        floor = self._floor(watermark)
        self._chunks = {chunk: table for chunk, table in self._chunks.items() if _newest(table) >= floor}
        new = _since(floor, self._unsaved)
        self._unsaved = []
        if new is None:
            return {}
        while len(tail := list(self._chunks)[-FEW:]) == FEW and _rank(self._chunks[tail[0]]) <= _rank(new):
            new = self._folded(pa.concat_tables([*map(self._chunks.pop, tail), new]))
        self._chunks[number] = new
        return {number: new}

    @property
    def live(self) -> list[int]:
        return list(self._chunks)

    @property
    def memory(self) -> int:
        """Bytes of the panes that are needed."""
        return sum(int(table.nbytes) for table in (*self._chunks.values(), *self._unsaved))

    def load(self, chunks: Mapping[int, pa.Table], watermark: int) -> None:
        self._chunks = dict(chunks)
        # Each may be a table and still none that was saved here: with other columns, or columns of others.
        with reading("the panes of an operator"):
            if not all(table.num_rows for table in chunks.values()):
                raise ValueError("a chunk has none")
            table = _since(self._floor(watermark), list(chunks.values()))
            arrays = None if table is None else self._arrays(table, watermark)
        if arrays is not None:
            self._running.take_panes(*arrays)

    def _folded(self, table: pa.Table) -> pa.Table:
        return self._table(self._running.folded_panes(*self._arrays(table, _newest(table))))

    def _table(self, panes: list[Expired]) -> pa.Table:
        running = self._running
        found = [expired.in_order() for expired in panes]
        ends, keys = found[0][:2]
        columns = {START: pa.array(ends - running.pane)}
        columns[KEY] = running.names.column(keys, running.operator.payload.field(0).type)
        for number, (_, _, known, elements) in enumerate(found):
            columns[f"{number}"] = pa.array(known)
            columns |= {f"{number}.{place}": pa.array(element) for place, element in enumerate(elements)}
        return pa.table(columns)

    def _arrays(self, table: pa.Table, time: int) -> tuple[Ints, Ints, list[tuple[Columns, Mask]]]:
        keys = self._running.names.numbers(table[KEY].combine_chunks(), time=time)
        folds = []
        for place, machine in enumerate(self._running.machines.values()):
            elements = tuple(_array(table[f"{place}.{nth}"]) for nth in range(len(machine.dtypes)))
            folds.append((elements, _array(table[f"{place}"])))
        return _array(table[START]), np.ascontiguousarray(keys), folds

    def _floor(self, watermark: int) -> int:
        operator = self._running.operator
        return operator.next_end(watermark) - operator.clock.size


def _array(column: pa.ChunkedArray) -> Array:
    return np.ascontiguousarray(column.to_numpy())


def _since(floor: int, tables: list[pa.Table]) -> pa.Table | None:
    """The panes that start at `floor` or later; None when there are none."""
    if not tables:
        return None
    table = pa.concat_tables(tables)
    table = table.filter(pa.array(table[START].to_numpy() >= floor))
    return table if table.num_rows else None


def _newest(table: pa.Table) -> int:
    return int(table[START].to_numpy().max())


def _rank(table: pa.Table) -> int:
    """Of tables that are alike in size: within a factor of eight."""
    return int(table.num_rows).bit_length() // 3
