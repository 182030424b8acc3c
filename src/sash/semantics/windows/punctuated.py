"""Punctuated windows: events of the stream mark where they end.

    E(w) = the events after the w-th punctuation, up to and with the next one,   w = 0, 1, 2, …

A punctuation is an event that satisfies the predicate. It is the last event of the window that it closes,
so every event belongs to exactly one window; the first window begins with the first event.

>>> from sash.semantics.event import sequence
>>> orders = punctuated(lambda row: row.kind == "checkout")
>>> clicks = sequence(range(5), kind=["view", "view", "checkout", "view", "checkout"])
>>> [(e.lo, e.hi) for e in orders.extents(clicks)]
[(0, 3), (3, 5)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sash.semantics.event import Event
from sash.semantics.predicate import Predicate, holds, require_callable
from sash.semantics.window import Extent, PredicateWindow, spanned


@dataclass(frozen=True, slots=True, repr=False)
class PunctuatedWindow(PredicateWindow):
    """From one punctuation to the next."""

    def __post_init__(self) -> None:
        require_callable(self.predicate, "predicate", "lambda row: row.kind == 'checkout'")

    def __str__(self) -> str:
        return "punctuated"

    @property
    def meaning(self) -> str:
        return "the events up to and with the next punctuation"

    @property
    def formula(self) -> str:
        return "E(w) = the events after the w-th punctuation, up to and with the next one"

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        w, lo = 0, 0
        for hi, event in enumerate(events, start=1):
            if holds(self.predicate, event, owner=str(self)):
                yield spanned(w, events, lo, hi, closes_at=event.time)
                w, lo = w + 1, hi
        if lo < len(events):
            yield spanned(w, events, lo, len(events), closes_at=None)

    def awaited(self, extent: Extent, events: Sequence[Event]) -> str:
        return "the next punctuation of this key"


def punctuated(predicate: Predicate) -> PunctuatedWindow:
    """Windows that end with an event for which `predicate(row)` is true. A predicate of comparisons, `&`
    and `|` is computed on columns; one with `and`, `or` or `if` is called for each event."""
    return PunctuatedWindow(predicate)
