"""The shares of A+ as compiled hash tables of panes: one kernel call for a share and a run.

The elements of a run are lifted once and shared by all instances. Only the table of a share is written, and
only by the instance that has the share.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.compiler.compiled import compiled
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.kernels.folds import keyed_panes as kernel
from sash.aggregation.monoid import Monoid
from sash.arrays import Array, Ints, Mask
from sash.operators.columns.arrow_columns import from_numpy, kind_of_type
from sash.operators.columns.times import from_integers
from sash.operators.folding.lifting import inputs_of
from sash.operators.order.interleaved import END_OF_TIME, Interleaved
from sash.operators.stateful.pane_table import Expired, PaneTable
from sash.operators.stateful.running_operator import Running, StateLog
from sash.operators.stateful.shared_preparation import Prepared

if TYPE_CHECKING:
    from sash.operators.stateful.aggregate import Aggregate


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
        found = [Expired(machine) for machine in self.machines.values()]
        for number in mine[busy].tolist():
            with self.share(number) as tables:
                for expired, table, (elements, valid) in zip(found, tables, lifted, strict=True):
                    for piece in pieces:
                        # What ends between two pieces is closed by the second of them.
                        until = run.watermark if piece is pieces[-1] else kernel.BEGINNING
                        table.step(elements, valid, times, *piece.pairs(number), until, expired)
                self._due[number] = tables[0].idle_until
        return self._reports(found)

    def _lifted(self, run: Interleaved) -> list[tuple[Columns, Mask]]:
        rows = run.tables[0]
        found = []
        for monoid, machine in zip(self.monoids.values(), self.machines.values(), strict=True):
            inputs, valid = inputs_of(monoid, rows)
            lifted = machine.lift(inputs, valid=valid, n=len(rows))
            flags = np.empty(0, np.bool_) if valid is None else valid
            found.append((machine.columns(lifted), _frozen(flags)))
        return found

    def _reports(self, found: list[Expired]) -> pa.Table:
        operator = self.operator
        if not found[0].rows:
            return operator.schema.empty_table()
        # Every aggregate has the same windows in the same order, for their tables had the same history.
        sorted_ = [expired.in_order() for expired in found]
        ends, owners = sorted_[0][:2]
        columns = [
            from_integers(ends, operator.schema.field(0).type),
            self.names.column(owners, operator.payload.field(0).type),
        ]
        for machine, (_, _, known, elements), field in zip(
            self.machines.values(), sorted_, list(operator.payload)[1:], strict=True
        ):
            values, valid = machine.lower(elements, present=None if known.all() else known)
            columns.append(from_numpy(values, valid, field.type))
        return pa.Table.from_arrays(columns, schema=operator.schema)

    @property
    def holds(self) -> bool:
        return any(tables[0].holds for tables in self._tables)

    def resume(self, floor: int, taken: int) -> None:
        super().resume(floor, taken)
        for tables in self._tables:
            for table in tables:
                table.progress[kernel.DUE] = floor + self.operator.clock.size

    def log(self) -> StateLog:
        from sash.operators.stateful.pane_log import PaneLog

        return PaneLog(self)

    def take_panes(self, starts: Ints, keys: Ints, folds: Sequence[tuple[Columns, Mask]]) -> None:
        """Panes that were folded before, in the order of time, into the only share."""
        every, (tables,) = np.arange(len(starts)), self._tables
        for machine, table, (elements, known) in zip(self.machines.values(), tables, folds, strict=True):
            nothing = Expired(machine)
            ready = machine.columns(elements)
            table.step(ready, _frozen(known), _frozen(starts), every, keys, kernel.BEGINNING, nothing)
        self._due[0] = tables[0].idle_until

    def partial_panes(self, run: Interleaved, prepared: Prepared) -> list[Expired]:
        """What the tuples of a run fold to in each pane of each key, for each aggregate."""
        pieces = prepared.pieces()
        event, key = (np.concatenate([getattr(piece, of) for piece in pieces]) for of in ("event", "key"))
        lifted = prepared.once("elements", lambda: self._lifted(run))
        return self._in_panes(lifted, run.times, event, key)

    def folded_panes(
        self, starts: Ints, keys: Ints, folds: Sequence[tuple[Columns, Mask]]
    ) -> list[Expired]:
        """Parts of panes, in the order of time, as one for each pane and key."""
        lifted = [
            (machine.columns(elements), _frozen(known))
            for machine, (elements, known) in zip(self.machines.values(), folds, strict=True)
        ]
        return self._in_panes(lifted, starts, np.arange(len(starts)), keys)

    def _in_panes(
        self, lifted: Sequence[tuple[Columns, Mask]], times: Ints, event: Ints, key: Ints
    ) -> list[Expired]:
        found = [Expired(machine) for machine in self.machines.values()]
        for expired, (elements, valid) in zip(found, lifted, strict=True):
            table = PaneTable(expired.machine, advance=self.pane, size=self.pane)
            # Pieces stand one after the other in the order of tuples, but shares do not within a piece.
            order = np.argsort(event, kind="stable")
            table.step(elements, valid, _frozen(times), event[order], key[order], END_OF_TIME, expired)
        return found

    @property
    def pane(self) -> int:
        """No window cuts a pane of this length."""
        return gcd(self.operator.clock.slide, self.operator.clock.size)

    def buffers(self) -> list[tuple[int, int]]:
        arrays = [array for tables in self._tables for table in tables for array in table.arrays]
        return [(array.__array_interface__["data"][0], array.nbytes) for array in arrays]


def bound_to(monoid: Monoid, schema: pa.Schema) -> Monoid:
    """The monoid for columns of these types."""
    return monoid.bind(tuple(kind_of_type(schema.field(column).type) for column in monoid.columns))


def fits_columns(monoid: Monoid, schema: pa.Schema) -> bool:
    """Whether the elements of a monoid over these columns are numbers."""
    kinds = [kind_of_type(schema.field(column).type) for column in monoid.columns]
    return "object" not in kinds and bound_to(monoid, schema).columnar


def _frozen(array: Array) -> Array:
    """Read-only: Numba compiles a second version of a kernel for what can be written."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
