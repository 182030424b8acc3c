"""Rows of an as-of join that are held by key until an instant, and found by the hash of their key or by
that instant. (Joins of two streams hold tuples in `joins/state/`: `side_shares.py` begins there.)

    put     rows, each with the last instant at which it may be needed
    take    the rows of some keys: they are held no longer
    due     the rows whose instant has passed: they are held no longer

Rows lie in parts, each sorted by hash, that are merged as in a binary counter. A batch thus costs what it
puts and takes, times a logarithm, however many rows of other keys are held. Two keys may have one hash:
whoever takes rows compares their keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sash.arrays import Ints, Mask
from sash.operators.engine.lanes.row_words import Words
from sash.operators.joins.state.archive import Rows
from sash.operators.joins.state.binary_counter import carries
from sash.operators.windows.numbering import numbered
from sash.operators.windows.ranges import NEVER

SMALL = 2**10
"""Parts up to this size are merged, and lose rows, without being rewritten."""


@dataclass(frozen=True)
class KeyHash:
    """A number for each row, equal where the keys are; columns are compared as these types."""

    types: dict[str, pa.DataType]

    def of(self, table: pa.Table) -> Ints:
        if not self.types or not table.num_rows:
            return np.zeros(table.num_rows, np.int64)
        columns = {name: table[name].cast(type_) for name, type_ in self.types.items()}
        return Words(pa.schema(self.types)).hashed(pa.table(columns))[0]


@dataclass
class _HeldPart:
    rows: Rows
    hash: Ints
    """In ascending order."""
    until: Ints
    held: Mask
    count: int
    """Of those that are held."""
    earliest: int
    """No row has to be found before this instant."""

    @classmethod
    def of(cls, rows: Rows, hashes: Ints, until: Ints) -> _HeldPart:
        order = np.argsort(hashes, kind="stable")
        until = until[order]
        held = np.ones(len(order), np.bool_)
        return cls(rows.take(order), hashes[order], until, held, len(order), int(until.min()))

    @classmethod
    def merged(cls, parts: Sequence[_HeldPart]) -> _HeldPart:
        chosen = [np.flatnonzero(part.held) for part in parts]
        return cls.of(
            Rows.together([part.rows.take(own) for part, own in zip(parts, chosen, strict=True)]),
            np.concatenate([part.hash[own] for part, own in zip(parts, chosen, strict=True)]),
            np.concatenate([part.until[own] for part, own in zip(parts, chosen, strict=True)]),
        )

    def of_hashes(self, hashes: Ints) -> Ints:
        """The positions of held rows with these hashes, which are distinct."""
        lo, hi = (np.searchsorted(self.hash, hashes, side=side) for side in ("left", "right"))
        of_hash, number = numbered(hi - lo)
        found: Ints = lo[of_hash] + number
        return found[self.held[found]]

    def before(self, instant: int) -> Ints:
        """The positions of held rows whose instant is before this one."""
        if self.earliest >= instant:
            return np.empty(0, np.int64)
        found = np.flatnonzero((self.until < instant) & self.held)
        later = self.until[(self.until >= instant) & self.held]
        self.earliest = int(later.min(initial=NEVER))
        return found

    def take(self, positions: Ints) -> Rows:
        self.held[positions] = False
        self.count -= len(positions)
        return self.rows.take(positions)


class RowsByKeyHash:
    """Rows of one side of a join."""

    def __init__(self, schema: pa.Schema, key_hash: KeyHash) -> None:
        self._schema, self._key_hash = schema, key_hash
        self._parts: list[_HeldPart] = []

    def __len__(self) -> int:
        return sum(part.count for part in self._parts)

    def put(self, rows: Rows, until: Ints) -> None:
        if not len(rows):
            return
        self._parts.append(_HeldPart.of(rows, self._key_hash.of(rows.table), until))
        while len(self._parts) > 1 and carries(*(part.count for part in self._parts[-2:]), small=SMALL):
            self._parts[-2:] = [_HeldPart.merged(self._parts[-2:])]

    def take(self, hashes: Ints) -> Rows:
        """The rows of keys with these distinct hashes."""
        return self._taken([part.of_hashes(hashes) for part in self._parts])

    def due(self, instant: int | None) -> Rows:
        """The rows whose instant is before this one; all of them, when there is none."""
        if instant is None:
            return self._taken([np.flatnonzero(part.held) for part in self._parts])
        return self._taken([part.before(instant) for part in self._parts])

    def _taken(self, positions: Sequence[Ints]) -> Rows:
        taken = [part.take(own) for part, own in zip(self._parts, positions, strict=True) if len(own)]
        kept = [part for part in self._parts if part.count]
        self._parts = [
            _HeldPart.merged([part]) if 2 * part.count < len(part.held) > SMALL else part for part in kept
        ]
        return Rows.together([Rows.nothing(self._schema), *taken])

    def all(self) -> Rows:
        """All rows; they stay."""
        held = [part.rows.take(np.flatnonzero(part.held)) for part in self._parts]
        return Rows.together([Rows.nothing(self._schema), *held])

    @property
    def sequence(self) -> Ints:
        """The numbers of all rows in the arrival order."""
        return np.concatenate([np.empty(0, np.int64), *(p.rows.sequence[p.held] for p in self._parts)])

    @property
    def earliest(self) -> int:
        """No row is due before this instant; NEVER when there is none."""
        return min((part.earliest for part in self._parts), default=NEVER)

    @property
    def latest(self) -> int:
        """Once this instant has passed, all rows that are here now are due."""
        return max((int(part.until.max()) for part in self._parts), default=-NEVER)
