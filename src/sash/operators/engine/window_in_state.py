"""One window of the query on its way: its kind, and where its memory lies in a slot's row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sash.arrays import Array, Ints
from sash.operators.engine.lanes.slots import SLOTS, Slots
from sash.operators.kinds.kind_base import KeyMemory, WindowKind as Kind
from sash.semantics.window import Window


@dataclass(frozen=True)
class Track:
    """Of one window, for all keys of a bucket."""

    number: int
    """Which of the query's windows it is."""
    kind: Kind[Any]
    slots: Slots
    word: int

    @property
    def window(self) -> Window:
        window: Window = self.kind.window
        return window

    def _table(self, start: float) -> Array:
        arena = self.slots.arena
        return arena.floats(SLOTS) if isinstance(start, float) else arena.ints(SLOTS)

    def memory(self, slots: Ints) -> KeyMemory:
        """What is remembered of these keys, as a copy."""
        return {
            name: self._table(start)[slots, self.word + at]
            for at, (name, start) in enumerate(self.kind.memory.items())
        }

    def remember(self, slots: Ints, memory: KeyMemory) -> None:
        for at, (name, start) in enumerate(self.kind.memory.items()):
            self._table(start)[slots, self.word + at] = memory[name]

    def new_slots(self, slots: Ints) -> None:
        self.remember(slots, self.kind.blank(len(slots)))
