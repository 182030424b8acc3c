"""Kinds that look at all held events of the keys at hand, as a layout: where no kernel has a closed form.

Their cost grows with what those keys hold, and with nothing else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from sash.operators.kinds.kind import Held, Ints, Memory, Moment, RangeKind
from sash.operators.kinds.progress import Progress
from sash.operators.layout import Layout
from sash.operators.ranges import Ranges
from sash.semantics.window import Window


class LayoutKind(RangeKind[Any]):
    """A `Progress` over the held events; its memory is that of the progress."""

    def __init__(self, window: Window, schema: pa.Schema, progress: Progress[Any]) -> None:
        super().__init__(window, schema)
        self._progress = progress
        self.memory = progress.memory  # type: ignore[misc]

    def ranges(self, held: Held, memory: Memory, moment: Moment) -> Ranges:
        layout = self._ready(held, memory)
        return to_ordinals(self._progress.ranges(layout, moment), layout, held.head)

    def advance(self, held: Held, memory: Memory, settled: int) -> Ints:
        gone = self._progress.move_on(self._ready(held, memory), settled)
        for name, column in self._progress.remembered.items():
            memory[name][:] = column
        return held.head + gone

    def wakes(self, times: Ints) -> Ints:
        return times

    def _ready(self, held: Held, memory: Memory) -> Layout:
        self._progress.remembered = {name: column.copy() for name, column in memory.items()}
        assert held.gather is not None
        return held.gather()


def to_ordinals(ranges: Ranges, layout: Layout, head: Ints) -> Ranges:
    """Ranges of positions in a layout of what is held, as ranges of ordinals."""
    moved = head[ranges.slot] - layout.offsets[ranges.slot]
    return replace(ranges, lo=ranges.lo + moved, hi=ranges.hi + moved)
