"""The windows of one monoid over the keys of one share, in memory that only its owner writes; and what its
windows give when they expire, in memory that the tables of an instance fill one after the other.
"""

from __future__ import annotations

from math import gcd

import numpy as np

from sash.aggregation.kernels.compiler.compiled import Compiled
from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.kernels.folds import keyed_panes as kernel
from sash.arrays import Array, Ints, Mask

SMALLEST = 256
"""Entries of a table that has just begun; a power of two, as always."""


class Expired:
    """Ends, keys, whether there was a value at all, and elements of windows that have expired."""

    def __init__(self, machine: Compiled) -> None:
        self.machine, self.rows = machine, 0
        self._allocate(0)

    def _allocate(self, room: int) -> None:
        self.ends, self.owners = np.empty(room, np.int64), np.empty(room, np.int64)
        self.known, self.elements = np.empty(room, np.bool_), self.machine.empty(room)

    @property
    def _columns(self) -> Columns:
        return self.ends, self.owners, self.known, *self.elements

    def reserve(self, rows: int) -> None:
        """Room for so many more rows, and as many again, for the next table."""
        old = self._columns
        self._allocate(2 * (self.rows + rows))
        for new, before in zip(self._columns, old, strict=True):
            new[: self.rows] = before[: self.rows]

    def in_order(self) -> tuple[Ints, Ints, Mask, Columns]:
        """All rows in the order of ends, for tables come one after the other; else in theirs."""
        ends, *others = (column[: self.rows] for column in self._columns)
        if bool((ends[1:] < ends[:-1]).any()):
            order = np.argsort(ends, kind="stable")
            ends, *others = ends[order], *(column[order] for column in others)
        owners, known, *elements = others
        return ends, owners, known, tuple(elements)


class PaneTable:
    """A hash table of panes: see `kernels.folds.keyed_panes`."""

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

    @property
    def idle_until(self) -> int:
        """The end of the next window that may hold anything."""
        empty = self.progress[kernel.LATEST] == kernel.UNUSED
        return 2**63 - 1 if empty else int(self.progress[kernel.DUE])

    @property
    def holds(self) -> bool:
        """Whether a window that is still to end has anything in it."""
        _, size, pane, _ = self.lengths.tolist()
        latest, due = self.progress[kernel.LATEST], self.progress[kernel.DUE]
        return bool(latest != kernel.UNUSED and latest * pane >= due - size)

    def step(
        self,
        elements: Columns,
        valid: Mask,
        times: Ints,
        event: Ints,
        key: Ints,
        until: int,
        expired: Expired,
    ) -> None:
        """Take in some pairs; the folds of all windows that end by `until` go to `expired`."""
        progress = self.progress
        progress[kernel.NEXT] = progress[kernel.ENTRY] = 0
        outcome = -1
        while outcome != kernel.DONE:
            progress[kernel.WRITTEN] = expired.rows
            outcome = self._kernel(
                elements, valid, times, event, key, self.lengths, self.index, self.book, self.cells,
                progress, until, expired.ends, expired.owners, expired.known, expired.elements,
            )  # fmt: skip
            expired.rows = int(progress[kernel.WRITTEN])
            if outcome == kernel.GROW:
                self._grow()
            elif outcome == kernel.FULL:
                expired.reserve(int(progress[kernel.USED]))

    def _grow(self) -> None:
        """A table of the live keys only, larger unless most of the keys were dead."""
        low = (self.progress[kernel.DUE] - self.lengths[1]) // self.lengths[2]
        stride, ring, old = self.ring + 2, self.ring, (self.book, *self.cells)
        live = self.book[1::stride] >= low
        room, used = len(live), int(live.sum())
        self._allocate(room if 2 * used < room else 4 * room)
        widths = (stride, *(ring for _ in self.cells))
        for new, before, width in zip((self.book, *self.cells), old, widths, strict=True):
            # A slice is a plain copy, which a mask is not; in a young table all keys are alive.
            kept = before if used == room else before.reshape(-1, width)[live].reshape(-1)
            new[: used * width] = kept
        kernel_of(kernel.enter)(self.index, self.book, stride, used)
        self.progress[kernel.USED] = used

    @property
    def arrays(self) -> list[Array]:
        return [self.index, self.book, *self.cells, self.progress]
