"""The answer to 'why?': frozen, readable as text and as plain data.

Why = what was known × EventStory, one per event at the given time × the late events of the key
EventStory = its verdict × WindowStory, one per window of the query
WindowStory = the windows that hold it (HeldStory) or why none does × what other engines report
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sash.semantics.event import Order
from sash.semantics.time_format import TimeFormat, runs
from sash.semantics.why.other_engines import EngineStory, PositionRange


@dataclass(frozen=True, slots=True)
class HeldStory:
    """A window that holds the event."""

    id: int
    start: int | None
    end: int | None
    holds: PositionRange
    """Its events, as positions in the key's order."""
    reported: bool
    closed: bool
    revision: int | None
    why: tuple[str, ...]
    """Why it was reported, each time, and what it waits for while it is open."""

    @property
    def state(self) -> str:
        """reported; waits; or open: reported early, or re-opened by a late event."""
        if not self.reported:
            return "waits"
        return "reported" if self.closed else "open"


@dataclass(frozen=True, slots=True)
class WindowStory:
    """What one of the query's windows did with the event."""

    label: str
    formula: str
    held: tuple[HeldStory, ...] = ()
    absence: str = ""
    """Why no window holds it, when none does."""
    engines: tuple[EngineStory, ...] = ()
    half_open: bool = False
    """Whether the end that is shown lies outside."""
    order: tuple[int, ...] = ()
    """The numbers of the key's events, in the query's order."""
    shown: str = ""
    """The window as its user wrote it."""

    def numbers(self, holds: PositionRange) -> tuple[int, ...]:
        """The numbers of the events at these positions."""
        return self.order[slice(*holds)]


@dataclass(frozen=True, slots=True)
class EventStory:
    """One event. `number` counts all arrivals from 1."""

    number: int
    time: int | None
    accepted: bool
    verdict: str
    """On time, or why it is late."""
    windows: tuple[WindowStory, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What was known at that moment."""

    arrived: int
    newest: int | None
    watermark: int | None
    delay: int
    order: Order
    ended: bool
    """Whether the end of the input has closed everything."""


@dataclass(frozen=True)
class Why:
    """Why windows with an event were reported, or have not been."""

    key: Hashable
    keyed: bool
    reading: TimeFormat = field(repr=False)
    known: Known
    events: tuple[EventStory, ...]
    late: Mapping[str, int]
    """How many events of this key are late, by reason."""

    def __str__(self) -> str:
        from sash.semantics.why.text import as_text

        return as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, words and numbers; times as integers, and as they are read."""
        known = self.known
        return {
            "key": self.key,
            "known": {
                "arrived": known.arrived,
                "newest": self._time(known.newest),
                "watermark": self._time(known.watermark),
                "delay": known.delay,
                "order": known.order.value,
                "ended": known.ended,
            },
            "events": [self._event(event) for event in self.events],
            "late": dict(self.late),
        }

    def _event(self, event: EventStory) -> dict[str, Any]:
        return {
            "number": event.number,
            "time": self._time(event.time),
            "accepted": event.accepted,
            "verdict": event.verdict,
            "windows": [
                {
                    "window": window.label,
                    "formula": window.formula,
                    "absence": window.absence or None,
                    "held": [self._held(window, held) for held in window.held],
                    "engines": [_engine(window, engine) for engine in window.engines],
                }
                for window in event.windows
            ],
        }

    def _held(self, window: WindowStory, held: HeldStory) -> dict[str, Any]:
        return {
            "id": held.id,
            "start": self._time(held.start),
            "end": self._time(held.end),
            "events": runs(window.numbers(held.holds)),
            "count": held.holds[1] - held.holds[0],
            "state": held.state,
            "reported": held.reported,
            "closed": held.closed,
            "revision": held.revision,
            "why": list(held.why),
        }

    def _time(self, time: int | None) -> dict[str, Any] | None:
        return None if time is None else {"value": time, "text": self.reading.time(time)}


def _engine(window: WindowStory, engine: EngineStory) -> dict[str, Any]:
    return {
        "engine": engine.engine,
        "reports": engine.reports,
        "contents": [runs(window.numbers(content)) for content in engine.contents],
        "same": engine.same,
        "remark": engine.remark or None,
    }
