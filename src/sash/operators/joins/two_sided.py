"""What all joins on streams share: rows of both sides are judged, wait, and are bytes between batches.

    insert     judge by the watermark; what is on time waits, and is written as a chunk
    advance    what the watermark has passed is joined; each kind has its own way

A saved operator is a small header that is rewritten, and chunks of rows that are written once. Which rows
of a chunk still wait follows from the watermark.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.stores.values import reading, seal, unseal
from sash.arrays import Ints, Mask
from sash.errors import CorruptValue
from sash.operators.columns.table_bytes import batch_of
from sash.operators.columns.times import to_integers
from sash.operators.joins.bound_join import BoundSide, BoundSides
from sash.operators.joins.bounded_join import late, timed, untimed
from sash.operators.joins.state.archive import Rows
from sash.operators.protocol import Saved
from sash.operators.windows.ranges import NEVER
from sash.semantics.expression import Side
from sash.semantics.watermark import Lateness

HEADER = b"header of a join"
LAYOUT = 1
"""Goes up with every change of what a header or a chunk holds."""
SEQUENCE = "__sequence"


class TwoSidedOperator(ABC):
    """Both sides of a join, or of a bucket of it."""

    bound: BoundSides

    def __init__(self, bound: Any) -> None:
        self.bound = bound
        self.watermark: int | None = None
        self._waiting = {side: Rows.nothing(bound.of(side).schema) for side in Side}
        self._arrived = dict.fromkeys(Side, 0)
        self._chunks = 0
        self._live: dict[int, tuple[Side, int]] = {}
        """The chunks that hold rows which are needed: the side of each, and its `_extent`."""
        self._sizes: dict[int, int] = {}
        """Bytes of their rows."""
        self._unsaved: dict[int, bytes] = {}
        self._gone: frozenset[int] = frozenset()

    def insert(
        self, side: Side, rows: pa.Table, ordinals: Ints, *, originals: Mask | None = None
    ) -> pa.Table:
        """Takes rows of a side, which arrived in the order of `ordinals`; returns those that are late, with
        the reason. A row that is not one of the `originals` is a copy, reported by another bucket."""
        own, order = self.bound.of(side), np.argsort(ordinals, kind="stable")
        rows = rows.take(pa.array(order))
        originals = np.ones(rows.num_rows, np.bool_) if originals is None else originals[order]
        known = pc.is_valid(rows[own.time]).to_numpy()
        late_rows = [untimed(own, rows.filter(pa.array(originals)))]
        rows, originals = rows.filter(pa.array(known)), originals[known]
        on_time = to_integers(rows[own.time]) >= (-NEVER if self.watermark is None else self.watermark)
        too_late = rows.filter(pa.array(~on_time & originals))
        late_rows.append(late(own, too_late, Lateness.TOO_LATE.value))
        rows = rows.filter(pa.array(on_time))
        if rows.num_rows:
            sequence = self._arrived[side] + np.arange(rows.num_rows)
            self._arrived[side] += rows.num_rows
            taken = timed(own, rows, sequence)
            self._waiting[side] = Rows.together([self._waiting[side], taken])
            self._write(side, taken)
        return pa.concat_tables(late_rows)

    def advance(self, watermark: int, *, flush: bool = False) -> pa.Table:
        """No row before `watermark` is expected any more: what this makes final, in order."""
        self.watermark = watermark if self.watermark is None else max(self.watermark, watermark)
        return self._advanced({side: self._passed(side, flush=flush) for side in Side}, flush=flush)

    def _passed(self, side: Side, *, flush: bool = False) -> Rows:
        """The waiting rows that the watermark has passed, in order: they wait no longer."""
        waiting = self._waiting[side]
        passed = waiting.time < (NEVER if flush or self.watermark is None else self.watermark)
        self._waiting[side] = waiting.where(~passed)
        return waiting.where(passed).in_order()

    def _write(self, side: Side, rows: Rows) -> None:
        """Rows as a chunk that the next `save` writes."""
        self._unsaved[self._chunks] = _bytes_of(self._chunks, rows)
        self._live[self._chunks] = side, self._extent(rows)
        self._sizes[self._chunks] = rows.nbytes
        self._chunks += 1

    def _drop(self, gone: set[int]) -> None:
        """No row of these chunks is needed any more."""
        self._live = {number: chunk for number, chunk in self._live.items() if number not in gone}
        self._gone |= gone
        for number in gone:
            self._sizes.pop(number, None)

    @property
    def memory(self) -> int:
        """Rows, and as much again for what finds them."""
        return 2 * sum(self._sizes.values())

    def save(self) -> Saved:
        """The difference since the last `save`."""
        facts = {
            "layout": LAYOUT,
            "watermark": self.watermark,
            "arrived": {side.value: count for side, count in self._arrived.items()},
            "chunks": self._chunks,
            "live": {number: [side.value, extent] for number, (side, extent) in self._live.items()},
            **self._facts(),
        }
        written = {number: data for number, data in self._unsaved.items() if number in self._live}
        dropped = frozenset(self._gone - self._unsaved.keys())
        self._unsaved, self._gone = {}, frozenset()
        return Saved(seal(HEADER, json.dumps(facts).encode()), written, dropped)

    def resume(self, header: bytes, chunks: Mapping[int, bytes]) -> None:  # noqa: B027 (nothing to do)
        """All rows are at hand: the chunks of the store are read only to be loaded."""

    @classmethod
    def load(
        cls, bound: Any, header: bytes | None, chunks: Mapping[int, bytes], *, name: str | None = None
    ) -> Self:
        """The operator as it was saved; a new one when there is no header."""
        operator = cls(bound)
        if header is not None:
            with reading("the state of a join"):
                operator._restore(json.loads(bytes(unseal(HEADER, header))), chunks)
        return operator

    def _restore(self, facts: dict[str, Any], chunks: Mapping[int, bytes]) -> None:
        if facts.get("layout") != LAYOUT:
            raise CorruptValue(
                f"the state was saved by another version of Sash, in layout {facts.get('layout')}; this "
                f"reads {LAYOUT}: start with a new checkpoint, or resume it with the version that saved it"
            )
        self.watermark, self._chunks = facts["watermark"], facts["chunks"]
        self._arrived = {side: facts["arrived"][side.value] for side in Side}
        self._live = {int(number): (Side(side), extent) for number, (side, extent) in facts["live"].items()}
        for number, (side, _) in self._live.items():
            try:
                rows = _rows_of(number, chunks[number], self.bound.of(side))
            except KeyError:
                raise CorruptValue(f"the state lacks the chunk {number} of {sorted(self._live)}") from None
            self._sizes[number] = rows.nbytes
            self._waiting[side] = Rows.together([self._waiting[side], rows])
        if self.watermark is not None:
            self._remember({side: self._passed(side) for side in Side}, facts)

    # What differs

    @abstractmethod
    def _advanced(self, passed: Mapping[Side, Rows], *, flush: bool) -> pa.Table:
        """What the rows that the watermark has passed now make final."""

    @abstractmethod
    def _extent(self, rows: Rows) -> int:
        """What the header has of a chunk with these rows."""

    def _facts(self) -> dict[str, Any]:
        """What else the header has."""
        return {}

    @abstractmethod
    def _remember(self, passed: Mapping[Side, Rows], facts: dict[str, Any]) -> None:
        """Rows that the watermark had passed before the operator was saved: they have been joined."""

    @abstractmethod
    def wakes_at(self) -> int | None:
        """The least watermark at which `advance` may have something to emit, or all there is to let go of,
        without further rows."""


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
