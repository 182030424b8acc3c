"""Rows of one side of a join, sorted so that the candidates of a row of the other side stand together.

    code    =  group · 2³² + cell + 2³¹           (0 for a group or a cell that there is none of)
    second  =  the other band, where there are two; the time otherwise
    order   =  by (code, second, place)

A chunk is what is stored, and what probes: rows that are new are a chunk too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.kernels.joins.pairs import CandidateRanges, candidates
from sash.arrays import Ints
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.joins.hash_band_or_matrix import CELLS
from sash.operators.joins.state.archive import Rows
from sash.operators.joins.state.key_slots import KeySlots
from sash.semantics.expression import Side


@dataclass(frozen=True)
class Chunk:
    """Rows by their places, with what kernels read of them: columns that nobody writes to."""

    place: Ints
    time: Ints
    code: Ints
    second: Ints
    columns: Columns
    clean: bool
    """Whether machine code can judge these rows; otherwise Python judges them."""

    def __post_init__(self) -> None:
        for column in (self.code, self.second, *self.columns):
            column.flags.writeable = False

    def __len__(self) -> int:
        return len(self.place)

    @cached_property
    def oldest(self) -> int:
        return int(self.time.min())

    @cached_property
    def newest(self) -> int:
        return int(self.time.max())

    @cached_property
    def span(self) -> tuple[int, int]:
        """The least and the greatest `second`."""
        return int(self.second.min()), int(self.second.max())

    @classmethod
    def merged(cls, chunks: Sequence[Chunk]) -> Chunk:
        """All rows of some chunks as one chunk."""
        place, time, code, second = (
            np.concatenate([getattr(chunk, name) for chunk in chunks])
            for name in ("place", "time", "code", "second")
        )
        columns = tuple(np.concatenate(parts) for parts in zip(*(c.columns for c in chunks), strict=True))
        return cls(place, time, code, second, columns, all(chunk.clean for chunk in chunks)).in_order()

    def in_order(self) -> Chunk:
        code, second = self.code, self.second
        follows = (code[1:] > code[:-1]) | ((code[1:] == code[:-1]) & (second[1:] >= second[:-1]))
        # Rows come in the order of time: without groups and bands there is nothing to sort.
        return self if follows.all() else self.take(np.lexsort((second, code)))

    def take(self, positions: Ints) -> Chunk:
        return Chunk(
            self.place[positions],
            self.time[positions],
            self.code[positions],
            self.second[positions],
            tuple(column[positions] for column in self.columns),
            self.clean,
        )

    def during(self, earliest: int, latest: int) -> Chunk:
        """The rows of a time between these, both included; all of them when that leaves few out."""
        if not len(self) or (earliest <= self.oldest and self.newest <= latest):
            return self
        positions = np.flatnonzero((self.time >= earliest) & (self.time <= latest))
        return self if 2 * len(positions) > len(self) else self.take(positions)


class Index:
    """Gives rows their codes. Groups are numbered as they come, for both sides alike; codes of two indexes
    have nothing to do with each other."""

    def __init__(self, bound: BoundJoin) -> None:
        self._strategy = bound.strategy
        self._within = min(bound.join.within.length, 2**61)
        names = tuple(f"group {number}" for number in range(len(self._strategy.groups)))
        self.groups = KeySlots(names)
        self._numbering = Lock()

    @property
    def is_time_alone(self) -> bool:
        """Whether rows have no code but their times: all are compared with all."""
        return not (self._strategy.groups or self._strategy.bands)

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
            with self._numbering:
                code += self.groups.slots_of(pa.table(columns)) << 32
        if bands:
            code += bands[0].cells(rows.table, side) + 2 * CELLS
        second = bands[1].fine(rows.table, side) if self.compares_time else rows.time
        return code, second

    def candidates(self, probe: Chunk, stored: Chunk) -> CandidateRanges:
        """Which rows of a chunk each row of another could match."""
        reach = len(self._strategy.bands[:1])
        return candidates(
            probe.code, probe.second, stored.code, stored.second, reach, self._reach, stored.span
        )

    @property
    def _reach(self) -> int:
        return self._strategy.bands[1].fine_width if self.compares_time else self._within
