"""The progress of windows that are reported as an engine does.

A report is made by the event that ticks, and is final when that event is: nothing of it depends on how the
stream is cut into batches. What is remembered of the events before it is where the key's windows start, how
far ticks have come, and what was reported last. No key is forgotten: its last window waits for its next
event.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.windows.bound_positions import cut
from sash.arrays import Ints
from sash.operators.columns.layout import Layout
from sash.operators.kinds.as_engine_ranges import (
    EngineMemory,
    by_model,
    closed_ranges,
    first_end,
    first_unreported,
    on_columns,
    own_clock,
    starts,
    ticks,
)
from sash.operators.kinds.kind_base import Moment
from sash.operators.kinds.kinds_over_all_held import LayoutKind, Progress
from sash.operators.windows.ranges import MISSING, Ranges
from sash.semantics.run_as_engine import EngineWindow
from sash.semantics.secret.engine_state import EngineState
from sash.semantics.secret.scope import Axis


def engine_kind(window: EngineWindow, schema: pa.Schema) -> LayoutKind:
    """On columns where the profile has a closed form, by the model otherwise."""
    progress = ClosedProgress(window) if on_columns(window) else ModelProgress(window)
    return LayoutKind(window, schema, progress)


class ClosedProgress(Progress[EngineWindow]):
    """Profiles with window-close: `EngineMemory`, a column each."""

    on_columns: ClassVar[bool] = True
    memory: ClassVar[dict[str, int | float]] = {
        "base": 0, "start": MISSING, "since": MISSING, "gone": MISSING, "lo": 0, "hi": 0,
    }  # fmt: skip

    @property
    def _memory(self) -> EngineMemory:
        return EngineMemory(**{field.name: self.remembered[field.name] for field in fields(EngineMemory)})

    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        return closed_ranges(self.window, layout, self._memory)

    def move_on(self, layout: Layout, settled: int) -> Ints:
        memory, final = self._memory, layout.before(settled + 1)
        made = closed_ranges(self.window, layout, memory)
        self._remember_last(made.where(made.closes_at <= settled), layout)
        settles = self._settled_times if self.window.kind is Axis.TIME else self._settled_counts
        gone = np.minimum(settles(layout, memory, final), final)
        some = np.flatnonzero(gone)
        last_gone = memory.gone.copy()
        last_gone[some] = layout.times[layout.offsets[some] + gone[some] - 1]
        self.remembered |= {"gone": last_gone, "base": memory.base + gone}
        return gone

    def _remember_last(self, made: Ranges, layout: Layout) -> None:
        last = np.flatnonzero(np.diff(made.slot, append=-1))
        slot = made.slot[last]
        moved = self.remembered["base"][slot] - layout.offsets[slot]
        self.remembered["lo"][slot] = made.lo[last] + moved
        self.remembered["hi"][slot] = made.hi[last] + moved

    def _settled_times(self, layout: Layout, memory: EngineMemory, final: Ints) -> Ints:
        """All ticks of the final events are made: how many events lie before every window to come."""
        some = np.flatnonzero(final)
        start, since = memory.start.copy(), memory.since.copy()
        start[some] = starts(self.window, layout, memory)[some]
        since[some] = layout.times[layout.offsets[some] + final[some] - 1]
        self.remembered |= {"start": start, "since": since}
        own, moved = own_clock(self.window, layout, start)
        first = first_unreported(self.window, np.where(since == MISSING, MISSING, since - moved))
        slots = np.arange(layout.slots)
        spent: Ints = (
            cut(own.times, own.offsets, slots, first * self.window.declared.slide) - own.offsets[:-1]
        )
        return spent

    def _settled_counts(self, layout: Layout, memory: EngineMemory, final: Ints) -> Ints:
        ticking = np.where(ticks(self.window, layout, memory), np.arange(len(layout.times)), -1)
        latest = np.maximum.accumulate(ticking)
        since, some = memory.since.copy(), np.flatnonzero(final)
        tick = latest[layout.offsets[some] + final[some] - 1] - layout.offsets[some]
        since[some] = np.where(tick < 0, since[some], memory.base[some] + tick + 1 + self.window.ahead)
        self.remembered["since"] = since
        spent: Ints = np.maximum(first_end(self.window, since) - self.window.declared.size - memory.base, 0)
        return spent


_NUMBERS = attrgetter(
    "base", "arrived", "start", "previous", "clock", "last.start", "last.stop", "lower", "revision"
)
"""Of a state, as they are remembered."""


class ModelProgress(Progress[EngineWindow]):
    """Every other profile: a `EngineState` for each key, a number in each column."""

    memory: ClassVar[dict[str, int | float]] = {
        "base": 0, "arrived": 0, "start": MISSING, "previous": MISSING, "clock": MISSING,
        "lo": 0, "hi": 0, "lower": MISSING, "revision": 0,
    }  # fmt: skip

    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        return by_model(self.window, layout, self._engine_states())

    def move_on(self, layout: Layout, settled: int) -> Ints:
        gone, states, final = (
            np.zeros(layout.slots, np.int64),
            self._engine_states(),
            layout.before(settled + 1),
        )
        for slot, (_, events) in enumerate(layout.events()):
            ready = events[: int(final[slot])]
            self.window.reports(ready, states[slot])
            gone[slot] = self.window.let_go(ready, states[slot])
        self._remember(states)
        return gone

    def _engine_states(self) -> list[EngineState]:
        rows = zip(*(self.remembered[name].tolist() for name in self.memory), strict=True)
        known: Iterable[list[Any]] = ([None if n == MISSING else n for n in row] for row in rows)
        return [
            EngineState(base, arrived, start, previous, clock, range(lo, hi), lower, revision)
            for base, arrived, start, previous, clock, lo, hi, lower, revision in known
        ]

    def _remember(self, states: list[EngineState]) -> None:
        rows = (_NUMBERS(state) for state in states)
        numbers = [[MISSING if number is None else number for number in row] for row in rows]
        columns = np.array(numbers, np.int64).reshape(-1, len(self.memory)).T
        self.remembered = dict(zip(self.memory, columns, strict=True))
