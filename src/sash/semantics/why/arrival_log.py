"""What arrived when, and whether it was late: the reference's judgement, kept.

    step s:   before(s) judges its events, after(s) = max(before(s), max τ − delay, the source's watermark)

after(s) never decreases, so the step at which the watermark reached a time is found by bisection.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from sash.semantics.event import Event, Order
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch
from sash.semantics.watermark import Lateness, Watermark


@dataclass(frozen=True, slots=True)
class JudgedArrival:
    """An arrival and its verdict; events are numbered from 1 as they arrive, over all keys."""

    number: int
    arrival: Arrival
    step: int
    before: int | None
    """The watermark that judged it."""
    verdict: Lateness | None
    """None when it has no time."""

    @property
    def accepted(self) -> bool:
        return self.verdict in (Lateness.ON_TIME, Lateness.REOPENS)


@dataclass(frozen=True, slots=True)
class LoggedBatch:
    """A batch: the numbers of its events, and the watermark after it."""

    numbers: range
    after: int | None


@dataclass(frozen=True)
class ArrivalLog:
    """All that has arrived, in order."""

    entries: tuple[JudgedArrival, ...]
    steps: tuple[LoggedBatch, ...]
    watermark: Watermark

    @classmethod
    def of(cls, query: Query, batches: Iterable[Batch]) -> ArrivalLog:
        watermark = Watermark(delay=query.delay.length, allowed_lateness=query.allowed_lateness.length)
        entries: list[JudgedArrival] = []
        steps: list[LoggedBatch] = []
        for batch in batches:
            first, before = len(entries) + 1, watermark.value
            for number, arrival in enumerate(batch.arrivals, start=first):
                verdict = None if arrival.time is None else watermark.judge(arrival.time)
                entries.append(JudgedArrival(number, arrival, len(steps), before, verdict))
            if query.order is Order.EVENT_TIME:
                watermark.observe(a.time for a in batch.arrivals if a.time is not None)
                if batch.watermark is not None:
                    watermark.advance_to(batch.watermark)
            steps.append(LoggedBatch(range(first, len(entries) + 1), watermark.value))
        return cls(tuple(entries), tuple(steps), watermark)

    def of_key(self, key: Hashable) -> list[JudgedArrival]:
        return [entry for entry in self.entries if entry.arrival.key == key]

    def reached(self, time: int) -> int | None:
        """The step at which the watermark reached `time`, if it has."""
        # Nothing is known before the first event has come, and something always after it.
        unknown = bisect_left(self.steps, True, key=lambda step: step.after is not None)
        step = bisect_left(self.steps, time, lo=unknown, key=_after)
        return step if step < len(self.steps) else None

    def newest(self) -> int:
        """The greatest event time seen, once one has been."""
        return max(time for entry in self.entries if (time := entry.arrival.time) is not None)


def events_of(entries: Iterable[JudgedArrival]) -> Iterator[Event]:
    """The accepted events of one key, numbered as the reference numbers them."""
    accepted = (entry.arrival for entry in entries if entry.accepted)
    for ordinal, arrival in enumerate(accepted):
        assert arrival.time is not None  # accepted
        yield Event(arrival.time, ordinal, arrival.key, arrival.values)


def _after(step: LoggedBatch) -> int:
    assert step.after is not None
    return step.after
