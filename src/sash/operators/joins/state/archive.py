"""The rows of one side of a join, once each, where they came: everything else refers to them by place.

    place  =  the number of a row, in the order in which the store took it

Shares and chunks move places and the few columns that a predicate reads; rows are only looked up for pairs
that match, and for predicates that Python must compute. When rows go, and who lets them go:
`joins/join_operator.py` (`_expired`), `JoinStore.expire` in `side_shares.py`.

>>> archive = Archive(pa.schema({"x": pa.int64()}))
>>> rows = Rows(pa.table({"x": [7, 8]}), np.array([1, 4]), np.array([0, 1]))
>>> archive.add(rows).tolist(), archive.add(rows).tolist()
([0, 1], [2, 3])
>>> archive.at(np.array([3, 0])).table(np.array([0, 1]))["x"].to_pylist()
[8, 7]
>>> archive.at(np.array([3])).table(np.array([0, 0]), has=np.array([True, False]))["x"].to_pylist()
[8, None]
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np
import pyarrow as pa

from sash.arrays import Ints, Mask
from sash.semantics.join import PredicateRow


@dataclass(frozen=True)
class Rows:
    """Events of one side, one row each, with their times and their numbers in the arrival order."""

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

    @property
    def nbytes(self) -> int:
        return int(self.table.nbytes) + self.time.nbytes + self.sequence.nbytes

    @cached_property
    def _predicate_row_at(self) -> dict[int, PredicateRow]:
        """By position: those that were made already."""
        return {}

    def predicate_rows(self, positions: Ints) -> list[PredicateRow]:
        """Some rows as a user's function sees them; each is made once."""
        chosen, made = positions.tolist(), self._predicate_row_at
        missing = [position for position in dict.fromkeys(chosen) if position not in made]
        values = self.table.take(pa.array(missing, pa.int64())).to_pylist()
        made.update(zip(missing, map(PredicateRow, values), strict=True))
        return [made[position] for position in chosen]

    def take(self, positions: Ints) -> Rows:
        return Rows(self.table.take(pa.array(positions)), self.time[positions], self.sequence[positions])

    def in_order(self) -> Rows:
        """By time, then by arrival."""
        time, sequence = self.time, self.sequence
        follows = (time[1:] > time[:-1]) | ((time[1:] == time[:-1]) & (sequence[1:] > sequence[:-1]))
        return self if follows.all() else self.take(np.lexsort((sequence, time)))

    def where(self, chosen: Mask) -> Rows:
        return self if chosen.all() else self.take(np.flatnonzero(chosen))


def nullable(table: pa.Table) -> pa.Table:
    """The table with columns that may hold nulls."""
    return table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))


@dataclass(frozen=True)
class Located:
    """Rows at some places: positions in the concatenation of the parts that hold them."""

    parts: Sequence[Rows]
    starts: Ints
    """Where each part begins in it."""
    positions: Ints

    @property
    def time(self) -> Ints:
        return self._joined([part.time for part in self.parts])

    @property
    def sequence(self) -> Ints:
        return self._joined([part.sequence for part in self.parts])

    def table(self, order: Ints, has: Mask | None = None) -> pa.Table:
        """The rows, in this order; one of nulls where there is none."""
        if has is None or has.all():
            return self._whole.take(pa.array(self.positions[order]))
        positions = np.zeros(len(order), np.int64)
        positions[has] = self.positions[order[has]]
        return nullable(self._whole).take(pa.array(positions, mask=~has))

    @property
    def _whole(self) -> pa.Table:
        return pa.concat_tables([part.table for part in self.parts])

    def predicate_rows(self) -> list[PredicateRow]:
        """The rows as a user's function sees them; places must increase."""
        edges = np.searchsorted(self.positions, [*self.starts, np.iinfo(np.int64).max])
        return [
            row
            for part, start, lo, hi in zip(self.parts, self.starts, edges, edges[1:], strict=False)
            for row in part.predicate_rows(self.positions[lo:hi] - start)
        ]

    def _joined(self, numbers: list[Ints]) -> Ints:
        whole = numbers[0] if len(numbers) == 1 else np.concatenate([*numbers, np.empty(0, np.int64)])
        return whole[self.positions]


class Archive:
    """Any number of threads may look rows up while one adds and lets go."""

    def __init__(self, schema: pa.Schema) -> None:
        self._nothing = Rows.nothing(schema)
        self._parts: deque[Rows] = deque()
        self._newest: deque[int] = deque()
        """The latest time in each part: rows that waited together need not be in order."""
        self._firsts = np.empty(0, np.int64)
        """The place of the first row of each part."""
        self._taken = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def add(self, rows: Rows) -> Ints:
        """Take rows; returns their places."""
        with self._lock:
            first = self._taken
            if len(rows):
                self._parts.append(rows)
                self._newest.append(int(rows.time.max()))
                self._firsts = np.append(self._firsts, first)
                self._taken += len(rows)
        return np.arange(first, first + len(rows))

    def at(self, places: Ints) -> Located:
        """The rows at places that have not been let go of."""
        with self._lock:
            part = np.searchsorted(self._firsts, places, side="right") - 1
            chosen = np.unique(part)
            parts, firsts = [self._parts[number] for number in chosen.tolist()], self._firsts[chosen]
        if not parts:
            return Located([self._nothing], np.zeros(1, np.int64), places)
        starts = np.cumsum([0, *(len(rows) for rows in parts)])[:-1]
        number = np.searchsorted(firsts, places, side="right") - 1
        return Located(parts, starts, (starts - firsts)[number] + places)

    def expire(self, before: int) -> None:
        """Let go of the oldest parts, as far as they hold no row of this time or later."""
        with self._lock:
            gone = 0
            while self._parts and self._newest[0] < before:
                self._parts.popleft()
                self._newest.popleft()
                gone += 1
            self._firsts = self._firsts[gone:]
