"""O+ between two batches of a stream: its state is the tuples that an open window may hold.

    insert     judge by the watermark, keep the rest
    advance    hand the tuples before the watermark to the operator, in the order of time

A window of type `multi` knows nothing but its own tuples. So tuples are all that has to be saved: an
operator that is loaded again processes those of its open windows once more, and what it emits then was
emitted before. A `single` window may remember what has left it, and is therefore refused on streams.

Tuples wait until the watermark has passed them, because O+ takes them in the order of time. All tuples of
one time are therefore handed over together, whichever batches they came with: those of an earlier input
first, as in process. Several inputs stand in one table (see `common_rows`), so that batches, state and late
rows look the same for any number of them. See `sash.operators.protocol` for the face.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.stores.values import seal, unseal
from sash.arrays import Ints, Mask
from sash.errors import Unsupported
from sash.operators.answer import Answer
from sash.operators.columns.table_bytes import bytes_of, table_of
from sash.operators.late_rows import UNTIMED, late_schema, with_reason
from sash.operators.order.interleaved import weave
from sash.operators.protocol import Saved
from sash.operators.stateful.common_rows import CommonRows
from sash.operators.stateful.declaration import Stateful
from sash.semantics.durations import Duration
from sash.semantics.watermark import Lateness

HEADER = b"header of tuples"


@dataclass(frozen=True)
class BoundOperator:
    """An operator over a stream for each input, whose events may come `delay` after newer ones."""

    operator: Stateful
    delay: Duration

    def __post_init__(self) -> None:
        if self.operator.window_type != "multi":
            raise Unsupported("window", self.operator.window_type, "'multi' on a stream")

    @cached_property
    def rows(self) -> CommonRows:
        return CommonRows(self.operator.inputs)

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)

    @property
    def output(self) -> pa.Schema:
        return self.operator.schema

    @property
    def late_output(self) -> pa.Schema:
        return late_schema(self.schema, windows=False)


@dataclass(frozen=True)
class Tuples:
    """Rows in the order of their arrival, with their times and the chunk that they are saved in."""

    rows: pa.Table
    time: Ints
    chunk: Ints

    def plus(self, other: Tuples) -> Tuples:
        rows = pa.concat_tables([self.rows, other.rows])
        joined = (np.concatenate(both) for both in ((self.time, other.time), (self.chunk, other.chunk)))
        return Tuples(rows, *joined)

    def where(self, chosen: Mask) -> Tuples:
        return Tuples(self.rows.filter(pa.array(chosen)), self.time[chosen], self.chunk[chosen])


class OperatorOnStream:
    """The tuples of a bucket, and the running operator."""

    def __init__(self, bound: BoundOperator) -> None:
        self.bound, self.running = bound, bound.operator.start()
        self.watermark: int | None = None
        self.chunks = 0
        none = np.empty(0, np.int64)
        self.held = self.waiting = Tuples(bound.schema.empty_table(), none, none)
        self._unsaved: dict[int, bytes] = {}
        self._saved: frozenset[int] = frozenset()

    def insert(self, rows: pa.Table, ordinals: Ints) -> pa.Table:
        rows = rows.take(pa.array(np.argsort(ordinals, kind="stable")))
        known = self.bound.rows.known(rows)
        late = [with_reason(rows.filter(pc.invert(known)), UNTIMED)]
        rows = rows.filter(known)
        times = self.bound.rows.times(rows)
        on_time = np.full(len(times), True) if self.watermark is None else times >= self.watermark
        late.append(with_reason(rows.filter(pa.array(~on_time)), Lateness.TOO_LATE.value))
        if on_time.any():
            chunk = np.full(int(on_time.sum()), self.chunks)
            new = Tuples(rows.filter(pa.array(on_time)), times[on_time], chunk)
            self._unsaved[self.chunks] = seal(chunk_name(self.chunks), bytes_of(new.rows, compressed=True))
            self.chunks += 1
            self.waiting = self.waiting.plus(new)
        return pa.concat_tables(late)

    def advance(self, watermark: int, *, flush: bool = False) -> Answer:
        rows = self.bound.output.empty_table()
        if self.watermark is None or watermark > self.watermark:
            self.watermark = watermark
            ready = self.waiting.time < watermark
            if len(self.held.time) or ready.any():
                arrived = self.waiting.where(ready)
                rows = self._process(arrived)
                held = self.held.plus(arrived)
                self.held = held.where(held.time > watermark - self.bound.operator.clock.size)
                self.waiting = self.waiting.where(~ready)
        return Answer(rows, self.bound.late_output.empty_table())

    def _process(self, tuples: Tuples) -> pa.Table:
        """What the operator emits for these tuples and the watermark."""
        assert self.watermark is not None
        parts = self.bound.rows.parts(tuples.rows, tuples.time)
        return self.running.process(
            weave(self.bound.operator.inputs, parts, watermark=self.watermark, first=0)
        )

    def wakes_at(self) -> int | None:
        upcoming = []
        if len(self.waiting.time):
            upcoming.append(int(self.waiting.time.min()) + 1)
        if len(self.held.time):
            assert self.watermark is not None
            upcoming.append(self.bound.operator.next_end(self.watermark))
        return min(upcoming, default=None)

    # Between two batches

    @property
    def memory(self) -> int:
        """Tuples, and as much again for what the operator has made of them."""
        return 2 * int(self.held.rows.nbytes + self.waiting.rows.nbytes)

    def resume(self, header: bytes, chunks: Mapping[int, bytes]) -> None:
        """Everything was read by `load`."""

    def save(self) -> Saved:
        used = np.concatenate([self.held.chunk, self.waiting.chunk])
        live = frozenset(np.unique(used).tolist())
        written = {number: data for number, data in self._unsaved.items() if number in live}
        dropped, self._saved, self._unsaved = self._saved - live, live, {}
        facts = {"watermark": self.watermark, "chunks": self.chunks, "live": sorted(live)}
        return Saved(seal(HEADER, json.dumps(facts).encode()), written, dropped)

    @classmethod
    def load(
        cls,
        bound: BoundOperator,
        header: bytes | None,
        chunks: Mapping[int, bytes],
        *,
        name: str | None = None,
    ) -> Self:
        operator = cls(bound)
        if header is None:
            return operator
        facts = json.loads(bytes(unseal(HEADER, header)))
        operator.watermark, operator.chunks = facts["watermark"], facts["chunks"]
        operator._saved = frozenset(facts["live"])
        for number in facts["live"]:
            rows = table_of(unseal(chunk_name(number), chunks[number])).cast(bound.schema)
            own = np.full(rows.num_rows, number)
            operator.waiting = operator.waiting.plus(Tuples(rows, bound.rows.times(rows), own))
        operator._process_again()
        return operator

    def _process_again(self) -> None:
        if self.watermark is None:
            return
        before = self.waiting.time < self.watermark
        self.held, self.waiting = self.waiting.where(before), self.waiting.where(~before)
        if before.any():
            self._process(self.held)


def in_stream(bound: BoundOperator, operator: Stateful) -> BoundOperator:
    """The same for another operator, such as that of one bucket."""
    return replace(bound, operator=operator)


def chunk_name(number: int) -> bytes:
    """What a chunk is sealed under."""
    return b"tuples %d" % number
