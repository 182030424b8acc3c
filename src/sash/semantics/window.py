"""What every window kind is: an identifier w, an extent E(w), and a class.

    windower:  the ordered events of one key  →  ranges [lo, hi), where lo and hi never decrease

The class of a window decides which parallel model may compute it:

- **CF**, context-free: the ends of every window are known before any event has been seen.
- **FCF**, forward-context-free: the ends up to an event are known once that event has been seen.
- **FCA**, forward-context-aware: where a window begins is only known when a later event has been seen.

A `Window` is the declaration: small, frozen, validated, and shipped to executors as it is. A new kind is
one module in `semantics/windows/` and one in `operators/kinds/`, which finds its ranges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import gcd
from typing import Any, ClassVar, Self

from sash.errors import ArgumentError
from sash.semantics.durations import Duration, Unit, whole_number
from sash.semantics.event import Event, Order
from sash.semantics.predicate import Predicate
from sash.semantics.time_format import TimeFormat


class Context(Enum):
    """How much must be known to find the ends of a window."""

    CF = "context-free"
    FCF = "forward-context-free"
    FCA = "forward-context-aware"


@dataclass(frozen=True, slots=True)
class Extent:
    """One window over the ordered events of one key: the events at positions lo ≤ p < hi.

    `start` and `end` are what a reader sees: the interval [start, end) of a window that is defined by time,
    the times of the first and last event of one that is defined by events (None when it holds none).

    `closes_at` is the least watermark at which no expected event can change the window any more. None means
    that it waits for an event which has not arrived; only a flush closes it as it is.
    """

    id: int
    lo: int
    hi: int
    start: int | None
    end: int | None
    closes_at: int | None

    def __len__(self) -> int:
        return self.hi - self.lo


@dataclass(frozen=True, slots=True, repr=False)
class Window(ABC):
    """The part that all kinds share."""

    name: str = field(default="", kw_only=True)

    context: ClassVar[Context]
    orders: ClassVar[frozenset[Order]] = frozenset({Order.EVENT_TIME})
    half_open: ClassVar[bool] = False
    """Whether a window is [start, end), because the clock sets its end; otherwise [start, end]."""
    closed_by_next: ClassVar[bool] = False
    """Whether the first event after a window closes it; otherwise its own last one does, or the clock."""
    over_numbers: ClassVar[bool] = False
    """Whether its `columns` must be numbers."""

    def named(self, name: str) -> Self:
        """The same window under a name that distinguishes it from others in one query."""
        if not isinstance(name, str) or not name:
            raise ArgumentError("name", name, "a non-empty string")
        return replace(self, name=name)

    @property
    def label(self) -> str:
        """The given name, or the formula's own words: what rows and checkpoints have of the window."""
        return self.name or str(self)

    @property
    def written(self) -> str:
        """The call that a user writes for it."""
        return str(self)

    @property
    def shown(self) -> str:
        """For people: the call, with the name that was given to it."""
        return f"{self.name} = {self.written}" if self.name else self.written

    def __repr__(self) -> str:
        named = f"{self.name!r}, " if self.name else ""
        return f"<sash window {named}{self.written}: {self.formula}, {self.context.value}>"

    def _repr_markdown_(self) -> str:
        """For notebooks. All that a user can name is in a block of code, where nothing is markup."""
        title = f"{self.name}: {self.written}" if self.name else self.written
        code = (f"    {' '.join(line.split())}" for line in (title, self.formula))
        return "\n".join([f"**{self.context.value} window**", "", *code])

    @property
    def repeats(self) -> bool:
        """Whether a window can be reported several times by itself, so that reports carry a revision."""
        return False

    @property
    def time_unit(self) -> Unit:
        """What its lengths of time are measured in: its `unit`; EVENTS when it has no such lengths."""
        unit: Unit = getattr(self, "unit", Unit.EVENTS)
        return unit

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that decide which events it holds."""
        return ()

    @property
    def capacity(self) -> Duration | float | None:
        """The most that a window can hold: the events of a length of time, or a number of events (infinite:
        all that have ever come). None: that depends on what comes."""
        return None

    @property
    def meaning(self) -> str:
        """What it holds, in a few plain words; empty: the formula has to do."""
        return ""

    @property
    @abstractmethod
    def formula(self) -> str:
        """E(w) with the numbers filled in, for people."""

    @abstractmethod
    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        """All windows of one key, by increasing identifier, over its events in the query's order.

        `horizon` is the greatest time seen in the whole stream (this key's last event when not given):
        windows that are cut by the clock exist up to there. With `empty`, those without events too.
        """

    def place(self, events: Sequence[Event]) -> tuple[list[Event], list[tuple[Event, str]]]:
        """Split the ordered events into those that have a place, and the others with the reason why not."""
        return list(events), []

    def awaited(self, extent: Extent, events: Sequence[Event]) -> str:
        """What an extent without `closes_at` waits for, in words."""
        return "an event of this key"

    def absence(self, position: int, events: Sequence[Event], reading: TimeFormat) -> str:
        """Why the event at this position is in no window, in words."""
        return "no report has shown it"


@dataclass(frozen=True, slots=True, repr=False)
class ContextFreeWindow(Window):
    """A window whose ends are closed formulas over an axis: event positions, or times."""

    context: ClassVar[Context] = Context.CF

    @abstractmethod
    def extent(self, w: int) -> range:
        """E(w), as the range of positions (or times) that it holds."""

    @abstractmethod
    def mapping(self, x: int) -> range:
        """M(x), the identifiers of the windows that hold position (or time) x: x ∈ E(w) ⟺ w ∈ M(x). Between
        two windows it is the empty range at the next one."""

    @property
    def every(self) -> int:
        """From the end of a window to that of the next."""
        return self.extent(1).stop - self.extent(0).stop

    @property
    def shortest(self) -> int:
        """The length of the shortest windows, of which window 0 is one."""
        return self.extent(0).stop - self.extent(0).start

    @property
    def pane(self) -> int:
        """The length of the longest pieces that no window cuts. A kind whose windows are not all made of
        pieces of this length has its own."""
        return gcd(self.shortest, self.every)

    @property
    def overlap(self) -> float:
        """How many windows hold a position (or time), on average."""
        return self.shortest / self.every


@dataclass(frozen=True, slots=True, repr=False)
class IntervalWindow(ContextFreeWindow):
    """A context-free window over times: the clock cuts it, and the end belongs to the next one."""

    half_open: ClassVar[bool] = True

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        """Those that hold an event, or, with `empty`, all from the first that ends after the first event to
        the last that starts by the horizon."""
        if not events:
            return
        stamps = times(events)
        if empty:
            last = stamps[-1] if horizon is None else max(horizon, stamps[-1])
            ids: Sequence[int] = range(self.mapping(stamps[0]).start, self.mapping(last).stop)
        else:
            ids = sorted({w for stamp in stamps for w in self.mapping(stamp)})
        for w in ids:
            yield self.extent_over(stamps, w)

    def extent_over(self, stamps: Sequence[int], w: int) -> Extent:
        """The window w over events with these times, which never decrease."""
        ends = self.extent(w)
        lo, hi = bisect_left(stamps, ends.start), bisect_left(stamps, ends.stop)
        return Extent(w, lo, hi, ends.start, ends.stop, closes_at=ends.stop)


@dataclass(frozen=True, slots=True, repr=False)
class ContextAwareWindow(Window):
    """A window whose ends depend on the events themselves: extent and mapping need to see them."""

    context: ClassVar[Context] = Context.FCA

    def extent(self, w: int, events: Sequence[Event]) -> range:
        """E(w) over these ordered events, as a range of positions; empty when there is no such window."""
        found = next((extent for extent in self.extents(events, empty=True) if extent.id == w), None)
        return range(found.lo, found.hi) if found else range(0)

    def mapping(self, position: int, events: Sequence[Event]) -> range:
        """M(p): the identifiers of the windows that hold the event at this position. Ends never decrease,
        so they are neighbours."""
        ids = [extent.id for extent in self.extents(events) if extent.lo <= position < extent.hi]
        return range(ids[0], ids[-1] + 1) if ids else range(0)


BOTH_ORDERS = frozenset({Order.EVENT_TIME, Order.ARRIVAL})


@dataclass(frozen=True, slots=True, repr=False)
class PredicateWindow(ContextAwareWindow):
    """A window that a user's predicate over single events cuts. It may read any column."""

    predicate: Predicate

    orders: ClassVar[frozenset[Order]] = BOTH_ORDERS


def times(events: Sequence[Event]) -> list[int]:
    return [event.time for event in events]


def spanned(id: int, events: Sequence[Event], lo: int, hi: int, *, closes_at: int | None) -> Extent:
    """The extent of a window that shows the times of its first and last event."""
    start, end = (events[lo].time, events[hi - 1].time) if lo < hi else (None, None)
    return Extent(id, lo, hi, start, end, closes_at)


def next_cut(position: int, slide: int, count: int) -> str:
    """What an event waits for that the next of the windows cut at every `slide` events could hold, when
    there are `count` events; empty when that one has been cut."""
    more = (position // slide + 1) * slide - count
    return f"waits for {more_events(more)} of this key: then the next window is cut" if more > 0 else ""


def more_events(count: int) -> str:
    return f"{count} more event{'s' * (count != 1)}"


def positive_count(given: Any, argument: str) -> int:
    """A number of events of one or more."""
    number = whole_number(given)
    if number is None or number <= 0:
        raise ArgumentError(argument, given, "a positive whole number of events")
    return number
