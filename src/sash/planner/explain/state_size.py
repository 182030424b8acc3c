"""What is held between two batches, for each key, and how it grows.

    fold      of a window that only grows
    panes     (W + delay) / p of them, and a quarter more for the tree of their folds
    events    all that a window may still need: of W and the delay, the last W, or those of an open window
    × n       where n workers of a window farm hold an event, each for windows of its own

A bounded input is computed at once: nothing is held when it is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Literal

import pyarrow as pa

from sash.operators.bound_query import BoundQuery, BoundRolling, BoundWhole
from sash.operators.engine import StatePlan
from sash.operators.folding.panes import clock_windows
from sash.operators.patterns.declared import window_workers
from sash.operators.patterns.who_finds_windows import owner_finds
from sash.planner.plans.cheapest_pattern import Plan
from sash.semantics.durations import Duration, format_last, format_length
from sash.semantics.window import Window

VARIABLE = 32
"""Bytes of a value whose type has no width of its own."""
PLACE = 24
"""Bytes for the key and the position of a pane or an event."""

_GROWING = {
    "collect": "every collected value",
    "count_distinct": "every different value",
    "skyline": "the points that no other beats",
}
"""Built-in aggregates whose elements grow with their events, and what these hold."""
_OWN = "the encoded element"
"""What one of a user's own holds, as far as is known."""


@dataclass(frozen=True)
class State:
    """What a key costs between two batches."""

    kept: Literal["nothing", "panes", "events", "fold"]
    amount: str
    """How many of them a key has, in words."""
    units: int | None
    """The same as a number, where the query alone determines it."""
    unit_bytes: int
    growth: str
    full: int | None = None
    """How many a full window holds, where others wait beside them, so that `units` is not known."""
    beside: str = ""
    """What running aggregates hold outside of these bytes, in words."""

    @property
    def bytes(self) -> int | None:
        """Of a key; None where it depends on how many events come."""
        return None if self.units is None or self.beside else self.units * self.unit_bytes


def state_of(bound: BoundQuery, plan: Plan) -> State:
    facts, width = plan.facts, _event_bytes(bound)
    if facts.where == "process":
        total, rows = in_bytes(facts.events.rows * width), facts.events.rows
        events = f"{rows:,} event{'s' * (rows != 1)}"
        amount = f"in memory while it runs: the columns that it reads of {events}, about {total}"
        return State("nothing", amount, 0, width, "with the input")
    if facts.where == "spark batch":
        held = "panes" if plan.pattern is None and facts.folded_by_spark else "rows"
        amount = f"each task has the {held} of its keys in memory while it runs"
        return State("nothing", amount, 0, width, f"with the {held} of the busiest task")
    own = facts.own_watermark
    if own is not None and own.delay is not None:  # what it allows waits too
        delay = Duration(bound.query.delay.length + own.delay.length, own.delay.unit)
        bound = replace(bound, query=replace(bound.query, delay=delay))
    handed = owner_finds(plan.pattern, bound)
    return _copied(_kept(bound, StatePlan(bound, rows=handed)), 1 if handed else _holders(plan))


def _holders(plan: Plan) -> int:
    """How many buckets hold an event of one key, or its pane, for windows of their own."""
    return min(window_workers(plan.pattern), max(1, ceil(plan.facts.overlap)))


def _copied(state: State, holders: int) -> State:
    if holders == 1:
        return state
    units, full = (None if number is None else number * holders for number in (state.units, state.full))
    amount = f"{state.amount}, in {holders} buckets, each with windows of its own"
    return replace(state, amount=amount, units=units, full=full)


