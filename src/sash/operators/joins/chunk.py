"""Rows of one side of a join, sorted so that the candidates of a row of the other side stand together.

    code    =  group · 2³² + cell + 2³¹           (0 for a group or a cell that there is none of)
    second  =  the other band, where there are two; the time otherwise
    order   =  by (code, second, arrival)

A chunk is what is stored, and what probes: rows that are new are a chunk too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.kernels.pairs import Ranges, candidates
from sash.aggregation.kernels.vocabulary import Columns
from sash.operators.joins.bound import BoundJoin
from sash.operators.joins.keyring import Keyring
from sash.operators.joins.strategy import CELLS
from sash.semantics.expression import Side
from sash.semantics.join import AskedRow

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Events of one side, one row each, with their times and their places in the arrival order."""

    table: pa.Table
    time: Ints
    sequence: Ints

    @classmethod
    def nothing(cls, schema: pa.Schema) -> Rows:
        return cls(schema.empty_table(), np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def together(cls, parts: Sequence[Rows]) -> Rows:
        return cls(
            pa.concat_tables([part.table for part in parts]).combine_chunks(),
            np.concatenate([part.time for part in parts]),
            np.concatenate([part.sequence for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.time)

    def take(self, positions: Ints) -> Rows:
        return Rows(self.table.take(pa.array(positions)), self.time[positions], self.sequence[positions])

    def where(self, chosen: NDArray[np.bool_]) -> Rows:
        return self if chosen.all() else self.take(np.flatnonzero(chosen))


@dataclass(frozen=True)
class Chunk:
    """Rows in the order of their codes, with what kernels read of them."""

    rows: Rows
    code: Ints
    second: Ints
    columns: Columns
    clean: bool
    """Whether machine code can judge these rows; otherwise Python is asked about them."""

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def oldest(self) -> int:
        return int(self.rows.time.min())

    @cached_property
    def newest(self) -> int:
        return int(self.rows.time.max())

    @cached_property
    def asked(self) -> list[AskedRow]:
        """The rows as a user's function sees them."""
        return [AskedRow(values) for values in self.rows.table.to_pylist()]

    @classmethod
    def merged(cls, chunks: Sequence[Chunk]) -> Chunk:
        """All rows of some chunks as one chunk."""
        return cls(
            Rows.together([chunk.rows for chunk in chunks]),
            np.concatenate([chunk.code for chunk in chunks]),
            np.concatenate([chunk.second for chunk in chunks]),
            tuple(np.concatenate(parts) for parts in zip(*(c.columns for c in chunks), strict=True)),
            all(chunk.clean for chunk in chunks),
        ).in_order()

    def in_order(self) -> Chunk:
        order = np.lexsort((self.rows.sequence, self.second, self.code))
        return self.take(order)

    def take(self, positions: Ints) -> Chunk:
        return Chunk(
            self.rows.take(positions),
            self.code[positions],
            self.second[positions],
            tuple(column[positions] for column in self.columns),
            self.clean,
        )

    def during(self, earliest: int, latest: int) -> Chunk:
        """The rows of a time between these, both included; all of them when that leaves few out."""
        if not len(self) or (earliest <= self.oldest and self.newest <= latest):
            return self
        positions = np.flatnonzero((self.rows.time >= earliest) & (self.rows.time <= latest))
        return self if 2 * len(positions) > len(self) else self.take(positions)


class Index:
    """Gives rows their codes. Groups are numbered as they come, for both sides alike."""

    def __init__(self, bound: BoundJoin) -> None:
        self._strategy = bound.strategy
        self._within = min(bound.join.within.length, 2**61)
        names = tuple(f"group {number}" for number in range(len(self._strategy.groups)))
        self.groups = Keyring(names)

    @property
    def compares_time(self) -> bool:
        """Whether candidates may be too far apart in time, so that the matcher must look."""
        return len(self._strategy.bands) > 1

    def codes(self, rows: Rows, side: Side) -> tuple[Ints, Ints]:
        """`code` and `second` of each row."""
        groups, bands = self._strategy.groups, self._strategy.bands
        code = np.zeros(len(rows), np.int64)
        if groups and len(rows):
            columns = {
                name: rows.table[group.name(side)].cast(group.type)
                for name, group in zip(self.groups.names, groups, strict=True)
            }
            code += self.groups.slots_of(pa.table(columns)) << 32
        if bands:
            code += bands[0].cells(rows.table, side) + 2 * CELLS
        second = bands[1].fine(rows.table, side) if self.compares_time else rows.time
        return code, second

    def candidates(self, probe: Chunk, stored: Chunk) -> Ranges:
        """Which rows of a chunk each row of another could match."""
        reach = len(self._strategy.bands[:1])
        return candidates(probe.code, probe.second, stored.code, stored.second, reach, self._span)

    @property
    def _span(self) -> int:
        return self._strategy.bands[1].fine_width if self.compares_time else self._within
