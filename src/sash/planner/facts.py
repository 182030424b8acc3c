"""What a plan depends on, as numbers: the events, how windows cut them, the algebra, and the machine.

    overlap   how many windows hold an event:      W / S
    windows   how many there are:                  over all keys, those that hold events
    panes     how many pieces no window cuts:      of gcd(W, S), or none when the windows are not tiled

Numbers of windows and panes are estimates: they take events to be spread evenly over keys and time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa

from sash.aggregation.monoid import Monoid
from sash.operators.bound_query import BoundQuery, BoundRolling, BoundWhole
from sash.operators.columns.arrow_columns import kind_of_type
from sash.operators.folding.early_panes import Early
from sash.operators.folding.fold_ranges import compiles
from sash.operators.folding.panes import Panes, pane_grid
from sash.operators.windows.windowers import vectorised
from sash.semantics.durations import Duration
from sash.semantics.run_as_engine import EngineWindow, declared_window
from sash.semantics.window import Context, ContextFreeWindow, IntervalWindow, Window
from sash.semantics.windows import SlideByTimeWindow, SlideByTupleWindow

RuntimeName = Literal["process", "process streaming", "spark batch", "spark streaming"]
FactsFrom = Literal["counted", "sampled", "given", "assumed"]

DENSE = 100.0
"""Events of one key in one pane, where neither the number of events nor their span is known."""
FEW = 10.0
"""Events in a window whose ends depend on the data."""


@dataclass(frozen=True)
class EventFacts:
    """What is known of the input."""

    rows: int
    keys: int
    hottest: float
    """The share of the events that the key with the most has."""
    span: int | None = None
    """From the first time to the last; None: not known."""
    known: FactsFrom = "assumed"

    @property
    def each(self) -> float:
        return max(1.0, self.rows / max(1, self.keys))


@dataclass(frozen=True)
class WindowFacts:
    """How one window of the query cuts the events."""

    label: str
    context: Context
    overlap: float
    windows: float
    panes: float | None
    on_columns: bool

    @property
    def overlapping(self) -> bool:
        return self.overlap > 1


@dataclass(frozen=True)
class AggregateFacts:
    """What is known of one aggregate."""

    name: str
    commutative: bool
    invertible: bool
    fields: int
    """Of an element."""
    compiled: bool

    @classmethod
    def of(cls, name: str, monoid: Monoid, bound: BoundQuery) -> AggregateFacts:
        fast = compiles(monoid, bound.schema)
        kinds = tuple(kind_of_type(bound.schema.field(column).type) for column in monoid.columns)
        element = monoid.bind(kinds).identity() if fast else None
        fields = len(element) if isinstance(element, tuple) else 1
        return cls(name, monoid.commutative, monoid.invertible, fields, fast)


@dataclass(frozen=True)
class SparkFold:
    """What Spark's generated code computes, so that rows do not cross to Python."""

    of: Literal["windows", "panes"] | None
    """Whole windows, or panes that Python makes windows of; None: Python gets the rows."""
    why: str


@dataclass(frozen=True)
class OwnWatermark:
    """A watermark that a stream came with, which judges its rows."""

    words: str
    delay: Duration | None
    """How far it is behind the newest time, where that is known."""


@dataclass(frozen=True)
class Facts:
    """All that a plan depends on, but for the constants of the machine."""

    where: RuntimeName
    cores: int
    events: EventFacts
    cuts: tuple[WindowFacts, ...]
    algebra: tuple[AggregateFacts, ...]
    columns: int
    """How many columns are read."""
    whole: Literal["apply", "fold"] | None = None
    """How whole windows are handed to a user's function; None: aggregates."""
    function: float | None = None
    """Seconds that this function takes for a window; None: not known."""
    processes: bool = False
    """Whether what Python computes is shared by worker processes, which pays where its calls take long."""
    early: float | None = None
    """How many panes are left when events are folded before they are arranged; None: they are not, because
    the query forbids it, or because few events share a pane."""

    rolling: bool = False
    """Whether rows are events with look-backs."""

    spark: SparkFold | None = None
    """None where nothing is computed by Spark itself."""

    own_watermark: OwnWatermark | None = None
    """None where the query sets the watermark."""

    @property
    def streaming(self) -> bool:
        """Whether input comes batch after batch, so that the stateful operator runs."""
        return self.where in ("process streaming", "spark streaming")

    @property
    def folded_by_spark(self) -> bool:
        return self.spark is not None and self.spark.of is not None

    @property
    def overlap(self) -> float:
        """How many windows of one kind hold an event, at most."""
        return max((cut.overlap for cut in self.cuts), default=1.0)

    @property
    def decomposable(self) -> bool:
        return self.whole is None and all(cut.panes is not None for cut in self.cuts)

    @classmethod
    def of(
        cls,
        bound: BoundQuery,
        events: EventFacts,
        *,
        where: RuntimeName,
        cores: int,
        function: float | None = None,
    ) -> Facts:
        whole = None
        if isinstance(bound, BoundWhole):
            whole = type(bound.computation).__name__.lower()
        return cls(
            where=where,
            cores=cores,
            events=events,
            cuts=tuple(cut_of(window, events, bound.schema) for window in bound.query.windows),
            algebra=tuple(AggregateFacts.of(name, m, bound) for name, m in bound.aggregates.items()),
            columns=len(bound.columns),
            whole="fold" if whole == "fold" else "apply" if whole else None,
            function=function,
            early=_early(bound, events) if where == "process" else None,
            rolling=isinstance(bound, BoundRolling),
        )


