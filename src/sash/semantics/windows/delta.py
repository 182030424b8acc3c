"""Delta windows: sized and moved by an attribute δ of the events instead of by time.

    the first event is trigger r₀; the next trigger is the first event with δ − δ(last trigger) > S
    E(w) = { δ_r − W ≤ δ < δ_r }  for the w-th trigger r        (closed="right": δ_r − W ≤ δ ≤ δ_r)

δ must not decrease in the query's order (an odometer, a cumulated volume, a sequence number): otherwise an
extent would not be a run of events. An event whose δ is null, NaN or below its predecessors' has no place
and goes to the late output with that reason. Events after the last trigger, and between two extents when
W < S, belong to no window. The first window is empty when closed on the left: nothing lies below δ_{r₀}.

>>> from sash.semantics.event import sequence
>>> ride = sequence(range(6), km=[0, 2, 5, 6, 11, 12])
>>> [(e.id, e.lo, e.hi) for e in delta("km", 5, 4).extents(ride, empty=True)]
[(0, 0, 0), (1, 0, 2), (2, 3, 4)]
>>> [(e.id, e.lo, e.hi) for e in delta("km", 5, 4, closed="right").extents(ride)]
[(0, 0, 1), (1, 0, 3), (2, 3, 5)]
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, ClassVar, Literal

from sash.errors import ArgumentError, DataError
from sash.semantics.event import Event, Order
from sash.semantics.time_format import TimeFormat
from sash.semantics.window import BOTH_ORDERS, ContextAwareWindow, Extent, spanned


@dataclass(frozen=True, slots=True, repr=False)
class DeltaWindow(ContextAwareWindow):
    """The last W of δ, whenever δ has grown by more than S."""

    attribute: str
    size: float
    slide: float
    closed: Literal["left", "right"]

    orders: ClassVar[frozenset[Order]] = BOTH_ORDERS
    closed_by_next: ClassVar[bool] = True
    over_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.attribute, str) or not self.attribute:
            raise ArgumentError("attribute", self.attribute, "the name of a numeric column")
        for argument, given in (("size", self.size), ("every", self.slide)):
            if not isinstance(given, Real) or isinstance(given, bool) or not 0 < given < math.inf:
                raise ArgumentError(argument, given, "a positive, finite number, in the attribute's unit")
        if self.closed not in ("left", "right"):
            raise ArgumentError("closed", self.closed, "'left' or 'right'")

    def __str__(self) -> str:
        closed = ", closed='right'" if self.closed == "right" else ""
        return f"delta({self.attribute!r}, {self.size}, {self.slide}{closed})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.attribute,)

    @property
    def meaning(self) -> str:
        return (
            f"the last {self.size:,} of {self.attribute}, whenever it has grown by more than {self.slide:,}"
        )

    @property
    def formula(self) -> str:
        near = "≤" if self.closed == "right" else "<"
        return (
            f"E(w) = {{ δ_r − {self.size} ≤ δ {near} δ_r }}, δ = {self.attribute}, "
            f"r: first event with δ − δ(last trigger) > {self.slide}"
        )

    def place(self, events: Sequence[Event]) -> tuple[list[Event], list[tuple[Event, str]]]:
        placed: list[Event] = []
        displaced: list[tuple[Event, str]] = []
        for event in events:
            value = event.row[self.attribute]
            if not is_number(value):
                displaced.append((event, f"{self.attribute} is not a number"))
            elif placed and value < placed[-1].values[self.attribute]:
                displaced.append((event, f"{self.attribute} decreased"))
            else:
                placed.append(event)
        return placed, displaced

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        if self.place(events)[1]:
            raise DataError(f"{self} needs events whose {self.attribute} is a number and never decreases")
        deltas = [event.row[self.attribute] for event in events]
        for w, trigger in enumerate(_triggers(deltas, self.slide)):
            at = deltas[trigger]
            if self.closed == "left":
                hi, closer = bisect_left(deltas, at), trigger
            else:
                hi = closer = bisect_right(deltas, at)
            # Up to hi: in floats, δ_r − W of a great integer δ_r may be above δ_r.
            lo = bisect_left(deltas, at - like(at, self.size), 0, hi)
            if lo < hi or empty:
                closes_at = events[closer].time if closer < len(events) else None
                yield spanned(w, events, lo, hi, closes_at=closes_at)

    def awaited(self, extent: Extent, events: Sequence[Event]) -> str:
        reached = events[extent.hi - 1].values[self.attribute]
        return f"an event of this key whose {self.attribute} is above {reached}"

    def absence(self, position: int, events: Sequence[Event], reading: TimeFormat) -> str:
        return (
            f"no trigger has looked back at it: one is the first event whose {self.attribute} is "
            f"more than {self.slide} above the last trigger's, and looks {self.size} back"
        )


def _triggers(deltas: Sequence[float], slide: float) -> Iterator[int]:
    last = None
    for position, value in enumerate(deltas):
        if last is None or value - last > like(value, slide):
            last = value
            yield position


def is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool) and not math.isnan(value)


def like(value: Any, length: float) -> Any:
    """`length` as something that can be added to `value`: Python does not mix decimals and floats."""
    return Decimal(str(length)) if isinstance(value, Decimal) else length


def delta(
    attribute: str, size: float, every: float, *, closed: Literal["left", "right"] = "left"
) -> DeltaWindow:
    """At each event whose attribute has grown by more than `every`: the events whose attribute is at most
    `size` below it."""
    return DeltaWindow(attribute, size, every, closed)
