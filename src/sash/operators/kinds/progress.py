"""How far the windows of each key have come, for kinds that look at all held events: see `by_layout`.

A progress lists the windows that are not final yet, over the events that are still held, and then moves
on: it returns which of the final events no window can need any more, and remembers, a few numbers per key,
what it would have read off them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

from sash.arrays import Array, Ints
from sash.operators.columns.layout import Layout
from sash.operators.kinds.kind import Moment
from sash.operators.windows.ranges import Ranges
from sash.semantics.window import Window

AnyWindow = TypeVar("AnyWindow", bound=Window)


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
