"""What is held between two batches, for each key, and how it grows.

    panes     (W + delay) / p of them, and a sixteenth more for the cells above
    events    all that a window may still need: of W and the delay, the last W, or those of an open window
    × n       where n workers of a window farm hold an event, each for windows of its own

A bounded input is computed at once: nothing is held when it is done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

import pyarrow as pa

from sash.operators.bound import BoundQuery
from sash.operators.engine import keeps_panes
from sash.operators.panes import Panes, clock_windows
from sash.operators.patterns.declared import WinFarm, window_workers
from sash.planner.facts import Facts
from sash.planner.plan import Plan
from sash.semantics.durations import format_length
from sash.semantics.run_as import EngineWindow
from sash.semantics.window import Window
from sash.semantics.windows import (
    CountWindow,
    CumulateWindow,
    SlideByTimeWindow,
    SlideByTupleWindow,
    TimeWindow,
)

VARIABLE = 32
"""Bytes of a value whose type has no width of its own."""
PLACE = 24
"""Bytes that say whose a pane or an event is, and where it stands."""


@dataclass(frozen=True)
class State:
    """What a key costs between two batches."""

    kept: Literal["nothing", "panes", "events"]
    amount: str
    """How many of them a key has, in words."""
    units: int | None
    """The same as a number, where the query alone says it."""
    unit_bytes: int
    growth: str

    @property
    def bytes(self) -> int | None:
        """Of a key; None where it depends on how many events come."""
        return None if self.units is None else self.units * self.unit_bytes


def state_of(bound: BoundQuery, plan: Plan) -> State:
    """What a plan holds for each key."""
    facts, width = plan.facts, _event_bytes(bound)
    if facts.where == "process":
        megabytes = facts.events.rows * width / 1e6
        amount = (
            f"while it runs, all {facts.events.rows:,} events of the input are in memory, about "
            f"{megabytes:,.3g} MB"
        )
        return State("nothing", amount, 0, width, "with the input")
    if facts.where == "spark batch":
        amount = "while it runs, a task has the rows of its buckets in memory"
        return State("nothing", amount, 0, width, "with the rows of the busiest task")
    agnostic = isinstance(plan.pattern, WinFarm) and plan.pattern.model == "agnostic"
    state = _panes(bound, facts) if keeps_panes(bound) and not agnostic else _events(bound, width)
    return _copied(state, 1 if agnostic else _holders(plan))


def _holders(plan: Plan) -> int:
    """How many buckets hold an event of one key, or its pane, for windows of their own."""
    return min(window_workers(plan.pattern), max(1, ceil(plan.facts.overlap)))


def _copied(state: State, holders: int) -> State:
    if holders == 1:
        return state
    units = None if state.units is None else state.units * holders
    amount = f"{state.amount}, in {holders} buckets, each of which answers for windows of its own"
    return replace(state, amount=amount, units=units)


def _panes(bound: BoundQuery, facts: Facts) -> State:
    panes, windows = Panes.of(bound), clock_windows(bound)
    assert panes is not None  # it suits
    longest = max(window.size for window in windows)
    count = ceil((longest + bound.query.delay.length) / panes.length) + 1
    unit = windows[0].unit
    fields = sum(monoid.fields for monoid in facts.algebra)
    return State(
        "panes",
        f"at most {count:,} panes of {format_length(panes.length, unit)}",
        count,
        PLACE + 8 * fields,
        "with the window and the delay, not with the number of events",
    )


def _events(bound: BoundQuery, width: int) -> State:
    needs = [_needed(window) for window in bound.query.windows]
    amount = " and ".join(dict.fromkeys(words for words, _ in needs))
    delay, lateness = bound.query.delay, bound.query.allowed_lateness
    waits = [str(length) for length in (delay, lateness) if length.length]
    if waits:
        amount += f", and those of {' and '.join(waits)} more"
    counts = [number for _, number in needs]
    known = None if waits or None in counts else max(number or 0 for number in counts)
    return State("events", amount, known, width, "with the number of events in a window")


def _needed(window: Window) -> tuple[str, int | None]:
    """The events of a key that a window may still need, in words and, if it is fixed, as a number."""
    asked = window.asked if isinstance(window, EngineWindow) else window
    match asked:
        case SlideByTupleWindow() if asked.endless:
            return "all events", None
        case TimeWindow() | CumulateWindow() | SlideByTupleWindow():
            return f"the events of the last {format_length(asked.size, asked.unit)}", None
        case CountWindow() | SlideByTimeWindow():
            return f"the last {asked.size:,} events", asked.size
    return f"the events of the open window of {window.label}, however many there are", None


def _event_bytes(bound: BoundQuery) -> int:
    return PLACE + sum(_width(bound.schema.field(name).type) for name in bound.columns)


def _width(type_: pa.DataType) -> int:
    try:
        return -(-int(type_.bit_width) // 8)
    except ValueError:  # text, binary, lists
        return VARIABLE
