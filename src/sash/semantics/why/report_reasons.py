"""Why a window was reported, what one that was not is waiting for, and why an event is in none.

Every sentence has the exact condition: a window closes when watermark ≥ closes_at, and the watermark is
max τ − delay, so the event that closes it is one with τ ≥ closes_at + delay.
"""

from __future__ import annotations

from dataclasses import dataclass

from sash.semantics.event import Order
from sash.semantics.time_format import TimeFormat
from sash.semantics.watermark import Lateness
from sash.semantics.why.arrival_log import JudgedArrival, LoggedBatch
from sash.semantics.why.history import HoldingWindow, KeyHistory, PastReport
from sash.semantics.window import Extent


def lateness(entry: JudgedArrival, reading: TimeFormat, *, allowed: int) -> str:
    """Why an event is late; empty when it is not."""
    if entry.accepted:
        return ""
    if entry.verdict is None or entry.before is None or entry.arrival.time is None:
        return "late: its time is null"
    behind = reading.length(entry.before - entry.arrival.time)
    limit = f", more than the allowed lateness of {reading.length(allowed)}" if allowed else ""
    return (
        f"late: when it arrived the watermark was {reading.time(entry.before)}, {behind} ahead of it{limit}"
    )


def acceptance(entry: JudgedArrival, reading: TimeFormat) -> str:
    """How an event that is in time came."""
    if entry.verdict is Lateness.REOPENS:
        return (
            f"behind the watermark {reading.time(entry.before)} when it arrived, "
            "but within the allowed lateness: it re-opened its windows"
        )
    return "on time"


@dataclass(frozen=True, slots=True)
class Reasons:
    """The sentences about the windows of one kind."""

    history: KeyHistory
    reading: TimeFormat
    keyed: bool

    def story(self, held: HoldingWindow) -> tuple[str, ...]:
        """Why it was reported, each time that it was, and what it waits for if it is open."""
        if held.dissolved:
            last = self._when(held.reports[-1])
            return (
                f"held it when it was reported, but is no more since {last}: a late event moved its ends",
            )
        sentences = [self._because(held, report) for report in held.reports]
        flushed = bool(held.reports) and held.reports[-1].step is None
        if flushed and self.history.step_of_close(held.extent) is None:
            sentences.append(f"on a stream it would still wait: {self.waits(held.extent)}")
        elif not held.closed:
            sentences.append(f"{'still open: ' if sentences else ''}{self.waits(held.extent)}")
        return tuple(sentences)

    def waits(self, extent: Extent) -> str:
        """What must happen for it to close."""
        query = self.history.query
        if extent.closes_at is None:
            awaited = f"waits for {self.history.window.awaited(extent, self.history.events)}"
            if query.order is Order.ARRIVAL:
                return awaited
            return f"{awaited}, and for the watermark to reach that event: {self._clock()}"
        whose = "an event of any key" if self.keyed else "an event"
        least = self.reading.from_on(extent.closes_at + query.delay.length)
        return f"closes when {whose} {least} arrives: {self._clock()}"

    def absence(self, position: int) -> str:
        """Why the event at this position is in no window."""
        return self.history.window.absence(position, self.history.events, self.reading)

    def _because(self, held: HoldingWindow, report: PastReport) -> str:
        again = "reported again" if report.revision else "reported"
        when = self._when(report)
        if report.step is None:
            return f"{again} {when}"
        if self.history.query.corrects:
            held_then = len(report.ordinals or ())
            return f"{again} (revision {report.revision}) {when}, with {_events(held_then)}"
        if self.history.query.order is Order.ARRIVAL:
            return f"{again} {when}, which completes it"
        assert held.extent.closes_at is not None  # it has closed
        return (
            f"{again} {when}: it closes when the watermark is {self.reading.from_on(held.extent.closes_at)}"
        )

    def _when(self, report: PastReport) -> str:
        if report.step is None:
            return "when the input ended"
        step = self.history.journal.steps[report.step]
        moved = ""
        if self.history.query.order is Order.EVENT_TIME and step.after is not None:
            moved = f" (watermark {self.reading.time(step.after)})"
        return f"when {_arrived(step)}{moved}"

    def _clock(self) -> str:
        mark, query = self.history.journal.watermark.value, self.history.query
        return f"watermark {self.reading.time(mark)}, delay {self.reading.length(query.delay.length)}"


def _arrived(step: LoggedBatch) -> str:
    if not step.numbers:
        return "the source moved the watermark"
    if len(step.numbers) == 1:
        return f"event {step.numbers[0]} arrived"
    return f"events {step.numbers[0]}–{step.numbers[-1]} arrived together"


def _events(count: int) -> str:
    return f"{count} event{'' if count == 1 else 's'}"
