"""Count windows of a static DataFrame as clock windows whose time is the position of an event.

    rows(W, every=S) over events     =     time(W, S) over positions, of which those with w ≥ 0
    position of an event             =     events of its key in earlier cells + its rank inside its cell

A cell is a stretch of time: the time from the first event to the last is cut into many of equal length.
Events are counted by key and cell, where they lie; the counts of a key are added up in the order of cells;
ranks are found cell by cell. So no task has all events of a key, however hot it is. Then panes, and workers
that share a key, do with positions what they do with time.

On a stream there is no such position: a count window is full when its W-th event is final, and until then
an earlier event may come and move all that follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window as Over, functions as F

from sash.aggregation import built_in
from sash.operators.bound_query import WINDOW, BoundQuery, BoundWhole
from sash.operators.folding.whole_windows import WholeWindow
from sash.runtimes.spark.packing.columns import quoted
from sash.semantics.durations import Unit
from sash.semantics.event import Order
from sash.semantics.query import NO_TIME
from sash.semantics.windows import RowsWindow, TimeWindow

POSITION, CELL, BEFORE, COUNT, FIRST = (
    "__sash_position", "__sash_cell", "__sash_before", "__sash_count", "__sash_first"
)  # fmt: skip
START, END = "__sash_start", "__sash_end"
CELLS = 16
"""For each task that runs at a time."""


@dataclass(frozen=True)
class Positions:
    """A query of count windows, and the one over positions that answers it."""

    bound: BoundQuery
    inner: BoundQuery

    stage = "number the events of each key: count them by cells of time, rank them in each"

    @classmethod
    def of(cls, bound: BoundQuery) -> Positions | None:
        """None where windows do not count, or one is reported more than once, or only if it is full."""
        query = bound.query
        counts = all(isinstance(window, RowsWindow) for window in query.windows)
        timed = any(monoid.timed for monoid in bound.aggregates.values())
        once = query.flush and not query.revises and not query.takes_late
        if not counts or timed or not once or query.order is not Order.EVENT_TIME or not _has_zone(bound):
            return None
        windows = tuple(
            TimeWindow(window.size, window.slide, 0, Unit.TICKS).named(window.label)
            for window in query.windows
            if isinstance(window, RowsWindow)
        )
        query = replace(query, windows=windows, delay=NO_TIME, forget_after=NO_TIME, empty=False)
        schema = bound.schema.append(pa.field(POSITION, pa.int64()))
        if isinstance(bound, BoundWhole):
            computed = BetweenEnds(bound.computation, bound.schema.field(bound.time))
            return cls(bound, BoundWhole(query, schema, POSITION, bound.keys, computed))
        if type(bound) is not BoundQuery:
            return None
        ends = {START: built_in.min(bound.time), END: built_in.max(bound.time)}
        query = replace(query, aggregates={**bound.aggregates, **ends})
        return cls(bound, BoundQuery(query, schema, POSITION, bound.keys))

    def numbered(self, df: DataFrame, *, cells: int) -> DataFrame:
        """The rows that have a time, each with its position."""
        keys, time = [F.col(quoted(key)) for key in self.bound.keys], F.col(quoted(self.bound.time))
        rows = df.filter(time.isNotNull()).withColumn(FIRST, F.monotonically_increasing_id())
        ends = df.agg(F.min(time).alias(START), F.max(time).alias(END))
        rows = rows.crossJoin(F.broadcast(ends)).withColumn(CELL, self._cell(time, cells)).drop(START, END)
        counts = rows.groupBy(*keys, CELL).agg(F.count(F.lit(1)).alias(COUNT))
        earlier = Over.partitionBy(*keys).orderBy(CELL).rowsBetween(Over.unboundedPreceding, -1)
        before = counts.select(
            *(key.alias(f"{CELL}{at}") for at, key in enumerate(keys)),
            F.col(CELL).alias(f"{CELL}_of"),
            F.coalesce(F.sum(COUNT).over(earlier), F.lit(0)).alias(BEFORE),
        )
        same = F.col(CELL) == F.col(f"{CELL}_of")
        for at, key in enumerate(keys):
            same &= key.eqNullSafe(F.col(f"{CELL}{at}"))
        inside = Over.partitionBy(*keys, CELL).orderBy(time, FIRST)
        position = (F.col(BEFORE) + F.row_number().over(inside) - 1).cast("long")
        joined = rows.join(before, same).withColumn(POSITION, position)
        return joined.select(*(F.col(quoted(name)) for name in df.columns), POSITION)

    def _cell(self, time: Column, cells: int) -> Column:
        """Equal times are in one cell, and later ones in no earlier cell."""
        time, start, end = (part.cast("double") for part in (time, F.col(START), F.col(END)))
        span = F.greatest(end - start, F.lit(1e-6))
        return F.floor((time - start) / span * (cells - 1)).cast("long")

    def reports(self, found: DataFrame) -> DataFrame:
        """Reports over positions → reports over events: a window begins with its first event."""
        window = quoted(WINDOW)
        parts = ["name"] if self.bound.several_windows else []
        shown = F.struct(
            *(F.col(f"{window}.{part}") for part in (*parts, "id")),
            self._bound(START).alias("start"), self._bound(END).alias("end"),
        )  # fmt: skip
        names = (name for name in self.bound.output.names if name != WINDOW)
        columns = {name: F.col(quoted(name)) for name in names} | {WINDOW: shown.alias(WINDOW)}
        kept = found.filter(f"{window}.id >= 0")
        return kept.select(*(columns[name] for name in self.bound.output.names))

    def _bound(self, name: str) -> Column:
        ticks = pa.types.is_integer(self.bound.time_type)
        return F.col(name).cast("long") if ticks else F.col(name)


@dataclass(frozen=True)
class BetweenEnds:
    """A function over whole windows, and the times of the first and the last event: a `WholeWindow`."""

    computation: WholeWindow
    time: pa.Field

    @property
    def schema(self) -> pa.Schema:
        ends = (pa.field(name, self.time.type) for name in (START, END))
        return pa.schema([*self.computation.schema, *ends])

    def rows(self, events: pa.Table) -> list[Mapping[str, Any]]:
        times = events[self.time.name]
        ends = {START: times[0].as_py(), END: times[-1].as_py()}
        found = self.computation.rows(events.drop_columns(POSITION))
        return [{**row, **ends} for row in found]


def _has_zone(bound: BoundQuery) -> bool:
    """Times without a zone would be compared in that of the session, where clocks are set back."""
    type_ = bound.time_type
    return not pa.types.is_timestamp(type_) or type_.tz is not None
