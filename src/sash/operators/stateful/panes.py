"""The shares of A+ as compiled hash tables of panes: one kernel call for a share and a run.

The elements of a run are lifted once and shared by all instances. Only the table of a share is written, and
only by the instance that has the share.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.kernels import keyed_panes as kernel
from sash.aggregation.kernels.compiled import Compiled, compiled
from sash.aggregation.kernels.vocabulary import Columns
from sash.aggregation.monoid import Monoid
from sash.operators.inputs import from_numpy, kind_of, to_numpy
from sash.operators.interleaved import Interleaved
from sash.operators.stateful.prepared import Prepared
from sash.operators.stateful.running import Running
from sash.operators.times import from_integers

if TYPE_CHECKING:
    from sash.operators.stateful.aggregate import Aggregate

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Folds = tuple[Ints, Ints, Flags, Columns]
"""Ends, keys, whether there was a value at all, and elements of windows that have expired."""

SMALLEST = 64
"""Entries of a table that has just begun; a power of two, as always."""


class PaneTable:
    """The windows of one monoid over the keys of one share."""

    def __init__(self, machine: Compiled, *, advance: int, size: int) -> None:
        pane = gcd(advance, size)
        self.machine, self.ring = machine, size // pane
        self.lengths = np.array([advance, size, pane, self.ring])
        self._kernel = machine.kernel("keyed_panes")
        self.progress = np.zeros(kernel.PROGRESS, np.int64)
        self.progress[kernel.DUE], self.progress[kernel.LATEST] = kernel.BEGINNING, kernel.UNUSED
        self._allocate(SMALLEST)

    def _allocate(self, room: int) -> None:
        self.index = np.full(2 * room, kernel.FREE, np.int32)
        self.book = np.empty(room * (self.ring + 2), np.int64)
        self.cells = self.machine.empty(room * self.ring)
        self.output: Folds = (
            np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.bool_),
            self.machine.empty(room),
        )  # fmt: skip

    @property
    def idle_until(self) -> int:
        """The end of the next window that may hold anything."""
        empty = self.progress[kernel.LATEST] == kernel.UNUSED
        return 2**63 - 1 if empty else int(self.progress[kernel.DUE])

    def step(
        self, elements: Columns, valid: Flags, times: Ints, event: Ints, key: Ints, until: int
    ) -> list[Folds]:
        """Take in the pairs of one run; the folds of all windows that end by `until`."""
        progress, found = self.progress, []
        progress[kernel.NEXT] = progress[kernel.ENTRY] = 0
        outcome = -1
        while outcome != kernel.DONE:
            progress[kernel.WRITTEN] = 0
            ends, owners, known, out = self.output
            outcome = self._kernel(
                elements, valid, times, event, key, self.lengths, self.index, self.book, self.cells,
                progress, until, ends, owners, known, out,
            )  # fmt: skip
            n = int(progress[kernel.WRITTEN])
            if n:
                copies = tuple(column[:n].copy() for column in out)
                found.append((ends[:n].copy(), owners[:n].copy(), known[:n].copy(), copies))
            if outcome == kernel.GROW:
                self._grow()
        return found

    def _grow(self) -> None:
        """A table of the live keys only, larger unless most of the keys were dead."""
        low = (self.progress[kernel.DUE] - self.lengths[1]) // self.lengths[2]
        stride, book, cells = self.ring + 2, self.book.reshape(-1, self.ring + 2), self.cells
        live = book[:, 1] >= low
        room, used = len(book), int(live.sum())
        self._allocate(room if 2 * used < room else 4 * room)
        self.book[: used * stride] = book[live].reshape(-1)
        for new, old in zip(self.cells, cells, strict=True):
            new[: used * self.ring] = old.reshape(-1, self.ring)[live].reshape(-1)
        kernel.entering()(self.index, self.book, stride, used)
        self.progress[kernel.USED] = used

    @property
    def arrays(self) -> list[NDArray[Any]]:
        return [self.index, self.book, *self.cells, self.progress]


def joined(found: list[Folds]) -> Folds:
    if len(found) == 1:
        return found[0]
    ends, owners, known, elements = zip(*found, strict=True)
    columns = tuple(np.concatenate(column) for column in zip(*elements, strict=True))
    return np.concatenate(ends), np.concatenate(owners), np.concatenate(known), columns


class CompiledAggregate(Running):
    """A+ over monoids whose elements fit numpy columns."""

    def __init__(self, operator: Aggregate) -> None:
        super().__init__(operator)
        schema = operator.inputs[0].schema
        self.monoids = {name: bound_to(monoid, schema) for name, monoid in operator.aggregates.items()}
        self.machines = {name: compiled(monoid, kinds=None) for name, monoid in self.monoids.items()}
        clock = operator.clock
        self._tables = [
            [PaneTable(machine, advance=clock.slide, size=clock.size) for machine in self.machines.values()]
            for _ in range(operator.shares)
        ]
        self._due = np.full(operator.shares, 2**63 - 1)

    def _share(self, number: int) -> list[PaneTable]:
        return self._tables[number]

    def _answer(self, run: Interleaved, prepared: Prepared, mine: Ints) -> pa.Table:
        pieces = prepared.pieces()
        pairs = np.diff([piece.offsets for piece in pieces]).sum(axis=0)
        busy = (pairs[mine] > 0) | (self._due[mine] <= run.watermark)
        lifted = prepared.once("elements", lambda: self._lifted(run))
        times = _frozen(run.times)
        found: list[list[Folds]] = [[] for _ in self.machines]
        for number in mine[busy].tolist():
            with self.share(number) as tables:
                for folds, table, (elements, valid) in zip(found, tables, lifted, strict=True):
                    for piece in pieces:
                        # What ends between two pieces is closed by the second of them.
                        until = run.watermark if piece is pieces[-1] else kernel.BEGINNING
                        folds += table.step(elements, valid, times, *piece.pairs(number), until)
                self._due[number] = tables[0].idle_until
        return self._reports([joined(folds) for folds in found if folds])

    def _lifted(self, run: Interleaved) -> list[tuple[Columns, Flags]]:
        rows = run.tables[0]
        found = []
        for monoid, machine in zip(self.monoids.values(), self.machines.values(), strict=True):
            read = [to_numpy(rows[column]) for column in monoid.columns]
            masks = [mask for _, mask in read if mask is not None]
            valid = np.logical_and.reduce(masks) if masks else np.empty(0, np.bool_)
            lifted = machine.lift(
                [values for values, _ in read], valid=valid if masks else None, n=len(rows)
            )
            found.append((machine.columns(lifted), _frozen(valid)))
        return found

    def _reports(self, folds: list[Folds]) -> pa.Table:
        operator = self.operator
        if not folds:
            return operator.schema.empty_table()
        # Every aggregate has the same windows in the same order, for their tables had the same history.
        ends, owners = folds[0][:2]
        in_order = bool((ends[1:] >= ends[:-1]).all())
        order = slice(None) if in_order else np.argsort(ends, kind="stable")
        columns = [
            from_integers(ends[order], operator.schema.field(0).type),
            self.names.column(owners[order], operator.payload.field(0).type),
        ]
        for machine, (_, _, known, elements), field in zip(
            self.machines.values(), folds, list(operator.payload)[1:], strict=True
        ):
            values, valid = machine.lower([column[order] for column in elements], present=known[order])
            columns.append(from_numpy(values, valid, field.type))
        return pa.Table.from_arrays(columns, schema=operator.schema)

    def buffers(self) -> list[tuple[int, int]]:
        arrays = [array for tables in self._tables for table in tables for array in table.arrays]
        return [(array.__array_interface__["data"][0], array.nbytes) for array in arrays]


def bound_to(monoid: Monoid, schema: pa.Schema) -> Monoid:
    """The monoid for columns of these types."""
    return monoid.bind(tuple(kind_of(schema.field(column).type) for column in monoid.columns))


def fits_columns(monoid: Monoid, schema: pa.Schema) -> bool:
    """Whether the elements of a monoid over these columns are numbers."""
    kinds = [kind_of(schema.field(column).type) for column in monoid.columns]
    return "object" not in kinds and bound_to(monoid, schema).columnar


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Read-only: Numba compiles a second version of a kernel for what can be written."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
