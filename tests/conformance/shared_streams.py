"""Transcripts that share streams: many queries in one pass, each over events of its own.

    newest of the stream   1000  1003  1003 | 2000  2001 | 3000
    a stanza: 8, 11, 11     ✓     ✓     ✓                            delay + 992
    another:  2             ✓                                        delay + 998
    a third:  4, 5                             ✓     ✓               delay + 1996

All queries of a stream see one newest time, which an event of a key of its own moves; the delay of each
makes its watermark of it. So stanzas whose times grow by the same steps run side by side, also one that
ends before the others, and those with other steps follow after a leap, which is a watermark far below their
events. What a stanza must report is emitted in its batches and the one after them, which is judged by the
last watermark. Later ones are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.semantics import durations
from sash.semantics.event import Order
from sash.semantics.query import Query
from tests.conformance.one_pass import OnePass
from tests.conformance.stanza import Stanza
from tests.conformance.streamed import CLOCK, batches_of, streamed_stanzas

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[dict[str, Any]]
Steps = tuple[int, ...]
LEAP, TOGETHER = 1_000, 16
"""Of time between stanzas that follow each other; and how many stanzas share a stream."""


def steps_of(stanza: Stanza) -> Steps:
    """By how much the newest time grows from batch to batch."""
    newest = _newest(stanza)
    if stanza.query.order is Order.ARRIVAL:
        return (0,) * (len(newest) - 1)
    return tuple(after - before for before, after in pairwise(newest))


def _newest(stanza: Stanza) -> list[int]:
    """After each batch; the first one of every stanza has an event with a time."""
    times = [[time for time in batch["t"].to_pylist() if time is not None] for batch in batches_of(stanza)]
    return list(accumulate(times[1:], lambda newest, more: max([newest, *more]), initial=max(times[0])))


@dataclass(frozen=True)
class Payload:
    """What the column x of a stanza is like. Conditions see the rows of all stanzas of a stream, and some
    cannot compare nulls."""

    type: pa.DataType
    nulls: bool

    @classmethod
    def of(cls, stanza: Stanza) -> Payload:
        columns = [batch["x"] for batch in batches_of(stanza)]
        events = [arrival.values["x"] for arrival in stanza.arrivals]
        return cls(columns[0].type, any(x is None for x in events))


@dataclass(frozen=True)
class Place:
    """Where a stanza is in its stream."""

    stanza: Stanza
    number: int
    first: int
    """Its first batch."""
    base: int
    """What the newest time of the stream is ahead of the stanza's."""


@dataclass(frozen=True, eq=False)
class SharedStream:
    """Some stanzas with payloads of one kind."""

    payload: Payload
    stanzas: tuple[Stanza, ...]

    @property
    def _runs(self) -> list[Steps]:
        """The steps that no others begin with: shorter ones run beside longer ones."""
        all_steps = sorted({steps_of(stanza) for stanza in self.stanzas})
        return [
            one
            for one in all_steps
            if not any(other[: len(one)] == one and other != one for other in all_steps)
        ]

    @property
    def newest(self) -> list[int]:
        """The newest time after each batch."""
        times: list[int] = []
        for steps in self._runs:
            times.append((times[-1] if times else 0) + LEAP)
            for step in steps:
                times.append(times[-1] + step)
        return times

    @cached_property
    def places(self) -> list[Place]:
        found, newest = [], self.newest
        for number, stanza in enumerate(self.stanzas):
            steps, first = steps_of(stanza), 0
            for run in self._runs:
                if run[: len(steps)] == steps:
                    break
                first += len(run) + 1
            found.append(Place(stanza, number, first, newest[first] - _newest(stanza)[0]))
        return found

    def batches(self) -> list[pa.Table]:
        parts: list[list[pa.Table]] = [[_clock(time, self.payload)] for time in self.newest]
        for place in self.places:
            for number, batch in enumerate(batches_of(place.stanza), start=place.first):
                parts[number].insert(0, _of_stanza(batch, place.number))
        return [pa.concat_tables(some) for some in parts]

    def queries(self, schema: pa.Schema) -> dict[str, BoundQuery]:
        return {
            f"q{place.number}": BoundQuery(_waiting(place), schema, "t", ("s", "k"))
            for place in self.places
        }

    def run(self, spark: SparkSession) -> dict[str, tuple[Rows, ...]]:
        """Reports and late rows of each stanza, by its title."""
        batches = self.batches()
        one_pass = OnePass.of(spark, batches, self.queries(batches[0].schema))
        return {
            place.stanza.title: (_emitted(one_pass, place, REPORTS), _emitted(one_pass, place, LATE))
            for place in self.places
        }


def _clock(time: int, payload: Payload) -> pa.Table:
    x = pa.array([None if payload.nulls else 0]).cast(payload.type)
    return pa.table({"s": pa.array([-1]), "k": [CLOCK], "t": pa.array([time]), "e": pa.array([0]), "x": x})


def _waiting(place: Place) -> Query:
    query = replace(place.stanza.query, flush=False)
    if query.order is Order.ARRIVAL:
        return query
    return replace(query, delay=durations.parse(query.delay.length + place.base, "delay"))


def _of_stanza(batch: pa.Table, number: int) -> pa.Table:
    return batch.add_column(0, "s", pa.array([number] * batch.num_rows, pa.int64()))


def _emitted(one_pass: OnePass, place: Place, output: str) -> Rows:
    until = place.first + len(batches_of(place.stanza)) + 1
    rows = one_pass.rows(f"q{place.number}", output, slice(place.first, until))
    return [row for row in rows if row["s"] == place.number]


@cache
def shared_streams() -> tuple[SharedStream, ...]:
    """All stanzas, by their payload and by their steps."""
    alike: dict[Payload, list[Stanza]] = {}
    for stanza in streamed_stanzas():
        alike.setdefault(Payload.of(stanza), []).append(stanza)
    return tuple(
        SharedStream(payload, tuple(some)) for payload, stanzas in alike.items() for some in _cut(stanzas)
    )


def _cut(stanzas: Iterable[Stanza]) -> Iterator[list[Stanza]]:
    ordered = sorted(stanzas, key=lambda stanza: (steps_of(stanza), stanza.title))
    for first in range(0, len(ordered), TOGETHER):
        yield ordered[first : first + TOGETHER]
