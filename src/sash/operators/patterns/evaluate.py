"""A pattern as an evaluator: cut the windows into shares, run the shares, put the values in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pyarrow as pa

from sash.errors import Unsupported
from sash.operators.bound_query import BoundQuery, BoundWhole
from sash.operators.columns.layout import Layout
from sash.operators.folding.fold_ranges import combined_by_python
from sash.operators.folding.values import Evaluator, Values, evaluated, in_order
from sash.operators.folding.whole_windows import WholeWindow
from sash.operators.patterns import thread_pool
from sash.operators.patterns.agnostic import CHUNK, handed_out
from sash.operators.patterns.cores import processes_of
from sash.operators.patterns.declared import (
    Inner,
    KeyFarm,
    PaneFarm,
    Pattern,
    WinFarm,
    WinSeq,
    busy_workers,
    level_of,
)
from sash.operators.patterns.element_bytes import ElementsStay
from sash.operators.patterns.folding import Folding
from sash.operators.patterns.key_farm import by_keys
from sash.operators.patterns.pane_farm import pane_farm
from sash.operators.patterns.process_workers import ProcessWorkers, pickled
from sash.operators.patterns.shared_panes import with_shared_panes
from sash.operators.patterns.thread_pool import Stages
from sash.operators.patterns.win_farm import by_windows
from sash.operators.patterns.win_mapreduce import win_mapreduce
from sash.operators.patterns.window_share import WindowShare
from sash.operators.patterns.worker_pool import AggregatesOver, ThreadWorkers, WorkerPool, at_once
from sash.operators.patterns.worker_process_main import OverRanges
from sash.operators.windows.ranges import Ranges
from sash.semantics.window import Window


def evaluator(pattern: Pattern | None, *, processes: bool = True) -> Evaluator:
    """Who computes the values of windows under this pattern; None: the caller."""
    return evaluated if pattern is None else partial(evaluate, pattern, processes=processes)


def evaluate(
    pattern: Pattern, bound: BoundQuery, window: Window, layout: Layout, ranges: Ranges,
    *, processes: bool = True,
) -> Values:  # fmt: skip
    """What `evaluated` answers with, computed by the workers of a pattern; `processes`: whether aggregates
    that Python computes may have processes of their own, which must be started."""
    if isinstance(pattern, WinSeq) or not len(ranges):
        return evaluated(bound, window, layout, ranges)
    if processes and in_processes(pattern, bound) and len(interpreted_of(bound)) < len(bound.aggregates):
        # What Python computes by processes, and then the rest by threads: processes load no machine code.
        halves = (evaluate(pattern, half, window, layout, ranges) for half in by_language(bound))
        return beside(bound, halves)
    share, pattern = WindowShare.whole(bound, window, layout, ranges), with_shared_panes(pattern)
    try:
        with _pool(share, pattern, processes=processes) as pool:
            return _run(pattern, share, pool)
    except ElementsStay:
        return evaluate(pattern, bound, window, layout, ranges, processes=False)


def _run(pattern: Pattern, share: WindowShare, pool: WorkerPool) -> Values:
    if isinstance(pattern, WinFarm) and pattern.model == "agnostic":
        return handed_out(share, pool, workers=pattern.workers, chunk=pattern.chunk or CHUNK)
    inner, shares = _shares(pattern, share)
    farms = [_stages(inner, mine, pool, level=level_of(pattern)) for mine in shares]
    return in_order(thread_pool.run(farms, workers=pattern.workers))


@contextmanager
def _pool(share: WindowShare, pattern: Pattern, *, processes: bool) -> Iterator[WorkerPool]:
    bound, rows = share.bound, share.layout.rows
    computation: WholeWindow | OverRanges | None = None
    if isinstance(bound, BoundWhole):
        computation = bound.computation
    elif processes and in_processes(pattern, bound) and _can_be_sent(bound):
        computation = AggregatesOver(bound)
    if computation is None:
        yield ThreadWorkers(Folding.of(bound, rows, share.ranges), rows.schema)
        return
    workers = pattern.workers if isinstance(bound, BoundWhole) else processes_of(pattern)
    with ProcessWorkers.of(computation, rows.schema, workers=workers) as pool:
        yield pool


def in_processes(pattern: Pattern, bound: BoundQuery) -> bool:
    """Whether aggregates are computed by worker processes: where Python computes them, and several workers
    may be busy at the same time."""
    return busy_workers(pattern) > 1 and bool(interpreted_of(bound))


def by_language(bound: BoundQuery) -> list[BoundQuery]:
    """The query with only the aggregates that Python computes, and with the others, if there are any."""
    python = interpreted_of(bound)
    halves = (python, [name for name in bound.aggregates if name not in python])
    return [
        replace(
            bound, query=replace(bound.query, aggregates={name: bound.aggregates[name] for name in half})
        )
        for half in halves
        if half
    ]


def beside(bound: BoundQuery, halves: Iterable[Values]) -> Values:
    """The values of a query from those of parts of its aggregates, over the same windows."""
    parts = list(halves)
    columns = {name: part.columns[name] for part in parts for name in part.columns.column_names}
    return replace(parts[0], columns=pa.table({name: columns[name] for name in bound.aggregates}))


def interpreted_of(bound: BoundQuery) -> list[str]:
    """The aggregates that Python computes."""
    return [name for name, monoid in bound.aggregates.items() if combined_by_python(monoid, bound.schema)]


def _can_be_sent(bound: BoundQuery) -> bool:
    """Whether worker processes can have a query; threads take turns over one that they cannot."""
    try:
        return bool(pickled(AggregatesOver(bound)))
    except Unsupported:
        return False


def _shares(pattern: Pattern, share: WindowShare) -> tuple[Inner, list[WindowShare]]:
    match pattern:
        case KeyFarm():
            return pattern.held, by_keys(share, pattern.degree)
        case WinFarm():
            return pattern.held, by_windows(share, pattern.degree)
        case _:
            return pattern, [share]


def _stages(pattern: Inner, share: WindowShare, pool: WorkerPool, *, level: int) -> Stages:
    if isinstance(pattern, WinSeq):
        return thread_pool.one_stage(partial(_alone, pool, share))
    if isinstance(pattern, PaneFarm):
        return pane_farm(share, pool, plq=pattern.plq, wlq=pattern.wlq, level=level)
    return win_mapreduce(share, pool, map=pattern.map, reduce=pattern.reduce, level=level)


def workers_of(pattern: Pattern | None, bound: BoundQuery, *, processes: bool = True) -> list[str]:
    """Who computes the windows, in words."""
    whole = isinstance(bound, BoundWhole)
    what = "compute each window" if whole else "fold each range"
    if pattern is None or isinstance(pattern, WinSeq):
        return [what]
    if whole:
        return [
            f"{what} in {pattern.workers} worker processes, which map its events from shared memory: the "
            "function is Python's and holds the GIL, so that threads would take turns"
        ]
    names = interpreted_of(bound)
    if processes and in_processes(pattern, bound):
        return [
            f"{what} in {processes_of(pattern)} worker processes, which map events from shared memory; "
            f"{', '.join(names)}: interpreted, so that threads would take turns{_together(pattern)}"
        ]
    more = f"; {', '.join(names)}: interpreted, so that threads take turns" if names else ""
    more += _together(pattern)
    return [f"{what} in {pattern.workers} threads over shared columns, without the GIL{more}"]


def _together(pattern: Pattern) -> str:
    return "" if with_shared_panes(pattern) == pattern else "; replicas share panes, each folded once"


def _alone(pool: WorkerPool, share: WindowShare) -> Values:
    return at_once(pool, share.layout.rows, share.ranges).owned_by(share.windows)
