"""The oracle: what a query means, computed in the most obvious way.

After every batch, all windows of all keys are computed again from all events accepted so far. A window is
reported when it has closed and its content is not what was last reported (or, with `emit`, earlier). That
is the whole definition; every fast path is tested against this module. Nothing here is clever on purpose.

- Batches arrive one after the other. The events of a batch are judged by the watermark that stood before
  it; then the watermark moves to max τ − delay, or to the batch's own watermark if that is later.
- In event-time order a window is closed when watermark ≥ closes_at; in arrival order as soon as closes_at
  is known. The end of the input closes everything if the query flushes.
- A report that corrects an earlier one carries the next revision. A window that a late event dissolves
  (two sessions that merge, a trigger that moves) is reported once more, empty: a reader who keeps the
  latest revision of each (key, window, id) always has the right windows.
- With `late_by` windows, an event behind the watermark counts in those of its windows that the watermark
  (less the allowed lateness) has not closed; they are *over* then, are never reported again, and a session
  that is over leaves its events behind: what comes next to them begins a session of its own.
- With `forget_after`, a key whose newest event lies that far behind the watermark is forgotten after the
  report: its windows that are still open are not reported, and it starts from nothing if it comes again.
- Look-backs that are answered on arrival, and the latest row of a key, are defined in `look_back_rows`.
- An event that has no place goes to the late output with the reason: its time is null, it is too late, or
  a window cannot place it. One that lies between windows (a slide longer than the size, a threshold that is
  not met) is in neither.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sash.semantics.event import Event, Order, arrange
from sash.semantics.monoid import fold
from sash.semantics.query import Query, When
from sash.semantics.watermark import LateBy, Lateness, Watermark
from sash.semantics.window import Extent, Window


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a source delivers: an event that has no ordinal yet, and perhaps no time."""

    time: int | None
    key: Hashable = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batch:
    """What arrives together, and the source's watermark afterwards, if it has one."""

    arrivals: Sequence[Arrival] = ()
    watermark: int | None = None


@dataclass(frozen=True, slots=True)
class WindowReport:
    """What a reader sees of one window: (key, w, extent, when), and the values of its aggregates."""

    key: Hashable
    window: str
    id: int
    start: int | None
    end: int | None
    ordinals: tuple[int, ...]
    values: Mapping[str, Any]
    revision: int
    at: int | None
    """The watermark at which it was reported; None in arrival order and at the flush."""


