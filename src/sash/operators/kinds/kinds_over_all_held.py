"""Kinds that look at all held events of the keys at hand, as a layout: where no kernel has a closed form.

A progress lists the windows that are not final yet, over the events that are still held, and then moves
on: it returns which of the final events no window can need any more, and remembers, a few numbers per key,
what it would have read off them. Its cost grows with what those keys hold, and with nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Generic

import numpy as np
import pyarrow as pa

from sash.arrays import Array, Ints
from sash.operators.columns.layout import Layout
from sash.operators.kinds.kind_base import AnyWindow, Held, KeyMemory, Moment, RangeKind
from sash.operators.windows.ranges import NEVER, Ranges
from sash.semantics.window import Window

OWN = "own head"
"""The first element that a window of this kind needs: windows that share a lane need different ones."""


class Progress(ABC, Generic[AnyWindow]):
    """Of one window of the query, for the keys at hand."""

    memory: ClassVar[dict[str, int | float]] = {}
    """What is remembered of a key, and what a new one begins with."""
    on_columns: ClassVar[bool] = False
    """Whether it looks at columns; otherwise event by event, in Python."""

    def __init__(self, window: AnyWindow) -> None:
        self.window = window
        self.remembered: dict[str, Array] = {}

    @abstractmethod
    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        """The windows that are not final, over the events that are held."""

    @abstractmethod
    def move_on(self, layout: Layout, settled: int) -> Ints:
        """Events are final up to `settled`: how many of each key, from the oldest, are needed no more."""


class LayoutKind(RangeKind[Any]):
    """A `Progress` over the held events; its memory is that of the progress."""

    def __init__(self, window: Window, schema: pa.Schema, progress: Progress[Any]) -> None:
        super().__init__(window, schema)
        self._progress = progress
        self.memory = {**progress.memory, OWN: 0}  # type: ignore[misc]

    @property
    def on_columns(self) -> bool:
        return self._progress.on_columns

    def ranges(self, held: Held, memory: KeyMemory, moment: Moment) -> Ranges:
        layout, head = self._ready(held, memory)
        return to_ordinals(self._progress.ranges(layout, moment), layout, head)

    def advance(self, held: Held, memory: KeyMemory, settled: int) -> Ints:
        layout, head = self._ready(held, memory)
        memory[OWN][:] = head + self._progress.move_on(layout, settled)
        for name, column in self._progress.remembered.items():
            memory[name][:] = column
        needed: Ints = memory[OWN].copy()
        return needed

    def next_close(self, held: Held, memory: KeyMemory, now: int) -> Ints:
        found = self.ranges(held, memory, Moment(now, now, empty=False))
        later = np.flatnonzero((found.closes_at > now) & found.waits_for_nothing)
        closes = np.full(len(held), NEVER)
        np.minimum.at(closes, found.slot[later], found.closes_at[later])
        return closes

    def wakes(self, times: Ints) -> Ints:
        return times

    def _ready(self, held: Held, memory: KeyMemory) -> tuple[Layout, Ints]:
        """The events from the first that this window needs on: others may need older ones."""
        names = [name for name in memory if name != OWN]
        self._progress.remembered = {name: memory[name].copy() for name in names}
        assert held.gather is not None
        layout, head = held.gather(), np.maximum(memory[OWN], held.head)
        skipped = head - held.head
        if skipped.any():
            slot = layout.slot_of_position()
            local = np.arange(len(layout.times)) - layout.offsets[:-1][slot]
            layout = layout.where(local >= skipped[slot])
        return layout, head


def to_ordinals(ranges: Ranges, layout: Layout, head: Ints) -> Ranges:
    """Ranges of positions in a layout of what is held, as ranges of ordinals."""
    moved = head[ranges.slot] - layout.offsets[ranges.slot]
    return replace(ranges, lo=ranges.lo + moved, hi=ranges.hi + moved)
