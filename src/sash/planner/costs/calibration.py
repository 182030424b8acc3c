"""Measure the constants of the cost model in this process: about a second, once per machine.

Each constant is the time of the code that it stands for, over a generated batch, divided by how often it
was done. Times are of this thread's processor, not of the clock on the wall, so that other work on the
machine changes little; the best of several rounds counts. What only shows between threads or processes
(`apart`, `start`, `handing`) and what a user's function takes (`function`) keep their defaults.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregation.built_in import collect, correlation, count
from sash.aggregation.monoid import Monoid
from sash.operators.answer import report_table
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.freed_memory import keep_freed_memory
from sash.operators.columns.layout import Layout, arrange
from sash.operators.folding.early_panes import folded_block
from sash.operators.folding.fold_ranges import folder_of
from sash.operators.folding.panes import Panes
from sash.operators.folding.values import Values, values_over
from sash.operators.patterns import thread_pool
from sash.operators.patterns.pane_farm import PaneRanges
from sash.operators.patterns.window_share import WindowShare
from sash.operators.windows.ranges import Ranges
from sash.operators.windows.windowers import window_ranges
from sash.planner.costs.constants import ProcessCosts
from sash.semantics.event import Order
from sash.semantics.query import Query
from sash.semantics.window import Window
from sash.semantics.windows import rows, threshold, tumbling

EVENTS = 2**18
FEW = 2**12
"""Events for what is interpreted."""
KEYS = 64
ROUNDS = 5
SIX = 6
"""The fields of an element of `correlation`, which stands for all that is compiled."""


def calibrated(defaults: ProcessCosts) -> ProcessCosts:
    """The constants of this machine, as far as one thread can measure."""
    keep_freed_memory()
    events = _events(EVENTS)
    times, ordinals = events["t"].to_numpy(), np.arange(EVENTS)
    layout = _arranged(events, times, ordinals)
    few, many = _Windows(layout, 2**10), _Windows(layout, 4)
    folded = correlation("x", "y")
    long, short = few.folding(folded), many.folding(folded)
    copied = np.arange(EVENTS) % 2 == 0
    return replace(
        defaults,
        arrange=(_spent(lambda: _arranged(events, times, ordinals)) + _spent(few.ranges_anew)) / EVENTS,
        definition=_by_definition() / FEW,
        cut=_more(many, few, _Windows.ranges_anew),
        report=_more(many, few, _Windows.reported),
        lift=_spent(long.lift) / (EVENTS * SIX),
        combine=_spent(long.fold) / (EVENTS * (SIX + 1)),
        range=_more(many, few, lambda windows: (short if windows is many else long).fold()),
        lower=_spent(short.lower) / (len(many.ranges) * SIX),
        interpreted=_interpreted() / FEW,
        copy=_spent(lambda: layout.where(copied)) / (EVENTS / 2 * events.num_columns),
        place=_spent(lambda: few.placed(events, times)) / EVENTS,
        position=_spent(few.panes) / EVENTS,
        pane=_more(many, few, _Windows.panes) / 2,  # here there are as many panes as windows
        job=_job(),
        call=_spent(_Folding(folded, events.slice(0, 8), few.ranges.take(np.empty(0, np.int64))).all),
    )


class _Windows:
    """Tumbling windows of so many events over a layout, and what is done with them."""

    def __init__(self, layout: Layout, each: int) -> None:
        self.layout, self.window = layout, tumbling(each * KEYS)
        self.bound = _bound(self.window, layout.rows.schema, {"n": count()})
        self.ranges = self.ranges_anew()
        self.share = WindowShare.whole(self.bound, self.window, layout, self.ranges)
        self.values: Values = values_over(self.bound, layout.rows, self.ranges)
        self.keys = layout.rows.select(["k"]).take(pa.array(layout.firsts))

    def ranges_anew(self) -> Ranges:
        return window_ranges(self.window, self.layout, horizon=EVENTS)

    def panes(self) -> PaneRanges:
        return PaneRanges.of(self.share)

    def placed(self, events: pa.Table, times: Any) -> None:
        """Into panes as they stand; the aggregate is a count, which costs next to nothing."""
        panes = Panes.of(self.bound)
        assert panes is not None
        folded_block(panes, events, times)

    def reported(self) -> pa.Table:
        rows = report_table(self.bound, self.window, self.ranges, self.values, keys=self.keys)
        return self.bound.ordered(rows)

    def folding(self, monoid: Monoid) -> _Folding:
        return _Folding(monoid, self.layout.rows, self.ranges)


class _Folding:
    """The three steps of one aggregate."""

    def __init__(self, monoid: Monoid, rows: pa.Table, ranges: Ranges) -> None:
        self.rows, self.ranges = rows, ranges
        self.folder = folder_of(monoid, rows.schema)
        self.groups = ranges.groups
        self.elements = self.lift()
        self.folds = self.fold()

    def lift(self) -> Any:
        return self.folder.lift(self.rows)

    def fold(self) -> Any:
        return self.folder.fold(self.elements, self.ranges.lo, self.ranges.hi, groups=self.groups)

    def lower(self) -> Any:
        return self.folder.lower(self.folds, pa.float64())

    def all(self) -> None:
        self.lift()
        self.fold()
        self.lower()


def _more(many: _Windows, few: _Windows, work: Callable[[_Windows], object]) -> float:
    """What a window more costs, when the events are the same."""
    difference = _spent(lambda: work(many)) - _spent(lambda: work(few))
    return max(1.0, difference / (len(many.ranges) - len(few.ranges)))


def _events(number: int) -> pa.Table:
    random = np.random.default_rng(1)
    columns = {name: random.normal(size=number) for name in "xy"}
    return pa.table({"t": np.arange(number), "k": random.integers(0, KEYS, number), **columns})


def _arranged(events: pa.Table, times: Any, ordinals: Any) -> Layout:
    return arrange(events, ["k"], times, ordinals, Order.EVENT_TIME)


def _bound(window: Window, schema: pa.Schema, aggregates: dict[str, Monoid]) -> BoundQuery:
    return BoundQuery(Query((window,), aggregates), schema, "t", ("k",))


def _by_definition() -> float:
    events = _events(FEW)
    layout = _arranged(events, events["t"].to_numpy(), np.arange(FEW))
    window = threshold(lambda row: row.x > 0 and True)  # `and` has no tree: it is called for each row
    return _spent(lambda: window_ranges(window, layout, horizon=FEW))


def _interpreted() -> float:
    """Of a lift, a combine and a lower each, over windows of four events: two calls per event."""
    events = _events(FEW)
    layout = _arranged(events, events["t"].to_numpy(), np.arange(FEW))
    ranges = window_ranges(rows(4), layout, horizon=FEW)
    bound = _bound(rows(4), layout.rows.schema, {"held": collect("x")})
    return _spent(lambda: values_over(bound, layout.rows, ranges)) / 2


def _job() -> float:
    """Two jobs for two threads; on the wall, because they mostly wait."""
    nothing = Values(np.empty(0, np.int64), pa.table({}))
    times = []
    for _ in range(4 * ROUNDS):
        begin = time.perf_counter_ns()
        thread_pool.run(
            [thread_pool.one_stage(lambda: nothing), thread_pool.one_stage(lambda: nothing)], workers=2
        )
        times.append(time.perf_counter_ns() - begin)
    return min(times) / 2


def _spent(work: Callable[[], object]) -> float:
    """Nanoseconds of this thread's processor, in the best of several rounds."""
    work()
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.thread_time_ns()
        work()
        best = min(best, time.thread_time_ns() - begin)
    return best