@dataclass(frozen=True, slots=True)
class Late:
    """An event that is in no window, and why. `window` is None when it is in none of the query's."""

    arrival: Arrival
    reason: str
    window: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that a query emits for an input."""

    reports: list[WindowReport]
    late: list[Late]


@dataclass(slots=True)
class _LastReport:
    """What was last reported of a window."""

    extent: Extent
    ordinals: tuple[int, ...]
    revision: int
    closed: bool


def one_by_one(arrivals: Iterable[Arrival]) -> list[Batch]:
    """Every event is a batch of its own."""
    return [Batch((arrival,)) for arrival in arrivals]


def evaluate(query: Query, batches: Iterable[Batch]) -> Outcome:
    """The reports and the late output of `query` over `batches`."""
    evaluation = Evaluation(query)
    for batch in batches:
        evaluation.take(batch)
    if query.flush:
        evaluation.report(flush=True)
    return Outcome(evaluation.reports, evaluation.late)


class Evaluation:
    """All that has arrived, and all that was reported: `evaluate`, in steps."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.before: int | None = None
        """The watermark that judges what arrives."""
        self.watermark = Watermark(delay=query.delay.length, allowed_lateness=query.allowed_lateness.length)
        self.events: dict[Hashable, list[Event]] = {}
        self.last_reports: dict[tuple[Hashable, str], dict[int, _LastReport]] = {}
        self.displaced: set[tuple[Hashable, str, int]] = set()
        self.over: set[tuple[Hashable, str, int]] = set()
        """Events that count in no window any more, by key, window and ordinal; with `late_by` windows."""
        self.reports: list[WindowReport] = []
        self.late: list[Late] = []
        self.forgotten = 0
        """How many keys were forgotten."""

    def take(self, batch: Batch) -> None:
        before = self.before = self.watermark.value
        for arrival in batch.arrivals:
            self._accept(arrival)
        if self.query.order is Order.EVENT_TIME:
            self.watermark.observe(a.time for a in batch.arrivals if a.time is not None)
            if batch.watermark is not None:
                self.watermark.advance_to(batch.watermark)
        self.report(tick=self._ticked(before))
        self.before = self.watermark.value
        self._let_go()
        self._forget()

    def _forget(self) -> None:
        """A key whose newest event lies `forget_after` behind the watermark begins again from nothing."""
        after = self.query.forget_after.length
        for key, events in list(self.events.items()) if after else ():
            if self.watermark.has_reached(max(event.time for event in events) + after):
                self.forgotten += 1
                del self.events[key]
                for known in [known for known in self.last_reports if known[0] == key]:
                    del self.last_reports[known]
                self.displaced = {known for known in self.displaced if known[0] != key}
                self.over = {known for known in self.over if known[0] != key}

    def _accept(self, arrival: Arrival) -> None:
        if arrival.time is None:
            self.late.append(Late(arrival, "time is null"))
            return
        events = self.events.get(arrival.key, [])
        event = Event(arrival.time, len(events), arrival.key, arrival.values)
        if self._is_too_late(event):
            self.late.append(Late(arrival, Lateness.TOO_LATE.value))
        else:
            self.events.setdefault(arrival.key, events).append(event)

    def _is_too_late(self, event: Event) -> bool:
        judged = self.watermark.judge(event.time)
        if self.query.late_by is LateBy.TIME or judged is Lateness.ON_TIME:
            return judged is Lateness.TOO_LATE
        closed = {window.label for window in self.query.windows if not self._has_window(window, event)}
        if len(closed) < len(self.query.windows):
            self.over |= {(event.key, label, event.ordinal) for label in closed}
            return False
        return True

    def _has_window(self, window: Window, event: Event) -> bool:
        """Whether a window that is not over would hold the event."""
        others = self.events.get(event.key, ()) if self.query.late_by is LateBy.WINDOWS else ()
        events = self._ordered(event.key, window, [*others, event])
        at = events.index(event)
        return any(
            extent.lo <= at < extent.hi and not self._is_over(extent) for extent in window.extents(events)
        )

    def _is_over(self, extent: Extent) -> bool:
        """Whether what arrives now cannot change the window any more."""
        if self.query.late_by is LateBy.TIME or self.before is None or extent.closes_at is None:
            return False
        return extent.closes_at + self.query.allowed_lateness.length <= self.before

    def _let_go(self) -> None:
        """The events of windows that are over count no more, unless another window holds them."""
        if self.query.late_by is LateBy.TIME:
            return
        for key, events in self.events.items():
            for window in self.query.windows:
                ordered = self._ordered(key, window, events)
                extents = list(window.extents(ordered))
                gone, held = (
                    {at for e in extents if self._is_over(e) is over for at in range(e.lo, e.hi)}
                    for over in (True, False)
                )
                self.over |= {(key, window.label, ordered[at].ordinal) for at in gone - held}

    def _ordered(self, key: Hashable, window: Window, events: Iterable[Event]) -> list[Event]:
        """The events of a key that count in windows of this kind, in the order of the query."""
        return [
            event
            for event in arrange(events, self.query.order)
            if (key, window.label, event.ordinal) not in self.over
        ]

    def _ticked(self, before: int | None) -> bool:
        """Whether the watermark has passed a multiple of the period of `emit="every …"`."""
        now, period = self.watermark.value, self.query.emit.period.length
        if self.query.emit.when is not When.EVERY or now is None:
            return False
        return before is None or now // period > before // period

    def report(self, *, tick: bool = False, flush: bool = False) -> None:
        for key, events in self.events.items():
            for window in self.query.windows:
                placed, displaced = window.place(self._ordered(key, window, events))
                self._report_displaced(window, displaced, flush=flush)
                self._report_window(key, window, placed, tick=tick, flush=flush)

    def _report_displaced(
        self, window: Window, displaced: Iterable[tuple[Event, str]], *, flush: bool
    ) -> None:
        for event, reason in displaced:
            known = (event.key, window.label, event.ordinal)
            if known not in self.displaced and self._settled(event.time, flush=flush):
                self.displaced.add(known)
                self.late.append(Late(Arrival(event.time, event.key, event.values), reason, window.label))

    def _settled(self, closes_at: int | None, *, flush: bool) -> bool:
        if flush:
            return True
        if closes_at is None:
            return False
        return self.query.order is Order.ARRIVAL or self.watermark.has_reached(closes_at)

    def _report_window(
        self, key: Hashable, window: Window, events: Sequence[Event], *, tick: bool, flush: bool
    ) -> None:
        last_reports = self.last_reports.setdefault((key, window.label), {})
        seen = set()
        for extent in window.extents(events, horizon=self.watermark.horizon, empty=self.query.empty):
            seen.add(extent.id)
            if self._is_over(extent):
                continue
            content = events[extent.lo : extent.hi]
            closed = self._settled(extent.closes_at, flush=flush)
            if self._is_due(last_reports.get(extent.id), content, closed=closed, tick=tick):
                self._emit(key, window, extent, content, closed=closed, flush=flush)
        for extent in list(_dissolved(last_reports, seen)):
            was = last_reports[extent.id]
            if self._is_over(extent):
                continue
            if was.closed or tick or flush or self.query.emit.when is When.CHANGE:
                self._emit(key, window, extent, [], closed=was.closed, flush=flush)

    def _is_due(
        self, was: _LastReport | None, content: Sequence[Event], *, closed: bool, tick: bool
    ) -> bool:
        changed = was is None or was.ordinals != _ordinals(content)
        match self.query.emit.when:
            case When.CLOSE:
                return closed and changed
            case When.CHANGE | When.ARRIVAL:
                return changed and (closed or bool(content) or was is not None)
            case When.EVERY:
                first_close = closed and (was is None or not was.closed)
                return first_close or (changed and (closed or (tick and bool(content))))

    def _emit(
        self,
        key: Hashable,
        window: Window,
        extent: Extent,
        content: Sequence[Event],
        *,
        closed: bool,
        flush: bool,
    ) -> None:
        last_reports, ordinals = self.last_reports[key, window.label], _ordinals(content)
        was = last_reports.get(extent.id)
        # A session may begin where one began that is over: it has its name, and is another window.
        revision = 0 if was is None or self._is_over(was.extent) else was.revision + 1
        last_reports[extent.id] = _LastReport(extent, ordinals, revision, closed)
        rows = [event.values for event in content]
        self.reports.append(
            WindowReport(
                key=key,
                window=window.label,
                id=extent.id,
                start=extent.start,
                end=extent.end,
                ordinals=ordinals,
                values={name: fold(monoid, rows) for name, monoid in self.query.aggregates.items()},
                revision=revision,
                at=None if flush else self.watermark.value,
            )
        )


def _dissolved(last_reports: Mapping[int, _LastReport], seen: set[int]) -> Iterator[Extent]:
    """The windows that were reported with a content and are no more."""
    return (was.extent for id, was in last_reports.items() if id not in seen and was.ordinals)


def _ordinals(content: Iterable[Event]) -> tuple[int, ...]:
    return tuple(event.ordinal for event in content)
