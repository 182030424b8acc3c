"""Threshold windows: maximal runs of events that satisfy a predicate (a data-driven frame).

    E(w) = the w-th maximal run of neighbours e with predicate(e),   w = 0, 1, 2, …

Events that do not satisfy it belong to no window. A run closes with the first event after it that does not.

>>> from sash.semantics.event import sequence
>>> hot = threshold(lambda row: row.celsius > 30)
>>> [(e.lo, e.hi) for e in hot.extents(sequence(range(6), celsius=[20, 31, 35, 29, 40, 41]))]
[(1, 3), (4, 6)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sash.semantics.event import Event
from sash.semantics.predicate import Predicate, holds, require_callable
from sash.semantics.time_format import TimeFormat
from sash.semantics.window import Extent, PredicateWindow, spanned


@dataclass(frozen=True, slots=True, repr=False)
class ThresholdWindow(PredicateWindow):
    """As long as the predicate holds."""

    closed_by_next: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_callable(self.predicate, "predicate", "lambda row: row.price > 100")

    def __str__(self) -> str:
        return "threshold"

    @property
    def meaning(self) -> str:
        return "neighbouring events that satisfy the predicate"

    @property
    def formula(self) -> str:
        return "E(w) = the w-th maximal run of events that satisfy the predicate"

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        inside = [holds(self.predicate, event, owner=str(self)) for event in events]
        w, lo = 0, 0
        for hi in range(len(events) + 1):
            if hi < len(events) and inside[hi]:
                continue
            if lo < hi:
                closes_at = events[hi].time if hi < len(events) else None
                yield spanned(w, events, lo, hi, closes_at=closes_at)
                w += 1
            lo = hi + 1

    def awaited(self, extent: Extent, events: Sequence[Event]) -> str:
        return "an event of this key that does not satisfy the predicate"

    def absence(self, position: int, events: Sequence[Event], reading: TimeFormat) -> str:
        return "it does not satisfy the predicate"


def threshold(predicate: Predicate) -> ThresholdWindow:
    """Runs of events for which `predicate(row)` is true. A predicate of comparisons, `&` and `|` is
    computed on columns; one with `and`, `or` or `if` is called for each event."""
    return ThresholdWindow(predicate)
