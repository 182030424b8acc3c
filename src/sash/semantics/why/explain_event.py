"""Explain an event: from a query and the batches that arrived to a `Why`.

explain(query, batches, key, at)  =  the windows that hold each event of `key` at time `at`, with the
                                     reports that `reference.evaluate(query, batches)` makes of them
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import UTC, tzinfo

from sash.errors import ArgumentError
from sash.semantics.query import Query
from sash.semantics.reference import Batch
from sash.semantics.secret import PROFILES, Profile
from sash.semantics.time_format import TimeFormat
from sash.semantics.why.arrival_log import ArrivalLog, JudgedArrival
from sash.semantics.why.history import HoldingWindow, KeyHistory
from sash.semantics.why.other_engines import other_engines
from sash.semantics.why.report_reasons import Reasons, acceptance, lateness
from sash.semantics.why.why_answer import EventStory, HeldStory, Known, Why, WindowStory
from sash.semantics.window import times


def explain(
    query: Query,
    batches: Iterable[Batch],
    *,
    key: Hashable,
    at: int | None,
    calendar: bool = False,
    zone: tzinfo = UTC,
    engines: Mapping[str, Profile] = PROFILES,
) -> Why:
    """What became of the events of `key` at time `at` (None: those without a time).

    `calendar`: times are timestamps in microseconds, to be written as clock times of `zone`.
    """
    arrived = tuple(batches)
    journal = ArrivalLog.of(query, arrived)
    own = journal.of_key(key)
    chosen = [entry for entry in own if entry.arrival.time == at]
    seen = [entry.arrival.time for entry in journal.entries if entry.arrival.time is not None]
    reading = TimeFormat.of(seen, calendar=calendar, zone=zone)
    if not chosen:
        raise _no_such_event(key, at, own, reading)
    keyed = any(entry.arrival.key is not None for entry in journal.entries)
    histories = [KeyHistory(query, window, arrived, journal, key) for window in query.windows]
    return Why(
        key=key,
        keyed=keyed,
        reading=reading,
        known=Known(
            arrived=len(journal.entries),
            newest=max(seen, default=None),
            watermark=journal.watermark.value,
            delay=query.delay.length,
            order=query.order,
            ended=query.flush,
        ),
        events=tuple(
            _event(entry, [(history, Reasons(history, reading, keyed)) for history in histories], engines)
            for entry in chosen
        ),
        late=dict(Counter(_late_reason(entry) for entry in own if not entry.accepted)),
    )


def _event(
    entry: JudgedArrival, histories: Sequence[tuple[KeyHistory, Reasons]], engines: Mapping[str, Profile]
) -> EventStory:
    time, (first, reasons) = entry.arrival.time, histories[0]
    if time is None or not entry.accepted:
        allowed = first.query.allowed_lateness.length
        why = lateness(entry, reasons.reading, allowed=allowed)
        return EventStory(entry.number, time, accepted=False, verdict=why)
    windows = tuple(_window(entry, history, reasons, engines) for history, reasons in histories)
    return EventStory(
        entry.number, time, accepted=True, verdict=acceptance(entry, reasons.reading), windows=windows
    )


def _window(
    entry: JudgedArrival, history: KeyHistory, reasons: Reasons, engines: Mapping[str, Profile]
) -> WindowStory:
    window, ordinal = history.window, history.ordinal(entry)
    if ordinal in history.displaced:
        misfit, time = f"has no place: {history.displaced[ordinal]}", entry.arrival.time
        before = () if time is None else history.dissolved(ordinal, time)
        held_before = tuple(_held(one, history, reasons) for one in before)
        return WindowStory(
            window.label, window.formula, held=held_before, absence=misfit, shown=window.shown
        )
    position = history.position(ordinal)
    held = list(history.holding(position))
    return WindowStory(
        label=window.label,
        shown=window.shown,
        formula=window.formula,
        held=tuple(_held(one, history, reasons) for one in held),
        absence="" if held else reasons.absence(position),
        engines=tuple(
            other_engines(
                engines,
                window,
                times(history.events),
                position,
                {(one.extent.lo, one.extent.hi) for one in held if one.reported},
                newest=history.journal.newest(),
                calendar=reasons.reading.calendar,
            )
        ),
        half_open=window.half_open,
        order=tuple(history.number(event) for event in history.events),
    )


def _held(held: HoldingWindow, history: KeyHistory, reasons: Reasons) -> HeldStory:
    extent = held.extent
    return HeldStory(
        id=extent.id,
        start=extent.start,
        end=extent.end,
        holds=(extent.lo, extent.hi),
        reported=held.reported,
        closed=held.closed,
        revision=held.reports[-1].revision if held.reports else None,
        why=reasons.story(held),
    )


def _late_reason(entry: JudgedArrival) -> str:
    return "behind the watermark" if entry.arrival.time is not None else "time is null"


def _no_such_event(
    key: Hashable, at: int | None, own: Sequence[JudgedArrival], reading: TimeFormat
) -> ArgumentError:
    stamps = sorted({entry.arrival.time for entry in own if entry.arrival.time is not None})
    if not own:
        return ArgumentError("key", key, "the key of an event that has arrived")
    nearest = sorted(stamps, key=lambda stamp: abs(stamp - at))[:2] if at is not None else []
    hint = f"The nearest are at {' and '.join(map(reading.time, sorted(nearest)))}." if nearest else ""
    given = "null" if at is None else reading.time(at)
    return ArgumentError("at", given, f"the time of an event of key {key!r} that has arrived", hint=hint)
