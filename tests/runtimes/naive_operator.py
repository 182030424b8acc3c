"""A streaming operator that remembers everything and asks the reference: slow, obvious, and honest.

It stands between the Spark runtime and the definition, so that what a test finds is the runtime's fault.
Its state is one Arrow stream for each batch, and a log of what happened in which order.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from sash.operators.answer import Answer
from sash.operators.bound_query import REVISION, WINDOW, BoundQuery
from sash.operators.columns.times import from_integers
from sash.operators.late_rows import LATE_REASON, LATE_WINDOW
from sash.operators.protocol import Saved
from sash.operators.windows.ranges import MISSING
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Event, Order, arrange
from sash.semantics.query import Query, When
from sash.semantics.reference import Arrival, Batch, Evaluation, Late, Outcome, WindowReport, evaluate
from sash.semantics.windows import SlideByTimeWindow

NO_DELAY_OF_ITS_OWN = 2**62
"""The reference moves its watermark by itself; with this delay, only the runtime moves it."""


class NaiveOperator:
    """See `sash.operators.protocol.StreamOperator`."""

    def __init__(self, bound: BoundQuery) -> None:
        self.bound = bound
        self.log: list[tuple[str, int]] = []
        self.inserts: dict[int, bytes] = {}
        self.reported = self.missed = 0
        self.saved = 0

    @property
    def memory(self) -> int:
        return sum(map(len, self.inserts.values()))

    @classmethod
    def load(
        cls,
        bound: BoundQuery,
        header: bytes | None,
        chunks: Mapping[int, bytes],
        *,
        name: str | None = None,
    ) -> Self:
        operator = cls(bound)
        if header is not None:
            facts = json.loads(header)
            operator.log = [(what, number) for what, number in facts["log"]]
            operator.reported, operator.missed = facts["reported"], facts["missed"]
            operator.inserts, operator.saved = dict(chunks), len(chunks)
            assert sorted(chunks) == list(range(facts["inserts"])), "the state store lost a chunk"
        return operator

    def resume(self, header: bytes, chunks: Mapping[int, bytes]) -> None:
        """It has everything."""

    def save(self) -> Saved:
        facts = {
            "log": self.log,
            "reported": self.reported,
            "missed": self.missed,
            "inserts": len(self.inserts),
        }
        written = {number: self.inserts[number] for number in range(self.saved, len(self.inserts))}
        self.saved = len(self.inserts)
        return Saved(json.dumps(facts).encode(), written)

    def insert(self, rows: pa.Table, ordinals: Any) -> pa.Table:
        rows = rows.take(pa.array(np.argsort(ordinals, kind="stable")))
        number = len(self.inserts)
        self.inserts[number] = _stream(rows)
        self.log.append(("insert", number))
        return self._late([entry for entry in self._outcome().late[self.missed :] if entry.window is None])

    def advance(self, watermark: int, *, flush: bool = False) -> Answer:
        self.log.append(("advance", watermark))
        outcome = self._outcome()
        reports, late = outcome.reports[self.reported :], outcome.late[self.missed :]
        self.reported, self.missed = len(outcome.reports), len(outcome.late)
        # What an insertion refused was late then.
        return Answer(self._reports(reports), self._late([entry for entry in late if entry.window]))

    def next_timer(self) -> int | None:
        query, now = self.bound.query, max((t for what, t in self.log if what == "advance"), default=None)
        if now is None or query.order is Order.ARRIVAL:
            return None
        by_clock = query.empty or any(isinstance(window, SlideByTimeWindow) for window in query.windows)
        if by_clock or query.emit.when is When.EVERY:
            return now + 1
        upcoming: list[int | None] = []
        for events in self._accepted().values():
            for window in query.windows:
                placed, displaced = window.place(arrange(events, query.order))
                upcoming += [extent.closes_at for extent in window.extents(placed, horizon=now)]
                upcoming += [event.time for event, _ in displaced]
        return min((time for time in upcoming if time is not None and time > now), default=None)

    def _outcome(self) -> Outcome:
        return evaluate(self._query, self._batches())

    @property
    def _query(self) -> Query:
        if self.bound.query.order is Order.ARRIVAL:
            return self.bound.query
        unit = Unit.MICROSECONDS if pa.types.is_timestamp(self.bound.time_type) else Unit.TICKS
        return replace(self.bound.query, delay=Duration(NO_DELAY_OF_ITS_OWN, unit))

    def _batches(self) -> list[Batch]:
        return [
            Batch(self._arrivals(number)) if what == "insert" else Batch((), number)
            for what, number in self.log
        ]

    def _arrivals(self, number: int) -> tuple[Arrival, ...]:
        rows = pa.ipc.open_stream(self.inserts[number]).read_all()
        times = rows[self.bound.time]
        if pa.types.is_timestamp(times.type):
            times = times.cast(pa.timestamp("us", times.type.tz))
        instants = times.cast(pa.int64()).to_pylist()
        return tuple(
            Arrival(time, tuple(row[key] for key in self.bound.keys), row)
            for time, row in zip(instants, rows.to_pylist(), strict=True)
        )

    def _accepted(self) -> dict[Hashable, list[Event]]:
        """The events that are in the stream by now, by key."""
        evaluation = Evaluation(self._query)
        for batch in self._batches():
            evaluation.take(batch)
        return evaluation.events

    def _reports(self, reports: list[WindowReport]) -> pa.Table:
        bound = self.bound
        columns: dict[str, Any] = {}
        for position, key in enumerate(bound.keys):
            values = [report.key[position] for report in reports]
            columns[key] = pa.array(values, bound.schema.field(key).type)
        bounds = [
            from_integers(np.array([_or_missing(at) for at in ends], np.int64), bound.bound_type)
            for ends in ([r.start for r in reports], [r.end for r in reports])
        ]
        parts = [pa.array([report.id for report in reports], pa.int64()), *bounds]
        if bound.several_windows:
            parts.insert(0, pa.array([report.window for report in reports], pa.string()))
        columns[WINDOW] = pa.StructArray.from_arrays(parts, fields=list(bound.window_type))
        for name in bound.aggregates:
            values = [report.values[name] for report in reports]
            columns[name] = pa.array(values, bound.output.field(name).type)
        if bound.query.corrects:
            columns[REVISION] = pa.array([report.revision for report in reports], pa.int64())
        return pa.table(columns, schema=bound.output)

    def _late(self, late: list[Late]) -> pa.Table:
        rows = [
            {**entry.arrival.values, LATE_WINDOW: entry.window, LATE_REASON: entry.reason} for entry in late
        ]
        held = {name for row in rows for name in row}
        fields = [field for field in self.bound.late_output if not rows or field.name in held]
        return pa.Table.from_pylist(rows, schema=pa.schema(fields))


def _or_missing(at: int | None) -> int:
    return int(MISSING) if at is None else at


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
