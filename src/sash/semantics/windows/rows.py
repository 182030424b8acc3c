"""Windows of rows.

    E(w) = { i : w·S ≤ i < w·S + W },   w = 0, 1, 2, …

Positions i count the events of a key in the query's order, from 0. W = S is tumbling, W > S sliding,
W < S leaves gaps: the events between two windows belong to none. A window closes with its W-th event.

>>> rows(4, every=2).extent(1)
range(2, 6)
>>> rows(4, every=2).mapping(5)
range(1, 3)
>>> rows(2, every=3).mapping(2)
range(1, 1)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sash.semantics.event import Event, Order
from sash.semantics.time_format import TimeFormat
from sash.semantics.window import (
    BOTH_ORDERS,
    ContextFreeWindow,
    Extent,
    more_events,
    positive_count,
    spanned,
)
from sash.wrong_calls import called_as


@dataclass(frozen=True, slots=True, repr=False)
class RowsWindow(ContextFreeWindow):
    """W events, every S events."""

    size: int
    slide: int

    orders: ClassVar[frozenset[Order]] = BOTH_ORDERS

    def __post_init__(self) -> None:
        positive_count(self.size, "size")
        positive_count(self.slide, "every")

    def __str__(self) -> str:
        return f"rows({self.size}, every={self.slide})"

    @property
    def capacity(self) -> int:
        return self.size

    @property
    def meaning(self) -> str:
        every = "with every event" if self.slide == 1 else f"every {self.slide:,} events"
        return f"{self.size:,} event{'s' * (self.size > 1)}, a new window {every}"

    @property
    def formula(self) -> str:
        return f"E(w) = {{ i : w·{self.slide} ≤ i < w·{self.slide} + {self.size} }}, w ≥ 0"

    def extent(self, w: int) -> range:
        return range(w * self.slide, w * self.slide + self.size) if w >= 0 else range(0)

    def mapping(self, x: int) -> range:
        return range(max(0, (x - self.size) // self.slide + 1), x // self.slide + 1)

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        for w in range(self.mapping(len(events) - 1).stop if events else 0):
            ends = self.extent(w)
            lo, hi = min(ends.start, len(events)), min(ends.stop, len(events))
            full = hi - lo == self.size
            yield spanned(w, events, lo, hi, closes_at=events[hi - 1].time if full else None)

    def awaited(self, extent: Extent, events: Sequence[Event]) -> str:
        return f"{more_events(self.size - len(extent))} of this key (it holds {len(extent)})"

    def absence(self, position: int, events: Sequence[Event], reading: TimeFormat) -> str:
        return f"between two windows: of every {self.slide} events the first {self.size} are in one"


@called_as("sash.rows(100, every=10)")
def rows(size: int, every: int | None = None) -> RowsWindow:
    """A window of `size` events of a key, every `every` events (tumbling when not given).

    >>> rows(100, every=10)
    <sash window rows(100, every=10): E(w) = { i : w·10 ≤ i < w·10 + 100 }, w ≥ 0, context-free>
    """
    return RowsWindow(size, size if every is None else every)
