"""The windows of A+ between two batches: what each run has folded to in each pane of each key.

    a chunk    start of a pane · key · the element of each aggregate, and whether it had a value
    a pane     the chunks' parts of it, combined in the order in which they were written

Tuples come in the order of time, so that parts do too, whatever the monoid. A chunk is needed as long as an
open window may hold one of its panes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sash.arrays import Array
from sash.operators.order.interleaved import Interleaved
from sash.operators.stateful.prepared import Prepared

if TYPE_CHECKING:
    from sash.operators.stateful.panes import CompiledAggregate

START, KEY = "start", "key"


class PaneLog:
    """Of an operator with one share."""

    def __init__(self, running: CompiledAggregate) -> None:
        self._running = running
        self._unsaved: list[pa.Table] = []
        self._newest: dict[int, int] = {}
        """The start of the newest pane of each chunk."""

    def take(self, run: Interleaved, prepared: Prepared) -> None:
        if len(run):
            running = self._running
            found = [expired.in_order() for expired in running.partial_panes(run, prepared)]
            ends, keys = found[0][:2]
            columns = {START: pa.array(ends - running.pane)}
            columns[KEY] = running.names.column(keys, running.operator.payload.field(0).type)
            for number, (_, _, known, elements) in enumerate(found):
                columns[f"{number}"] = pa.array(known)
                for place, element in enumerate(elements):
                    columns[f"{number}.{place}"] = pa.array(element)
            self._unsaved.append(pa.table(columns))

    def save(self, number: int, watermark: int) -> dict[int, pa.Table]:
        floor = self._floor(watermark)
        self._newest = {chunk: newest for chunk, newest in self._newest.items() if newest >= floor}
        if not self._unsaved:
            return {}
        table = pa.concat_tables(self._unsaved)
        self._unsaved = []
        table = table.filter(pa.array(table[START].to_numpy() >= floor))
        if not table.num_rows:
            return {}
        self._newest[number] = int(table[START].to_numpy().max())
        return {number: table}

    @property
    def live(self) -> list[int]:
        return list(self._newest)

    def load(self, chunks: Mapping[int, pa.Table], watermark: int) -> None:
        running, floor = self._running, self._floor(watermark)
        for number, table in chunks.items():
            self._newest[number] = int(table[START].to_numpy().max())
            table = table.filter(pa.array(table[START].to_numpy() >= floor))
            keys = running.names.numbers(table[KEY].combine_chunks(), time=watermark)
            folds = []
            for place, machine in enumerate(running.machines.values()):
                elements = [_array(table[f"{place}.{nth}"]) for nth in range(len(machine.dtypes))]
                folds.append((tuple(elements), _array(table[f"{place}"])))
            running.take_panes(_array(table[START]), np.ascontiguousarray(keys), folds)

    def _floor(self, watermark: int) -> int:
        operator = self._running.operator
        return operator.next_end(watermark) - operator.clock.size


def _array(column: pa.ChunkedArray) -> Array:
    return np.ascontiguousarray(column.to_numpy())
