"""An experiment: a window, a few events in the order of their arrival, and how late they may be.

What comes from a browser is read here, once: known words, and numbers within bounds that keep the answer
small enough to be looked at, and to be computed while one waits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sash.dashboard.lab.kinds import KINDS, LabKind, Parameter
from sash.errors import ArgumentError
from sash.semantics import durations
from sash.semantics.durations import whole_number
from sash.semantics.event import Order
from sash.semantics.query import Query
from sash.semantics.reference import Arrival
from sash.semantics.window import Window

EVENTS = 40
FARTHEST = 500
"""The greatest time, size or count."""
OVERLAP = 50
"""Windows that may hold one event."""


@dataclass(frozen=True)
class Experiment:
    """A window, and events that arrive."""

    kind: LabKind
    numbers: Mapping[str, Any]
    window: Window
    query: Query
    arrivals: tuple[Arrival, ...]
    selected: int | None
    """The event to explain, by its number in the order of arrival, from 0."""

    @classmethod
    def read(cls, given: Any) -> Experiment:
        """A checked experiment; ArgumentError names what is wrong."""
        if not isinstance(given, Mapping):
            raise ArgumentError(
                "experiment", type(given).__name__, "an object with kind, numbers and events"
            )
        name = given.get("kind")
        if not isinstance(name, str) or name not in KINDS:
            raise ArgumentError("kind", name, f"one of {', '.join(KINDS)}")
        kind, values = KINDS[name], given.get("numbers")
        values = values if isinstance(values, Mapping) else {}
        numbers = {one.name: _parameter(one, values.get(one.name, one.default)) for one in kind.parameters}
        _require_few(numbers)
        window = kind.build(numbers)
        query = Query(
            windows=(window,),
            order=_order(given.get("order", Order.EVENT_TIME.value)),
            delay=durations.not_negative(_whole("delay", given.get("delay", 0), 0), "delay"),
            allowed_lateness=durations.not_negative(
                _whole("allowed_lateness", given.get("allowed_lateness", 0), 0), "allowed_lateness"
            ),
            flush=False,
        )
        arrivals = _arrivals(given.get("events", []))
        return cls(kind, numbers, window, query, arrivals, _selected(given.get("selected"), len(arrivals)))


def _parameter(parameter: Parameter, given: Any) -> Any:
    match parameter.measure:
        case "choice":
            if given not in parameter.choices:
                raise ArgumentError(parameter.name, given, f"one of {', '.join(parameter.choices)}")
            return given
        case "x":
            return _number(parameter.name, given)
        case _:
            return _whole(parameter.name, given, 0 if parameter.name == "origin" else 1)


def _require_few(numbers: Mapping[str, Any]) -> None:
    slide = numbers.get("every", numbers.get("step"))
    size = numbers.get("size")
    if isinstance(size, int) and isinstance(slide, int) and size > OVERLAP * slide > 0:
        raise ArgumentError("size", size, f"at most {OVERLAP} times as long as the slide, in the lab")


def _arrivals(given: Any) -> tuple[Arrival, ...]:
    if not isinstance(given, list) or len(given) > EVENTS:
        raise ArgumentError("events", type(given).__name__, f"a list of at most {EVENTS} events")
    found = []
    for index, event in enumerate(given, start=1):
        event = event if isinstance(event, Mapping) else {}
        time = _whole(f"the time of event {index}", event.get("time"), 0)
        found.append(Arrival(time, None, {"x": _number(f"x of event {index}", event.get("x", 1))}))
    return tuple(found)


def _order(given: Any) -> Order:
    try:
        return Order(given)
    except ValueError:
        raise ArgumentError("order", given, "'event-time' or 'arrival'") from None


def _whole(argument: str, given: Any, least: int) -> int:
    number = whole_number(given)
    if number is None or not least <= number <= FARTHEST:
        raise ArgumentError(argument, given, f"a whole number from {least} to {FARTHEST}")
    return number


def _number(argument: str, given: Any) -> float:
    plain = isinstance(given, int | float) and not isinstance(given, bool)
    if not plain or not math.isfinite(given) or abs(given) > 1e6:
        raise ArgumentError(argument, given, "a number")
    return int(given) if given == int(given) else float(given)


def _selected(given: Any, events: int) -> int | None:
    if given is None:
        return None
    number = whole_number(given)
    if number is None or not 0 <= number < events:
        raise ArgumentError("selected", given, f"the number of one of {events} events, from 0")
    return number
