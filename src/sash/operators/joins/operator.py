"""The join on a stream: batch after batch, equal to the definition.

    insert     judge by the watermark; what is on time waits
    advance    what the watermark has passed meets what is stored, in event-time order, and is stored itself

Rows meet only when the watermark has passed them, so that pairs come in the order of the definition. A
row is held until no row can come that is close enough in time: τ < watermark − within. Between two
batches the operator is bytes: a small header, and one chunk for each batch of a side, written once.
Which rows of a chunk still wait and which are stored follows from the watermark; of an outer join the
header also has which stored rows have met one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.stores.values import seal, unseal
from sash.arrays import Ints, Mask
from sash.errors import CorruptValue
from sash.operators.columns.times import to_integers
from sash.operators.joins.archive import Rows
from sash.operators.joins.bound import BoundJoin, BoundSide
from sash.operators.joins.bounded import late, timed, untimed
from sash.operators.joins.pair_table import pair_table
from sash.operators.joins.store import JoinStore
from sash.operators.protocol import Saved
from sash.operators.windows.ranges import NEVER
from sash.semantics.expression import Side
from sash.semantics.watermark import Lateness

HEADER = b"header of a join"
LAYOUT = 1
"""Goes up with every change of what a header or a chunk holds."""
SEQUENCE = "__sequence"


@dataclass(frozen=True)
class SavedChunk:
    """What the header has of a chunk."""

    side: Side
    newest: int


class JoinOperator:
    """Both sides of a join, or of a bucket of it."""

    def __init__(self, bound: BoundJoin, *, shares: int = 1) -> None:
        self.bound = bound
        self.watermark: int | None = None
        self.store = JoinStore(bound, shares=shares)
        self._waiting = {side: Rows.nothing(bound.of(side).schema) for side in Side}
        self._arrived = dict.fromkeys(Side, 0)
        self._chunks = 0
        self._saved: dict[int, SavedChunk] = {}
        self._unsaved: dict[int, bytes] = {}
        self._gone: frozenset[int] = frozenset()
        self._newest = -NEVER

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
            self._wait(side, timed(own, rows, sequence))
        return pa.concat_tables(late_rows)

    def _wait(self, side: Side, rows: Rows) -> None:
        self._waiting[side] = Rows.together([self._waiting[side], rows])
        self._unsaved[self._chunks] = _bytes_of(self._chunks, rows)
        self._saved[self._chunks] = SavedChunk(side, int(rows.time.max()))
        self._chunks += 1

    def advance(self, watermark: int, *, flush: bool = False) -> pa.Table:
        """No row before `watermark` is expected any more: the pairs that this makes final, in order."""
        self.watermark = watermark if self.watermark is None else max(self.watermark, watermark)
        passed = {side: self._passed(side, flush=flush) for side in Side}
        expired = self.watermark - self.bound.join.within.length
        pairs = self.store.meet(passed)
        found = pair_table(self.store, pairs, self.store.leave(NEVER if flush else expired))
        self._newest = max([self._newest, *(int(rows.time.max()) for rows in passed.values() if len(rows))])
        self.store.expire(expired)
        gone = {number for number, chunk in self._saved.items() if chunk.newest < expired}
        self._saved = {number: chunk for number, chunk in self._saved.items() if number not in gone}
        self._gone |= gone
        return found

    def _passed(self, side: Side, *, flush: bool) -> Rows:
        waiting = self._waiting[side]
        passed = waiting.time < (NEVER if flush or self.watermark is None else self.watermark)
        self._waiting[side] = waiting.where(~passed)
        return waiting.where(passed).in_order()

    def wakes_at(self) -> int | None:
        """The least watermark at which `advance` may have something to emit, or all there is to let go of,
        without further rows."""
        within = self.bound.join.within.length
        waiting = [int(rows.time.min()) + 1 for rows in self._waiting.values() if len(rows)]
        alone = [followed.earliest for followed in self.store.alone.values()]
        waiting += [time + within + 1 for time in alone if time is not None]
        if waiting:
            return min(waiting)
        return self._newest + within + 1 if self.store.stored else None

    def save(self) -> Saved:
        """The difference since the last `save`."""
        facts = {
            "layout": LAYOUT,
            "watermark": self.watermark,
            "arrived": {side.value: count for side, count in self._arrived.items()},
            "chunks": self._chunks,
            "live": {number: [chunk.side.value, chunk.newest] for number, chunk in self._saved.items()},
            "met": {side.value: alone.to_text() for side, alone in self.store.alone.items()},
        }
        written = {number: data for number, data in self._unsaved.items() if number in self._saved}
        dropped = frozenset(self._gone - self._unsaved.keys())
        self._unsaved, self._gone = {}, frozenset()
        return Saved(seal(HEADER, json.dumps(facts).encode()), written, dropped)

    def resume(self, header: bytes, chunks: Mapping[int, bytes]) -> None:
        """All rows are at hand: the chunks of the store are read only to be loaded."""

    @classmethod
    def load(
        cls, bound: BoundJoin, header: bytes | None, chunks: Mapping[int, bytes], *, name: str | None = None
    ) -> Self:
        """The operator as it was saved; a new one when there is no header."""
        operator = cls(bound)
        if header is not None:
            operator._restore(json.loads(bytes(unseal(HEADER, header))), chunks)
        return operator

    def _restore(self, facts: dict[str, Any], chunks: Mapping[int, bytes]) -> None:
        if facts.get("layout") != LAYOUT:
            raise CorruptValue(
                f"the state was saved by another version of Sash, in layout {facts.get('layout')}; this "
                f"one reads {LAYOUT}: start the query anew, or go on with the version that saved it"
            )
        self.watermark, self._chunks = facts["watermark"], facts["chunks"]
        self._arrived = {side: facts["arrived"][side.value] for side in Side}
        for number, (side, newest) in facts["live"].items():
            self._saved[int(number)] = SavedChunk(Side(side), newest)
        for number, chunk in self._saved.items():
            try:
                rows = _rows_of(number, chunks[number], self.bound.of(chunk.side))
            except KeyError:
                raise CorruptValue(f"the state lacks the chunk {number} of {sorted(self._saved)}") from None
            self._waiting[chunk.side] = Rows.together([self._waiting[chunk.side], rows])
        # Those that the watermark has passed have met each other before: they are stored, and emit nothing.
        if self.watermark is not None:
            passed = {side: self._passed(side, flush=False) for side in Side}
            self._newest = max([self._newest, *(int(r.time.max()) for r in passed.values() if len(r))])
            self.store.remember(passed)
            self.store.leave(self.watermark - self.bound.join.within.length)
            for side, alone in self.store.alone.items():
                alone.restore(facts["met"][side.value])


def _bytes_of(number: int, rows: Rows) -> bytes:
    table = rows.table.append_column(SEQUENCE, pa.array(rows.sequence)).combine_chunks()
    (batch,) = table.to_batches()
    return seal(chunk_name(number), batch.serialize())


def _rows_of(number: int, data: bytes, side: BoundSide) -> Rows:
    schema = side.schema.append(pa.field(SEQUENCE, pa.int64()))
    batch = pa.ipc.read_record_batch(pa.py_buffer(unseal(chunk_name(number), data)), schema)
    table = pa.Table.from_batches([batch])
    return timed(side, table.drop_columns(SEQUENCE), table[SEQUENCE].to_numpy())


def chunk_name(number: int) -> bytes:
    """What a chunk is sealed under."""
    return b"chunk %d of a join" % number
