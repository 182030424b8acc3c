"""The progress of delta windows: the triggers so far, and how far back the next one can look.

Event by event, in Python's own numbers: for what 64 bits do not hold, such as decimals. `kinds.delta`
does the same on columns.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.columns.layout import Layout
from sash.operators.kinds.kind_base import Held, KeyMemory, Moment
from sash.operators.kinds.kinds_over_all_held import LayoutKind, Progress
from sash.operators.windows.ranges import MISSING, Ranges
from sash.semantics.event import Event
from sash.semantics.window import Extent, spanned
from sash.semantics.windows import DeltaWindow
from sash.semantics.windows.delta import is_number, like

SLACK = 1e-9
"""How much further back events are held than the arithmetic of floats requires, relative to its numbers."""


def look_back(window: DeltaWindow, reach: Any, trigger: Any) -> Any:
    """Below this, a trigger at `reach` or above needs nothing. One number, or a column of them; not a
    number where infinity is among them: then all is held."""
    with np.errstate(invalid="ignore", over="ignore"):
        slack = SLACK * (abs(reach) + abs(trigger) + window.slide + window.size)
        return reach - window.size - slack


class DeltaByDefinition(Progress[DeltaWindow]):
    """`scanned` of the held events have been looked at for triggers; `next_id` triggers were found, the
    last at `trigger`. A window that is closed on the right stays `open` until a greater value is final."""

    memory: ClassVar[dict[str, int | float]] = {
        "next_id": 0, "scanned": 0, "open": 0, "trigger": -math.inf,
    }  # fmt: skip

    def measure(self, *, whole: bool) -> None:
        """Remember whole numbers as such: as floats, large ones would run into each other."""
        self._number: type[int] | type[float] = int if whole else float
        if whole:
            self.memory = {**self.memory, "trigger": MISSING}  # type: ignore[misc]

    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        return Ranges.of(
            (slot, base, extent)
            for slot, (base, events) in enumerate(layout.events())
            for extent in self._extents(slot, events)
            if len(extent) or moment.empty
        )

    def _extents(self, slot: int, events: list[Event]) -> Iterator[Extent]:
        deltas = self._values(events)
        if self.remembered["open"][slot]:
            w = int(self.remembered["next_id"][slot]) - 1
            yield self._extent(w, self._trigger(slot, deltas), None, events)
        for w, position in self._triggers(slot, deltas, len(deltas)):
            yield self._extent(w, deltas[position], position, events)

    def _extent(self, w: int, at: Any, trigger: int | None, events: list[Event]) -> Extent:
        deltas = self._values(events)
        if self.window.closed == "left" and trigger is not None:
            hi, closer = bisect_left(deltas, at), trigger
        else:
            hi = closer = bisect_right(deltas, at)
        lo = bisect_left(deltas, at - like(at, self.window.size), 0, hi)
        closes_at = events[closer].time if closer < len(events) else None
        return spanned(w, events, lo, hi, closes_at=closes_at)

    def _values(self, events: list[Event]) -> list[Any]:
        return [event.values[self.window.attribute] for event in events]

    def _trigger(self, slot: int, deltas: list[Any]) -> Any:
        """The value of the last trigger, of the type of the events' own values."""
        last = self._number(self.remembered["trigger"][slot])
        return like(deltas[0], last) if deltas else last

    def _triggers(self, slot: int, deltas: list[Any], until: int) -> Iterator[tuple[int, int]]:
        """(identifier, position) of the triggers among the events that have not been scanned."""
        w, last = int(self.remembered["next_id"][slot]), self._trigger(slot, deltas)
        for position in range(int(self.remembered["scanned"][slot]), until):
            value = deltas[position]
            if w == 0 or value - last > like(value, self.window.slide):
                yield w, position
                w, last = w + 1, value

    def move_on(self, layout: Layout, settled: int) -> Ints:
        gone = np.zeros(layout.slots, np.int64)
        final = layout.before(settled + 1)
        for slot, (_, events) in enumerate(layout.events()):
            gone[slot] = self._move_slot(slot, self._values(events), int(final[slot]))
        return gone

    def _move_slot(self, slot: int, deltas: list[Any], final: int) -> int:
        for w, position in list(self._triggers(slot, deltas, final)):
            self.remembered["next_id"][slot] = w + 1
            self.remembered["trigger"][slot] = self._number(deltas[position])
            self.remembered["open"][slot] = self.window.closed == "right"
        if not final:
            return 0
        trigger, top = self._number(self.remembered["trigger"][slot]), self._number(deltas[final - 1])
        if top > trigger:
            self.remembered["open"][slot] = 0
        # The next trigger is above `trigger + every`, and not below what has been seen.
        reach = trigger if self.remembered["open"][slot] else max(trigger + self.window.slide, top)
        reach = look_back(self.window, reach, trigger)
        # The last one stays, so that what falls below it is known exactly.
        gone = min(final - 1, bisect_left([float(value) for value in deltas], reach))
        self.remembered["scanned"][slot] = final - gone
        return gone


class ExactDeltaKind(LayoutKind):
    """Delta windows over decimals, and over whatever else 64 bits do not hold."""

    places: ClassVar[bool] = True

    def __init__(self, window: DeltaWindow, schema: pa.Schema) -> None:
        progress = DeltaByDefinition(window)
        progress.measure(whole=pa.types.is_integer(schema.field(window.attribute).type))
        super().__init__(window, schema, progress)

    def misfits(self, rows: pa.Table, offsets: Ints, held: Held, memory: KeyMemory) -> dict[int, str]:
        assert held.gather is not None
        known, name, found = held.gather(), self.window.attribute, {}
        before, new = known.rows[name].to_pylist(), rows[name].to_pylist()
        for key, (begin, end) in enumerate(pairwise(offsets.tolist())):
            some = known.offsets[key] < known.offsets[key + 1]
            top = before[known.offsets[key + 1] - 1] if some else -math.inf
            for position in range(begin, end):
                if not is_number(new[position]):
                    found[position] = f"{name} is not a number"
                elif new[position] < top:
                    found[position] = f"{name} decreased"
                else:
                    top = new[position]
        return found
