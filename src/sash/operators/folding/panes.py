"""Panes: what a query can fold before it knows which windows will close.

    pane length  p  =  gcd of all sizes, slides and distances of origins
    pane of τ       =  ⌊(τ − origin) / p⌋

No window of the query begins or ends inside a pane (Li et al., 'No pane, no gain', 2005), so the events of
one key and pane may be folded into one element as soon as they are seen, in any order: the aggregates must
commute. A pane is then a row again: the key, where it begins, and the elements in place of the events'
columns (see `pane_parts`). `folded` is the query over such rows: its windows are the same, and its
aggregates take elements as they are, so that everything made for events works on panes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery, BoundRolling, BoundWhole
from sash.operators.folding.pane_parts import NumberParts, PaneParts, pane_parts_of, parts_by_name
from sash.semantics.event import Order
from sash.semantics.windows import CumulateWindow, TimeWindow

ClockWindow = TimeWindow | CumulateWindow


@dataclass(frozen=True)
class Panes:
    """A query whose events can be folded by key and pane."""

    bound: BoundQuery
    length: int
    origin: int
    in_order: bool = False
    """Whether the events of a pane come together and in order, and those of its parts never apart."""

    @classmethod
    def of(cls, bound: BoundQuery, *, objects: bool = False, in_order: bool = False) -> Panes | None:
        """None when the query needs its events: for their order, unless they come `in_order`, for their
        position, or a whole window; and where elements are no numbers, unless `objects` may be folded by
        Python, one by one."""
        grid = pane_grid(bound)
        if grid is None:
            return None
        found = [
            pane_parts_of(monoid, bound.schema, in_order=in_order) for monoid in bound.aggregates.values()
        ]
        if not all(isinstance(parts, NumberParts) or (objects and parts is not None) for parts in found):
            return None
        return cls(bound, *grid, in_order)

    @cached_property
    def folded(self) -> BoundQuery:
        """The query over panes instead of events."""
        bound = self.bound
        fields = [bound.schema.field(key) for key in bound.keys]
        fields.append(pa.field(bound.time, bound.bound_type))
        aggregates = {}
        for number, (name, parts) in enumerate(self._parts.items()):
            names = tuple(part_name(number, k) for k in range(len(parts.types)))
            fields += [pa.field(part, type_) for part, type_ in zip(names, parts.types, strict=True)]
            aggregates[name] = parts.over_elements(names, bound.output.field(name).type)
        query = replace(bound.query, aggregates=aggregates)
        return BoundQuery(query, pa.schema(fields), bound.time, bound.keys)

    @property
    def window(self) -> TimeWindow:
        """A pane, as the window that it is: tumbling."""
        return TimeWindow(self.length, self.length, self.origin, clock_windows(self.bound)[0].unit)

    @cached_property
    def parts(self) -> list[pa.Field]:
        """The columns of the elements, all aggregates one after the other."""
        return list(self.folded.schema)[len(self.bound.keys) + 1 :]

    def starts(self, times: Ints) -> Ints:
        starts: Ints = times - (times - self.origin) % self.length
        return starts

    def fold_events(self, rows: pa.Table, codes: Ints, *, groups: int) -> list[pa.Array]:
        folded = []
        for parts in self._parts.values():
            folded += parts.of_events(rows, codes, groups=groups)
        return folded

    def fold_panes(self, elements: pa.Table, codes: Ints, *, groups: int) -> list[pa.Array]:
        folded, at = [], 0
        for parts in self._parts.values():
            read = elements.columns[at : at + len(parts.types)]
            at += len(read)
            folded += parts.of_panes(read, codes, groups=groups)
        return folded

    @cached_property
    def _parts(self) -> dict[str, PaneParts]:
        return parts_by_name(self.bound, in_order=self.in_order)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("bound", "length", "origin", "in_order")}


def part_name(aggregate: int, part: int) -> str:
    """The column of a pane that has a part of the element of an aggregate, both by number."""
    return f"__pane {aggregate} {part}"


def clock_windows(bound: BoundQuery) -> tuple[ClockWindow, ...]:
    """The windows of a query if the clock cuts all of them, otherwise none."""
    windows = tuple(window for window in bound.query.windows if isinstance(window, ClockWindow))
    return windows if len(windows) == len(bound.query.windows) else ()


def pane_grid(bound: BoundQuery) -> tuple[int, int] | None:
    """How long panes are, and where one of them begins; None when the query needs its events in order, or
    whole windows, or has windows that the clock does not cut."""
    windows = clock_windows(bound)
    needs_events = isinstance(bound, BoundWhole | BoundRolling) or bound.query.order is Order.ARRIVAL
    if needs_events or not windows:
        return None
    origin = windows[0].origin
    lengths = [part for window in windows for part in (window.pane, window.origin - origin)]
    length = math.gcd(*lengths)
    return length, origin % length


def group_by(slots: Ints, starts: Ints) -> tuple[Ints, Ints]:
    """A dense code for each pair of slot and start, and one row of each group.

    >>> codes, rows = group_by(np.array([0, 1, 0, 0]), np.array([5, 5, 5, 10]))
    >>> codes.tolist(), rows.tolist()
    ([0, 2, 0, 1], [2, 3, 1])
    """
    if not len(slots):
        return slots, slots
    distinct, cell = _numbered(starts)
    pairs = slots * distinct + cell
    groups, codes = _numbered(pairs)
    rows = np.empty(groups, np.int64)
    rows[codes] = np.arange(len(codes))
    return codes, rows


def _numbered(values: Ints) -> tuple[int, Ints]:
    """How many distinct values there are, and the rank of each among them; without sorting if they lie
    close together."""
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values):
        distinct, ranks = np.unique(values, return_inverse=True)
        return len(distinct), ranks
    seen = np.zeros(high - low + 1, np.int64)
    seen[values - low] = 1
    ranks = np.cumsum(seen) - 1
    return int(ranks[-1]) + 1, ranks[values - low]


__all__ = ["ClockWindow", "Panes", "clock_windows", "group_by", "pane_grid"]
