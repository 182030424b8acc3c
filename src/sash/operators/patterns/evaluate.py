"""A pattern as an evaluator: cut the windows into shares, run the shares, put the values in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sash.errors import Unsupported
from sash.operators.bound_query import BoundQuery, BoundWhole
from sash.operators.columns.layout import Layout
from sash.operators.folding.fold_ranges import compiles
from sash.operators.folding.values import Evaluator, Values, evaluated, in_order
from sash.operators.folding.whole_windows import WholeWindow
from sash.operators.patterns import thread_pool
from sash.operators.patterns.agnostic import CHUNK, handed_out
from sash.operators.patterns.declared import Inner, KeyFarm, PaneFarm, Pattern, WinFarm, WinSeq, level_of
from sash.operators.patterns.folding import Folding
from sash.operators.patterns.key_farm import by_keys
from sash.operators.patterns.pane_farm import pane_farm
from sash.operators.patterns.process_workers import ProcessWorkers, pickled
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
    share = WindowShare.whole(bound, window, layout, ranges)
    with _pool(share, pattern, processes=processes) as pool:
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
    else:
        with ProcessWorkers.of(computation, rows.schema, workers=pattern.workers) as pool:
            yield pool


def in_processes(pattern: Pattern, bound: BoundQuery) -> bool:
    """Whether aggregates are computed by worker processes: those of a farm whose workers compute whole
    windows, where Python computes them. Folds of panes and partitions stay in this process."""
    farm = isinstance(pattern, KeyFarm | WinFarm) and isinstance(pattern.held, WinSeq)
    return farm and pattern.workers > 1 and bool(interpreted_of(bound))


def interpreted_of(bound: BoundQuery) -> list[str]:
    """The aggregates that Python computes."""
    return [name for name, monoid in bound.aggregates.items() if not compiles(monoid, bound.schema)]


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
    assert isinstance(pool, ThreadWorkers)  # what has no combine is refused for the other two
    if isinstance(pattern, PaneFarm):
        return pane_farm(share, pool.folding, plq=pattern.plq, wlq=pattern.wlq, level=level)
    return win_mapreduce(share, pool.folding, map=pattern.map, reduce=pattern.reduce, level=level)


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
            f"{what} in {pattern.workers} worker processes, which map events from shared memory; "
            f"{', '.join(names)}: interpreted, so that threads would take turns"
        ]
    turns = f"; {', '.join(names)}: interpreted, so that threads take turns" if names else ""
    return [f"{what} in {pattern.workers} threads over shared columns, without the GIL{turns}"]


def _alone(pool: WorkerPool, share: WindowShare) -> Values:
    return at_once(pool, share.layout.rows, share.ranges).owned_by(share.windows)