def panes_left(bound: BoundQuery, events: EventFacts) -> float:
    """How many rows are left when those of each key and pane are folded into one."""
    grid = pane_grid(bound)
    if grid is None:
        return float(events.rows)
    length, _ = grid
    return _occupied(events, length, length, per_event=1.0, pane=length)


def with_density(bound: BoundQuery, events: EventFacts, density: float | None) -> EventFacts:
    """The same events, of which so many of one key share a pane; None: that is not known."""
    grid = pane_grid(bound)
    if grid is None or density is None:
        return events
    length, _ = grid
    return replace(events, span=round(events.rows / density * length / max(1, events.keys)))


def _early(bound: BoundQuery, events: EventFacts) -> float | None:
    """As `operators.folding.early_panes` will find it, if events are spread evenly and come in order
    of time: blocks of rows, of which each folds its own part of the panes."""
    how = Early(1)
    panes = Panes.of(bound) if how.considers(bound, events.rows) else None
    if panes is None or events.span is None:
        return None
    blocks = events.rows / how.block
    left = _occupied(events, panes.length, panes.length, per_event=1.0, pane=panes.length)
    left += blocks * events.keys  # both blocks have a part of a pane that begins in one of them
    return left if left * how.gain <= events.rows else None


def cut_of(window: Window, events: EventFacts, schema: pa.Schema) -> WindowFacts:
    """How a window cuts events that are spread evenly.

    >>> from sash.semantics.windows import time
    >>> cut = cut_of(time(10, 4), EventFacts(rows=1000, keys=2, hottest=0.5, span=100), pa.schema([]))
    >>> cut.overlap, cut.windows, cut.panes
    (2.5, 53.5, 100.5)
    """
    overlap, windows, panes = _counts(declared_window(window), events)
    tiled = None if isinstance(window, EngineWindow) else panes
    return WindowFacts(window.label, window.context, overlap, windows, tiled, vectorised(window, schema))


def _counts(window: Window, events: EventFacts) -> tuple[float, float, float | None]:
    """Overlap, windows, panes."""
    rows, keys = float(events.rows), float(max(1, events.keys))
    match window:
        case IntervalWindow():
            overlap, pane = window.overlap, window.pane
            return (
                overlap,
                _occupied(events, window.every, window.shortest, per_event=overlap, pane=pane),
                _occupied(events, pane, pane, per_event=1.0, pane=pane),
            )
        case ContextFreeWindow():  # over positions
            return window.overlap, rows / window.every + keys / 2, rows / window.pane
        case SlideByTupleWindow():
            inside = _events_in(events, window.size)
            return max(1.0, inside / window.slide), rows / window.slide, None
        case SlideByTimeWindow():
            instants = _occupied(events, window.slide, 0, per_event=rows, pane=window.slide)
            return max(1.0, window.size * instants / max(rows, 1.0)), instants, None
    return 1.0, max(1.0, rows / FEW), None


def _occupied(events: EventFacts, every: int, size: int, *, per_event: float, pane: int) -> float:
    """How many of the intervals that start at every `every` hold an event of their key."""
    rows, keys = float(events.rows), float(max(1, events.keys))
    if events.span is None:
        return min(rows * max(per_event, 1.0), max(1.0, rows / DENSE * pane / every))
    return min(rows * max(1.0, per_event), keys * (events.span + max(size - every, 0) + every / 4) / every)


def _events_in(events: EventFacts, length: int) -> float:
    """Events of a key in an interval of this length."""
    if events.span is None:
        return DENSE
    return min(events.each, events.each * length / max(1, events.span))
