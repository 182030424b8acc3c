"""What `.rolling(…, emit="arrival")` and `.latest(…)` mean: rows of look-backs, from scratch each time.

    E(L, τ) = { events of the key that have arrived, with τ − L < time ≤ τ }       for each look-back L

arrival   The row of an event is the fold over E(L, its own time). It is emitted with the batch that brings
          the event, and again, with the next revision, with each batch that changes what E holds.
latest    At the end of a batch, at the instant τ, the row of a key is the fold over E(L, τ). It is emitted
          if it is not equal to the one that was emitted last. A key without a row has that of no events.
          τ is the watermark, rounded down to a multiple of the period of `emit="every …"` if there is one;
          the end of a bounded input is the time of its newest event.

As in `reference`, a batch is judged by the watermark before it, and nothing here is clever on purpose.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from sash.semantics.event import Event, arrange
from sash.semantics.monoid import fold
from sash.semantics.query import Query
from sash.semantics.reference import Batch, Evaluation
from sash.semantics.window import Window
from sash.semantics.windows import SlideByTupleWindow

Feature = tuple[str, str]
"""The name of an aggregate, and the label of a look-back."""


@dataclass(frozen=True, slots=True)
class FeatureRow:
    """One row that is emitted."""

    key: Hashable
    time: int
    """Of the event; or the instant that a latest row holds for."""
    ordinal: int | None
    """Of the event in the order of arrival; None in a latest row."""
    values: Mapping[Feature, Any]
    revision: int = 0


class FeatureEvaluation(Evaluation):
    """All that has arrived, and the rows that were emitted."""

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self.rows: list[FeatureRow] = []

    def run(self, batches: Iterable[Batch]) -> list[FeatureRow]:
        """The rows of all batches, and of the end if the query flushes."""
        for batch in batches:
            self.take(batch)
        if self.query.flush:
            self.report(flush=True)
        return self.rows

    def look_back(self, window: Window, events: Iterable[Event], at: int) -> list[Event]:
        """E(L, at), in the query's order."""
        size = cast(SlideByTupleWindow, window).size
        return arrange([event for event in events if at - size < event.time <= at], self.query.order)

    def row(self, events: Iterable[Event], at: int) -> dict[Feature, Any]:
        """Every aggregate over every look-back from `at`."""
        found = {}
        for window in self.query.windows:
            held = [event.values for event in self.look_back(window, events, at)]
            for name, monoid in self.query.aggregates.items():
                found[name, window.label] = fold(monoid, held)
        return found


class ArrivalEvaluation(FeatureEvaluation):
    """Of `.rolling(…, emit="arrival")`."""

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self.emitted: dict[tuple[Hashable, int], tuple[list[list[int]], int]] = {}
        """Of each event by its ordinal: what its look-backs held, and the revision."""

    def report(self, *, tick: bool = False, flush: bool = False) -> None:
        for key, events in self.events.items():
            for event in events:
                held = [
                    [other.ordinal for other in self.look_back(window, events, event.time)]
                    for window in self.query.windows
                ]
                was, revision = self.emitted.get((key, event.ordinal), (None, -1))
                if held != was:
                    self.emitted[key, event.ordinal] = held, revision + 1
                    values = self.row(events, event.time)
                    self.rows.append(FeatureRow(key, event.time, event.ordinal, values, revision + 1))

    def _forget(self) -> None:
        super()._forget()
        self.emitted = {known: row for known, row in self.emitted.items() if known[0] in self.events}


class LatestEvaluation(FeatureEvaluation):
    """Of `.latest(…)`."""

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        self.emitted: dict[Hashable, dict[Feature, Any]] = {}

    def instant(self, *, flush: bool = False) -> int | None:
        """For which rows are computed now; None before there is a watermark."""
        now, period = self.watermark.value, self.query.emit.period.length
        if flush:
            return self.watermark.horizon
        return now if now is None or not period else now // period * period

    def report(self, *, tick: bool = False, flush: bool = False) -> None:
        now, nothing = self.instant(flush=flush), self.row([], 0)
        if now is None:
            return
        after = self.query.forget_after.length
        for key in list(self.events | self.emitted):
            events = self.events.get(key, [])
            # A key that is forgotten has no events from this instant on.
            if after and not flush and events and max(event.time for event in events) + after <= now:
                events = []
                self.forgotten += 1
                del self.events[key]
            row = self.row(events, now)
            if not _same(row, self.emitted.get(key, nothing)):
                self.rows.append(FeatureRow(key, now, None, row))
                self.emitted[key] = row

    def _forget(self) -> None:
        """Done with the report, so that a key's last row is emitted."""


def _same(row: Mapping[Feature, Any], other: Mapping[Feature, Any]) -> bool:
    """NaN is equal to itself here."""
    return all(row[name] == other[name] or _both_nan(row[name], other[name]) for name in row)


def _both_nan(one: Any, other: Any) -> bool:
    return isinstance(one, float) and isinstance(other, float) and one != one and other != other
