"""Which windows hold an event, and when each was reported.

    holds(e)      = { w : e ∈ E(w) }                        from the extents over what has arrived
    reported(w)   ⟺  watermark ≥ closes_at(w), or the closing event is there, or the input has ended

The second line is all there is when a window is reported once, and then it takes no replay. Where reports
can be corrected (early reports, allowed lateness), the reference is replayed for this one key.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sash.semantics.event import Event, Order, arrange
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, Evaluation
from sash.semantics.why.arrival_log import ArrivalLog, JudgedArrival, events_of
from sash.semantics.window import Extent, IntervalWindow, Window, times


@dataclass(frozen=True, slots=True)
class PastReport:
    """One report of a window: at which step (None: the end of the input), and what it held."""

    step: int | None
    revision: int
    ordinals: tuple[int, ...] | None
    """None where windows are reported once: then it is what the window holds."""


@dataclass(frozen=True, slots=True)
class HoldingWindow:
    """A window that holds the event, or did when it was last reported."""

    extent: Extent
    closed: bool
    """Whether no expected event can change it; also at the end of the input."""
    reports: tuple[PastReport, ...]
    dissolved: bool = False

    @property
    def reported(self) -> bool:
        return bool(self.reports)


class KeyHistory:
    """The accepted events of one key as one window kind sees them, and the reports of its windows."""

    def __init__(
        self, query: Query, window: Window, batches: Sequence[Batch], journal: ArrivalLog, key: Hashable
    ) -> None:
        self.query, self.window, self.journal = query, window, journal
        entries = [entry for entry in journal.of_key(key) if entry.accepted]
        self.entries: Sequence[JudgedArrival] = entries
        ordered = arrange(events_of(entries), query.order)
        self.events, displaced = window.place(ordered)
        self.displaced = {event.ordinal: reason for event, reason in displaced}
        self._batches, self._key = batches, key
        self._at: dict[int, tuple[list[Extent], dict[int, list[PastReport]]]] = {}

    def position(self, ordinal: int) -> int:
        """Where an event stands in the query's order, among those that have a place."""
        return next(p for p, event in enumerate(self.events) if event.ordinal == ordinal)

    def holding(self, position: int) -> Iterator[HoldingWindow]:
        """The windows that hold the event at this position, by increasing identifier."""
        event = self.events[position]
        extents, past_reports = self._around(event.time)
        holding = [extent for extent in extents if extent.lo <= position < extent.hi]
        for extent in holding:
            reports = past_reports[extent.id] if self.query.corrects else self._reported_once(extent)
            yield HoldingWindow(extent, self.settled(extent), tuple(reports))
        yield from self.dissolved(event.ordinal, event.time, {extent.id for extent in holding})

    def dissolved(self, ordinal: int, time: int, holding: Container[int] = ()) -> Iterator[HoldingWindow]:
        """The windows that were reported with the event and are not among those that hold it. A late event
        can dissolve a reported window: two sessions merge, a trigger moves, an event loses its place."""
        for id, reports in self._around(time)[1].items():
            if id not in holding and _reported_with(reports, ordinal):
                yield HoldingWindow(
                    Extent(id, 0, 0, None, None, None), True, tuple(reports), dissolved=True
                )

    def settled(self, extent: Extent) -> bool:
        return self.query.flush or self.step_of_close(extent) is not None

    def number(self, event: Event) -> int:
        """The event's number in the order of arrival, over all keys."""
        return self.entries[event.ordinal].number

    def ordinal(self, entry: JudgedArrival) -> int:
        """The accepted event's number among those of its key, from 0."""
        return bisect_left(self.entries, entry.number, key=lambda own: own.number)

    def step_of_close(self, extent: Extent) -> int | None:
        """The step after which no expected event could change the window; None when it is to come."""
        if extent.closes_at is None:
            return None
        if self.query.order is Order.EVENT_TIME:
            return self.journal.reached(extent.closes_at)
        closer = self.events[extent.hi if self.window.closed_by_next else extent.hi - 1]
        return self.entries[closer.ordinal].step

    def _reported_once(self, extent: Extent) -> list[PastReport]:
        step = self.step_of_close(extent)
        return [PastReport(step, 0, None)] if step is not None or self.query.flush else []

    def _around(self, at: int) -> tuple[list[Extent], dict[int, list[PastReport]]]:
        """The windows that may hold an event of this time, and all reports of them."""
        if at not in self._at:
            past_reports = self._replayed(at) if self.query.corrects else {}
            self._at[at] = list(self._extents(at)), past_reports
        return self._at[at]

    def _extents(self, at: int) -> Iterable[Extent]:
        if isinstance(self.window, IntervalWindow):
            # The clock determines which: listing all windows would take an hour-by-second window ages.
            stamps = times(self.events)
            return [self.window.extent_over(stamps, w) for w in self.window.mapping(at)]
        return self.window.extents(self.events, horizon=self.journal.watermark.horizon)

    def _replayed(self, at: int) -> dict[int, list[PastReport]]:
        near = self._near(at)
        accepted = [o for o, entry in enumerate(self.entries) if near is None or entry.arrival.time in near]
        evaluation = _OfOneKey(replace(self.query, windows=(self.window,), aggregates={}), self._key, near)
        past_reports: dict[int, list[PastReport]] = defaultdict(list)

        def drain(step: int | None) -> None:
            for report in evaluation.reports:
                held = tuple(accepted[ordinal] for ordinal in report.ordinals)
                past_reports[report.id].append(PastReport(step, report.revision, held))
            evaluation.reports.clear()

        for step, batch in enumerate(self._batches):
            evaluation.take(batch)
            drain(step)
        if self.query.flush:
            evaluation.report(flush=True)
            drain(None)
        return past_reports

    def _near(self, at: int) -> range | None:
        """The times that can be in a window with `at`; None when any can, or when empty windows count."""
        if self.query.empty or not isinstance(self.window, IntervalWindow):
            return None
        ids = self.window.mapping(at)
        return (
            range(self.window.extent(ids[0]).start, self.window.extent(ids[-1]).stop) if ids else range(0)
        )


class _OfOneKey(Evaluation):
    """The reference, for the near events of one key: all others only move the watermark."""

    def __init__(self, query: Query, key: Hashable, near: range | None) -> None:
        super().__init__(query)
        self._key, self._near = key, near

    def _accept(self, arrival: Arrival) -> None:
        if arrival.key == self._key and (self._near is None or arrival.time in self._near):
            super()._accept(arrival)


def _reported_with(reports: Sequence[PastReport], ordinal: int) -> bool:
    return any(report.ordinals is not None and ordinal in report.ordinals for report in reports)
