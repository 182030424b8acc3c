"""The rows of both sides of a join in a store: numbered chunks, each written once and dropped as a whole.

    write     rows become a chunk
    merge     small neighbours of a side become one chunk, as in a binary counter
    take      what the store has to write and to drop since the last time

The header of an operator lists all chunks and is rewritten with every batch, so they must be few: a batch
per second would leave 86,400 in a day. Merged, they are O(log n) of equal batches. Each row is written
O(log n) times, and read again as often: rows are held once, where a join finds them.

A chunk is dropped when none of its rows is needed. So none grows over a time of more than `longest`, nor
over `LARGEST` bytes, which also bounds what one batch may have to rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sash.aggregation.stores.values import reading, seal, unseal
from sash.errors import CorruptValue
from sash.operators.columns.table_bytes import batch_of
from sash.operators.joins.bound_join import BoundSide, BoundSides
from sash.operators.joins.bounded_join import timed
from sash.operators.joins.state.archive import Rows
from sash.operators.joins.state.binary_counter import carries
from sash.semantics.expression import Side

SEQUENCE = "__sequence"
LARGEST = 2**22


@dataclass(frozen=True)
class RowChunk:
    """What is known of a chunk without reading it."""

    side: Side
    count: int
    size: int
    """Bytes of its rows in memory."""
    first: int
    """The least number of its rows in the arrival order."""
    oldest: int
    newest: int

    @classmethod
    def of(cls, side: Side, rows: Rows) -> RowChunk:
        first, oldest, newest = rows.sequence.min(), rows.time.min(), rows.time.max()
        return cls(side, len(rows), rows.nbytes, int(first), int(oldest), int(newest))

    def with_next(self, newer: RowChunk) -> RowChunk:
        return RowChunk(
            self.side, self.count + newer.count, self.size + newer.size, self.first,
            min(self.oldest, newer.oldest), max(self.newest, newer.newest),
        )  # fmt: skip


class RowChunks:
    """Those of an operator."""

    def __init__(self, bound: BoundSides, *, longest: int | None = None) -> None:
        self._bound, self._longest = bound, longest
        self.live: dict[int, RowChunk] = {}
        """Those with rows that are needed."""
        self.count = 0
        """How many there have been."""
        self.stored: Mapping[int, bytes] = {}
        """Of the store, during a batch."""
        self._unsaved: dict[int, bytes] = {}
        self._gone: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.live)

    @property
    def size(self) -> int:
        """Bytes of all rows."""
        return sum(chunk.size for chunk in self.live.values())

    def of(self, side: Side) -> dict[int, RowChunk]:
        """The chunks of a side, the rows that came first first."""
        own = ((number, chunk) for number, chunk in self.live.items() if chunk.side is side)
        return dict(sorted(own, key=lambda entry: entry[1].first))

    def write(self, side: Side, rows: Rows) -> None:
        """Rows as a chunk that is written with the next `take`."""
        self._unsaved[self.count] = _bytes_of(self.count, rows)
        self.live[self.count] = RowChunk.of(side, rows)
        self.count += 1

    def drop(self, gone: Iterable[int]) -> None:
        """No row of these chunks is needed any more."""
        self._gone |= set(gone)
        self.live = {number: chunk for number, chunk in self.live.items() if number not in self._gone}

    def read(self, number: int, side: Side) -> Rows:
        """The rows of a chunk; CorruptValue if the store has none, or bytes that are none."""
        try:
            data = self._unsaved[number] if number in self._unsaved else self.stored[number]
        except KeyError:
            raise CorruptValue(f"the state lacks the chunk {number} of {sorted(self.live)}") from None
        return _rows_of(number, data, self._bound.of(side))

    def restore(self, number: int, side: Side) -> Rows:
        """The rows of a chunk that was live."""
        rows = self.read(number, side)
        self.live[number] = RowChunk.of(side, rows)
        return rows

    def merge(self, needed: Callable[[Rows], Rows]) -> None:
        """Make one chunk of small neighbours, with those of their rows that are needed."""
        for side in Side:
            for group in self._groups(self.of(side)):
                if len(group) > 1:
                    with reading("the state of a join"):
                        rows = needed(Rows.together([self.read(number, side) for number in group]))
                    self.drop(group)
                    if len(rows):
                        self.write(side, rows)

    def _groups(self, chunks: Mapping[int, RowChunk]) -> Sequence[Sequence[int]]:
        """The chunks of a side: those that become one are in one group."""
        groups: list[tuple[RowChunk, list[int]]] = []
        for number, chunk in chunks.items():
            whole, members = chunk, [number]
            while groups and self._are_to_merge(groups[-1][0], whole):
                older, earlier = groups.pop()
                whole, members = older.with_next(whole), earlier + members
            groups.append((whole, members))
        return [members for _, members in groups]

    def _are_to_merge(self, older: RowChunk, newer: RowChunk) -> bool:
        together = older.with_next(newer)
        if self._longest is not None and together.newest - together.oldest > self._longest:
            return False
        return carries(older.count, newer.count) and together.size <= LARGEST

    def take(self) -> tuple[dict[int, bytes], frozenset[int]]:
        """What is to be written and what is to be dropped since the last time."""
        written = {number: data for number, data in self._unsaved.items() if number in self.live}
        dropped = frozenset(self._gone - self._unsaved.keys())
        self._unsaved, self._gone, self.stored = {}, frozenset(), {}
        return written, dropped


def _bytes_of(number: int, rows: Rows) -> bytes:
    table = rows.table.append_column(SEQUENCE, pa.array(rows.sequence)).combine_chunks()
    (batch,) = table.to_batches()
    return seal(chunk_name(number), batch.serialize())


def _rows_of(number: int, data: bytes, side: BoundSide) -> Rows:
    schema = side.schema.append(pa.field(SEQUENCE, pa.int64()))
    batch = batch_of(unseal(chunk_name(number), data), schema)
    table = pa.Table.from_batches([batch])
    return timed(side, table.drop_columns(SEQUENCE), table[SEQUENCE].to_numpy())


def chunk_name(number: int) -> bytes:
    """What a chunk is sealed under."""
    return b"chunk %d of a join" % number
