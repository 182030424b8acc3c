"""Panes: what a query can fold before it knows which windows will close.

    pane length  p  =  gcd of all sizes, slides and distances of origins
    pane of τ       =  ⌊(τ − origin) / p⌋

No window of the query begins or ends inside a pane (Li et al., 'No pane, no gain', 2005), so the events of
one key and pane may be folded into one element as soon as they are seen, in any order: the aggregates must
commute, and their elements must fit columns. A pane is then a row again: the key, where it begins, and the
elements in place of the events' columns. `folded` is the query over such rows: its windows are the same,
and its aggregates take elements as they are, so that everything made for events works on panes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.compiler.compiled import Compiled, compiled
from sash.aggregation.kernels.folds.group_fold import group_fold
from sash.aggregation.monoid import Kind, Monoid
from sash.arrays import Array, Ints, Mask
from sash.operators.bound import BoundQuery, BoundRolling, BoundWhole
from sash.operators.columns.arrow_columns import kind_of, to_numpy
from sash.operators.folding.lifting import inputs_of
from sash.semantics.event import Order
from sash.semantics.windows import CumulateWindow, TimeWindow

Elements = tuple[tuple[Array, ...], Mask | None]
"""Of one aggregate: a column per field, and which rows hold any element (None: all)."""

ClockWindow = TimeWindow | CumulateWindow


@dataclass(frozen=True)
class Panes:
    """A query whose events can be folded by key and pane."""

    bound: BoundQuery
    length: int
    origin: int

    @classmethod
    def of(cls, bound: BoundQuery) -> Panes | None:
        """None when the query needs its events: for their order, their position, or a whole window."""
        grid = pane_grid(bound)
        if grid is None:
            return None
        if not all(_folds(monoid, _kinds(bound, monoid)) for monoid in bound.aggregates.values()):
            return None
        return cls(bound, *grid)

    @cached_property
    def folded(self) -> BoundQuery:
        """The query over panes instead of events."""
        bound = self.bound
        fields = [bound.schema.field(key) for key in bound.keys]
        fields.append(pa.field(bound.time, bound.bound_type))
        aggregates = {}
        for number, (name, machine) in enumerate(self._machines.items()):
            parts = [part_name(number, k) for k in range(len(machine.dtypes))]
            pairs = zip(parts, machine.dtypes, strict=True)
            fields += [pa.field(part, pa.from_numpy_dtype(dtype)) for part, dtype in pairs]
            aggregates[name] = _over_elements(machine, parts, bound.output.field(name).type)
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
        for name, machine in self._machines.items():
            inputs, valid = inputs_of(self.bound.aggregates[name], rows)
            lifted = machine.lift(inputs, valid=valid, n=rows.num_rows)
            folded += _fold(machine, (lifted, valid), codes, groups)
        return folded

    def fold_panes(self, elements: pa.Table, codes: Ints, *, groups: int) -> list[pa.Array]:
        folded, at = [], 0
        for machine in self._machines.values():
            read = [to_numpy(elements.column(at + k)) for k in range(len(machine.dtypes))]
            at += len(read)
            columns, valid = tuple(values for values, _ in read), read[0][1]
            if valid is not None:
                nothing = machine.shape.identity
                pairs = zip(columns, nothing, strict=True)
                columns = tuple(np.where(valid, values, blank) for values, blank in pairs)
            folded += _fold(machine, (columns, valid), codes, groups)
        return folded

    @cached_property
    def _machines(self) -> dict[str, Compiled]:
        return {
            name: compiled(monoid.bind(_kinds(self.bound, monoid)))
            for name, monoid in self.bound.aggregates.items()
        }

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("bound", "length", "origin")}


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
    lengths = [part for window in windows for part in (*_lengths(window), window.origin - origin)]
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


def _lengths(window: ClockWindow) -> tuple[int, int]:
    return (window.size, window.slide if isinstance(window, TimeWindow) else window.step)


def _kinds(bound: BoundQuery, monoid: Monoid) -> tuple[Kind, ...]:
    return tuple(kind_of(bound.schema.field(column).type) for column in monoid.columns)


def _folds(monoid: Monoid, kinds: tuple[Kind, ...]) -> bool:
    if not monoid.commutative or "object" in kinds:
        return False
    typed = monoid.bind(kinds)
    if not typed.columnar or type(typed.identity()) not in (bool, int, float, tuple):
        return False
    return compiled(typed).mode != "interpreted" and len(compiled(typed).dtypes) in _LIFTS


def _fold(machine: Compiled, elements: Elements, codes: Ints, groups: int) -> list[pa.Array]:
    columns, valid = elements
    folds = group_fold(machine, columns, codes, groups=groups)
    blank = None
    if valid is not None:
        blank = np.ones(groups, np.bool_)
        blank[codes[valid]] = False
    return [pa.array(fold, mask=blank) for fold in folds]


def _over_elements(machine: Compiled, parts: list[str], result: pa.DataType) -> Monoid:
    """The aggregate again, for columns that hold its elements; these are of rows that count."""
    return replace(
        machine.monoid,
        columns=tuple(parts),
        lift=_LIFTS[0 if machine.shape.scalar else len(parts)],
        specialise=None,
        plain=None,
        where=None,
        unbound=None,
        sql=None,
        result=_Always(result),
    )


@dataclass(frozen=True)
class _Always:
    """A result type that does not depend on the columns; equal ones make equal monoids."""

    type_: pa.DataType

    def __call__(self, types: tuple[pa.DataType, ...]) -> pa.DataType:
        return self.type_


def _scalar(a: Any) -> Any:
    return a


def _one(a: Any) -> Any:
    return (a,)


def _two(a: Any, b: Any) -> Any:
    return (a, b)


def _three(a: Any, b: Any, c: Any) -> Any:
    return (a, b, c)


def _four(a: Any, b: Any, c: Any, d: Any) -> Any:
    return (a, b, c, d)


def _five(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
    return (a, b, c, d, e)


def _six(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    return (a, b, c, d, e, f)


def _seven(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any) -> Any:
    return (a, b, c, d, e, f, g)


def _eight(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    return (a, b, c, d, e, f, g, h)


# Written out, because a compiled kernel is kept on disk under the text of its functions.
_LIFTS: dict[int, Callable[..., Any]] = dict(
    enumerate((_scalar, _one, _two, _three, _four, _five, _six, _seven, _eight))
)

__all__ = ["ClockWindow", "Panes", "clock_windows", "group_by", "pane_grid"]
