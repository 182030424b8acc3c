"""One turn of the operator: the watermark has moved, or events have come, and some keys have work to do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import pyarrow as pa

from sash.arrays import Ints, Mask
from sash.operators.engine.due_reports import closed
from sash.operators.engine.pending_events import Events
from sash.operators.engine.window_in_state import Track
from sash.operators.folding.values import Values
from sash.operators.kinds.kind_base import Moment
from sash.operators.windows.ranges import NEVER, Ranges
from sash.semantics.event import Order


@dataclass(frozen=True)
class Turn:
    """What is known in one turn; all groups of windows see the same."""

    slots: Ints
    """The keys that have work to do."""
    final: Events
    """Events of these keys that have become final, ordered."""
    open: Events
    """Those that are not: only for queries that report, and correct, windows that are not final."""
    now: int
    settled_before: int
    settled: int
    horizon: int
    empty: bool
    flush: bool
    corrects: bool

    @property
    def moment(self) -> Moment:
        """All windows that are not final, or only those that close now, if no others can be due."""
        until = NEVER if self.corrects or self.flush else self.now
        return Moment(self.settled_before, self.horizon, self.empty, until)

    @cached_property
    def events(self) -> Events:
        """Final and open, ordered: of a key all that are final come first."""
        return self.final.plus(self.open).ordered(Order.EVENT_TIME) if len(self.open) else self.final

    def closed(self, ranges: Ranges) -> Mask:
        return closed(ranges, now=self.now, flush=self.flush)


class Windows(Protocol):
    """What is known of the windows of a group in a turn; slots of ranges index the turn's."""

    def values(self, ranges: Ranges) -> Values:
        """What the query computes over these windows."""
        ...

    def content(self, ranges: Ranges) -> tuple[Ints, Ints]:
        """A number for the set of events in each window, and how many they are."""
        ...

    def rows(self, ranges: Ranges) -> tuple[pa.Table, Ranges]:
        """The events of these windows, and the windows as ranges of their positions."""
        ...


class Emitter(Protocol):
    """Where a group sends what it finds."""

    def windows(self, turn: Turn, track: Track, ranges: Ranges, windows: Windows) -> None:
        """The windows that are not final (or those that close now)."""
        ...

    def displaced(self, turn: Turn, track: Track, events: Events, reasons: dict[int, str]) -> None:
        """Events that have no place in such windows."""
        ...
