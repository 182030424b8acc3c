"""O+ between two batches of a stream: the tuples that wait, and the windows that are open.

    insert     judge by the watermark, keep the rest
    advance    hand the tuples before the watermark to the operator, in the order of time

What is saved of the windows depends on what they are: the folds of their panes (`pane_log`), the states
that users' functions made (`window_log`), or, where a window is nothing but its tuples, these, each once.
So no function of a user is called again for what was saved, and `single` windows may remember what has left
them.

Tuples wait until the watermark has passed them, because O+ takes them in the order of time. All tuples of
one time are therefore handed over together, whichever batches they came with: those of an earlier input
first, as in process. Several inputs stand in one table (see `rows_of_all_inputs`), so that batches, state
and late rows look the same for any number of them. See `sash.operators.protocol` for the face.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from sash.aggregation.stores.kept_facts import require_counts, require_times
from sash.aggregation.stores.values import reading, require_layout, seal, seal_json, unseal, unseal_json
from sash.arrays import Ints, Mask
from sash.errors import CorruptValue
from sash.operators.answer import Answer
from sash.operators.columns.table_bytes import bytes_of, table_of
from sash.operators.late_rows import UNTIMED, late_schema, with_reason
from sash.operators.order.interleaved import weave
from sash.operators.protocol import Saved
from sash.operators.stateful.declaration import Stateful
from sash.operators.stateful.rows_of_all_inputs import CommonRows
from sash.semantics.durations import Duration
from sash.semantics.watermark import Lateness

HEADER = b"header of tuples"
LAYOUT = 2
"""Goes up with every change of what a header or a chunk holds. The first one, without a number, had tuples
of open windows and no windows; it is read too."""


@dataclass(frozen=True)
class BoundOperator:
    """An operator over a stream for each input, whose events may come so long after newer ones."""

    operator: Stateful
    delays: tuple[Duration, ...]
    """Of each input."""

    @classmethod
    def of(cls, operator: Stateful, delay: Duration) -> BoundOperator:
        """With one delay for all inputs."""
        return cls(operator, (delay,) * len(operator.inputs))

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
        operator = copy(bound.operator)
        # One instance at a time has the bucket.
        operator.shares = 1
        self.bound, self.running = bound, operator.start()
        self.watermark: int | None = None
        self.chunks = 0
        none = np.empty(0, np.int64)
        self.held = self.waiting = Tuples(bound.schema.empty_table(), none, none)
        """Tuples of open windows that are nothing but these, and tuples of after the watermark."""
        self.log = self.running.logged = self.running.log()
        self._unsaved: dict[int, bytes] = {}
        self._saved: frozenset[int] = frozenset()

    def insert(self, rows: pa.Table, ordinals: Ints, *, originals: Mask | None = None) -> pa.Table:
        """A row that is not one of the `originals` is a copy: another bucket reports it, if it is late."""
        order = np.argsort(ordinals, kind="stable")
        rows = rows.take(pa.array(order))
        originals = np.ones(rows.num_rows, np.bool_) if originals is None else originals[order]
        known = self.bound.rows.known(rows).to_numpy()
        late = [with_reason(rows.filter(pa.array(~known & originals)), UNTIMED)]
        rows, originals = rows.filter(pa.array(known)), originals[known]
        times = self.bound.rows.times(rows)
        on_time = np.full(len(times), True) if self.watermark is None else times >= self.watermark
        late.append(with_reason(rows.filter(pa.array(~on_time & originals)), Lateness.TOO_LATE.value))
        if on_time.any():
            chunk = np.full(int(on_time.sum()), self.chunks)
            new = Tuples(rows.filter(pa.array(on_time)), times[on_time], chunk)
            self._unsaved[self.chunks] = _sealed(self.chunks, new.rows)
            self.chunks += 1
            self.waiting = self.waiting.plus(new)
        return pa.concat_tables(late)

    def advance(self, watermark: int, *, flush: bool = False) -> Answer:
        rows = self.bound.output.empty_table()
        if self.watermark is None or watermark > self.watermark:
            self.watermark = watermark
            ready = self.waiting.time < watermark
            if self.running.holds or ready.any():
                arrived = self.waiting.where(ready)
                rows = self._process(arrived)
                self.waiting = self.waiting.where(~ready)
                if self.log is None:
                    held = self.held.plus(arrived)
                    self.held = held.where(held.time > watermark - self.bound.operator.clock.size)
        return Answer(rows, self.bound.late_output.empty_table())

    def _process(self, tuples: Tuples) -> pa.Table:
        """What the operator emits for these tuples and the watermark."""
        assert self.watermark is not None
        parts = self.bound.rows.parts(tuples.rows, tuples.time)
        return self.running.process(
            weave(self.bound.operator.inputs, parts, watermark=self.watermark, first=0)
        )

    def next_timer(self) -> int | None:
        upcoming = []
        if len(self.waiting.time):
            upcoming.append(int(self.waiting.time.min()) + 1)
        if self.running.holds:
            assert self.watermark is not None
            upcoming.append(self.bound.operator.next_end(self.watermark))
        return min(upcoming, default=None)

    # Between two batches

    @property
    def memory(self) -> int:
        """Tuples, panes or states of open windows as they were saved last, and as much again for what the
        operator has made of them."""
        saved = 0 if self.log is None else self.log.memory
        return 2 * int(self.held.rows.nbytes + self.waiting.rows.nbytes + saved)

    def resume(self, header: bytes, chunks: Mapping[int, bytes]) -> None:
        """Everything was read by `load`."""

    def save(self) -> Saved:
        used = np.concatenate([self.held.chunk, self.waiting.chunk])
        tuples, windows = np.unique(used).tolist(), list[int]()
        if self.log is not None and self.watermark is not None:
            new = self.log.save(self.chunks, self.watermark)
            self._unsaved |= {number: _sealed(number, table) for number, table in new.items()}
            self.chunks, windows = self.chunks + len(new), self.log.live
        live = frozenset([*tuples, *windows])
        written = {number: data for number, data in self._unsaved.items() if number in live}
        dropped, self._saved, self._unsaved = self._saved - live, live, {}
        facts = {
            "layout": LAYOUT,
            "watermark": self.watermark,
            "taken": self.running.taken,
            "chunks": self.chunks,
            "tuples": tuples,
            "windows": windows,
        }
        return Saved(seal_json(HEADER, facts), written, dropped)

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
        if header is not None:
            operator._restore(_facts_in(header), chunks)
        return operator

    def _restore(self, facts: dict[str, Any], chunks: Mapping[int, bytes]) -> None:
        layout = facts.get("layout", 1)
        if layout == 1:
            facts = facts | {"tuples": facts.get("live"), "windows": [], "taken": 0}
        else:
            require_layout("the state of an operator", layout, LAYOUT)
        with reading("the state of an operator"):
            require_times(facts, "watermark")
            require_counts(facts, "chunks", "taken")
            self.watermark, self.chunks, taken = facts["watermark"], facts["chunks"], int(facts["taken"])
            self._saved = frozenset([*facts["tuples"], *facts["windows"]])
            for number in facts["tuples"]:
                rows = _opened(number, chunks).cast(self.bound.schema)
                own = np.full(rows.num_rows, number)
                self.waiting = self.waiting.plus(Tuples(rows, self.bound.rows.times(rows), own))
            windows = {number: _opened(number, chunks) for number in facts["windows"]}
        if self.watermark is not None:
            self._go_on(windows, taken, replay=layout == 1 or self.log is None)

    def _go_on(self, windows: Mapping[int, pa.Table], taken: int, *, replay: bool) -> None:
        """The running operator as it was when the watermark had come so far."""
        assert self.watermark is not None
        operator, before = self.bound.operator, self.waiting.time < self.watermark
        passed, self.waiting = self.waiting.where(before), self.waiting.where(~before)
        passed = passed.where((passed.time > self.watermark - operator.clock.size) & replay)
        self.running.resume(
            operator.next_end(self.watermark) - operator.clock.size, max(taken - len(passed.time), 0)
        )
        if len(passed.time):
            self._process(passed)
        if self.log is None:
            self.held = passed
        else:
            self.log.load(windows, self.watermark)


def _sealed(number: int, rows: pa.Table) -> bytes:
    return seal(chunk_name(number), bytes_of(rows, compressed=True))


def _opened(number: int, chunks: Mapping[int, bytes]) -> pa.Table:
    try:
        return table_of(unseal(chunk_name(number), chunks[number]))
    except KeyError:
        raise CorruptValue(f"the state lacks the chunk {number}") from None


def _facts_in(header: bytes) -> dict[str, Any]:
    with reading("the header of an operator"):
        facts: dict[str, Any] = unseal_json(HEADER, header)
        return dict(facts)


def chunks_of(header: bytes) -> frozenset[int]:
    """The chunks that a header names."""
    facts = _facts_in(header)
    return frozenset(facts["live"] if "layout" not in facts else [*facts["tuples"], *facts["windows"]])


def chunk_name(number: int) -> bytes:
    """What a chunk is sealed under."""
    return b"tuples %d" % number
