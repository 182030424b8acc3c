"""How far the windows of each key have come: what must be remembered once events are gone.

The events of a key are *final* up to the time `settled`: no event that may still come stands before one
of them. A window is final when it closes by then. A progress lists the windows that are not final yet, over
the events that are still held, and then moves on: it says which of the final events no window can need any
more, and remembers, a few numbers a slot, what it would have read off them (how many there were, which
window comes next). Identifiers and extents are those of the definition, as if nothing had been forgotten.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sash.operators.layout import Layout
from sash.operators.ranges import MISSING, Ranges
from sash.semantics.window import Window

Ints = NDArray[np.int64]
AnyWindow = TypeVar("AnyWindow", bound=Window)


@dataclass(frozen=True)
class Moment:
    """What is known when windows are listed."""

    settled: int
    """Up to here events were final when the last list was made."""
    horizon: int
    """How far the stream is known to have come."""
    empty: bool
    """Whether windows without events count."""


class Progress(ABC, Generic[AnyWindow]):
    """Of one window of the query, for all slots."""

    memory: ClassVar[dict[str, int | float]] = {}
    """What is remembered of a slot, and what a new slot begins with."""

    forgets: ClassVar[bool] = False
    """Whether a slot without events needs no memory, so that an idle key can be forgotten."""

    def __init__(self, window: AnyWindow) -> None:
        self.window = window
        self.remembered: dict[str, NDArray[Any]] = {
            name: np.array([], np.float64 if isinstance(start, float) else np.int64)
            for name, start in self.memory.items()
        }

    def add_slots(self, count: int) -> None:
        for name, start in self.memory.items():
            column = self.remembered[name]
            self.remembered[name] = np.append(column, np.full(count, start, column.dtype))

    def keep_slots(self, slots: Ints) -> None:
        for name, column in self.remembered.items():
            self.remembered[name] = column[slots]

    def misfits(self, layout: Layout) -> dict[int, str]:
        """The positions of the events that this window cannot place, and why not."""
        return {}

    @abstractmethod
    def ranges(self, layout: Layout, moment: Moment) -> Ranges:
        """The windows that are not final at `moment.settled`, over the events that are held."""

    @abstractmethod
    def move_on(self, layout: Layout, settled: int) -> Ints:
        """Events are final up to `settled`: how many of each slot, from the oldest, are needed no more."""


def first_or(remembered: Ints, layout: Layout, first: Ints) -> Ints:
    """What is remembered of each slot that has events, or `first` (one for each) when it is nothing yet."""
    own = remembered[layout.sizes > 0]
    return np.where(own == MISSING, first, own)