def _kept(bound: BoundQuery, plan: StatePlan) -> State:
    """Of all lanes: what is kept of an open window, and what elements there are."""
    forgets = _forgets(bound, plan)
    rings = [lane for lane in plan.lanes if not lane.running]
    if not rings:
        amount, (beside, grows) = "the running aggregate of its open window", _beside(bound)
        growth = f"with the number of keys{grows}{forgets}"
        return State("fold", amount, 1, 8 * plan.slot_words, growth, beside=beside)
    # A node for every eight elements, and as many again above them.
    size = max(8 * lane.form.width + 8 * lane.form.node_width // 4 for lane in rings)
    if plan.panes is not None:
        longest = max(window.size for window in clock_windows(bound))
        waits = bound.query.delay.length + bound.query.retained
        count = ceil((longest + waits) / plan.panes.length) + 1
        length = format_length(plan.panes.length, clock_windows(bound)[0].unit)
        growth = "with the window and the delay, not with the number of events"
        return State("panes", f"at most {count:,} panes of {length}", count, size, growth + forgets)
    what = "whole rows" if plan.whole else "times and inputs"
    windows = [[bound.query.windows[number] for number in lane.windows] for lane in rings]
    several = len(bound.query.windows) > 1
    needs = [
        _needed(window, several=several) for of_lane in windows for window in _without_shorter(of_lane)
    ]
    amount = " and ".join(dict.fromkeys(words for words, _ in needs))
    waiting = [str(length) for length in (bound.query.delay, bound.query.allowed_lateness) if length.length]
    if waiting:
        amount += f" and {' and '.join(waiting)} more"
    amount += f" ({what})"
    beside, grows = "", ""
    if len(rings) < len(plan.lanes):
        amount += " and a running aggregate"
        beside, grows = _beside(bound)
    counts = [number for _, number in needs]
    full = None if None in counts else max(number or 0 for number in counts)
    known = None if waiting else full
    reach = "the longest look-back" if isinstance(bound, BoundRolling) else "a window"
    growth = f"with the number of events in {reach}{grows}{forgets}"
    return State("events", amount, known, size, growth, full if waiting else None, beside)


def _beside(bound: BoundQuery) -> tuple[str, str]:
    """What running aggregates hold outside of their row of numbers, and what it grows with."""
    if isinstance(bound, BoundWhole):
        return "what the accumulator of its open window holds", " and what their accumulators hold"
    growing: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for name, monoid in bound.aggregates.items():
        if not monoid.columnar:
            called = monoid.made_by[0] if monoid.made_by else ""
            (growing if called in _GROWING or not called else others).append((name, called))
    where = "" if isinstance(bound, BoundRolling) else " in its open window"
    parts = [f"{_GROWING.get(called, _OWN)} of {name}{where}" for name, called in growing]
    if others:
        summaries = "summaries" if len(others) > 1 else "summary"
        parts.append(f"the {summaries} of {', '.join(name for name, _ in others)}, of bounded size")
    names = ", ".join(name for name, _ in growing)
    return " and ".join(parts), f" and of the values that {names} has to hold" if growing else ""


def _forgets(bound: BoundQuery, plan: StatePlan) -> str:
    """When a key leaves nothing behind."""
    if bound.query.forget_after.length:
        return f"; a key is dropped {bound.query.forget_after} after its newest event"
    if plan.forgets:
        return "; a key is dropped when no window needs its state"
    return f"; {8 * plan.slot_words} bytes per key remain: see forget_after= of sash.stream"


def _without_shorter(windows: Sequence[Window]) -> list[Window]:
    """Of ranges of time in one lane the longest alone: its events are those of the others too."""
    capacities = enumerate(window.capacity for window in windows)
    sizes = {at: capacity.length for at, capacity in capacities if isinstance(capacity, Duration)}
    longest = max(sizes, key=sizes.__getitem__, default=None)
    return [window for at, window in enumerate(windows) if at not in sizes or at == longest]


def _needed(window: Window, *, several: bool) -> tuple[str, int | None]:
    """The events of a key that a window may still need, in words and, if it is fixed, as a number."""
    match window.capacity:
        case None:
            return f"all events of the open window{f' of {window.label}' if several else ''}", None
        case Duration(length, unit):
            return f"the events of {format_last(length, unit)}", None
        case number if number == inf:
            return "all events", None
        case number:
            return f"the last {number:,} events", int(number)


def in_bytes(count: int) -> str:
    """
    >>> in_bytes(900), in_bytes(25_000), in_bytes(3_000_000)
    ('900 bytes', '25 kB', '3 MB')
    """
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= step:
            return f"{count / step:.3g} {unit}"
    return f"{count} bytes"


def _event_bytes(bound: BoundQuery) -> int:
    return PLACE + sum(_width(bound.schema.field(name).type) for name in bound.columns)


def _width(type_: pa.DataType) -> int:
    try:
        return -(-int(type_.bit_width) // 8)
    except ValueError:  # text, binary, lists
        return VARIABLE
