"""A bounded input is one batch: nothing in it is late, and its end closes every window.

    table → (group and sort) → windower → ranges → folder → table

The answer is that of `semantics.reference` for a single batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.arrays import Ints
from sash.operators.answer import Answer, features, reports
from sash.operators.bound_query import BoundLatest, BoundQuery, BoundRolling
from sash.operators.columns.freed_memory import keep_freed_memory
from sash.operators.columns.layout import Arrangement, Layout, balanced
from sash.operators.columns.times import to_integers
from sash.operators.engine.groups.latest_rows import latest_of
from sash.operators.folding.early_panes import Early
from sash.operators.folding.values import Evaluator, evaluated
from sash.operators.kinds.look_back import LookBackKind
from sash.operators.late_rows import UNTIMED, late_rows
from sash.operators.step_counter import counted
from sash.operators.threads import in_threads
from sash.operators.windows.ranges import Ranges
from sash.operators.windows.windowers import misfits_of, window_ranges
from sash.semantics.event import Order
from sash.semantics.window import Window


def answer(
    bound: BoundQuery,
    table: pa.Table,
    *,
    ordinals: Ints | None = None,
    horizon: int | None = None,
    evaluate: Evaluator = evaluated,
    early: Early | None = None,
    shares: int = 1,
    threads: int = 1,
) -> Answer:
    """Evaluate a bound query over a table.

    `ordinals` are the arrival order of the rows (as they stand, when not given). `horizon` is the greatest
    time of the whole input, when the table is only a part of it. `evaluate` computes the values of windows,
    over panes that `early` folds before, if it is given and the query allows it. `threads` arrange the
    events. With several `shares` of the keys each has a thread, which cuts their windows and folds them.
    """
    keep_freed_memory()
    untimed = table.slice(0, 0)
    if table[bound.time].null_count:
        known = pc.is_valid(table[bound.time])
        untimed, table = table.filter(pc.invert(known)), table.filter(known)
        if ordinals is not None:
            ordinals = ordinals[known.to_numpy(zero_copy_only=False)]
    late = [late_rows(bound, untimed, UNTIMED)]
    times = to_integers(table[bound.time])
    if horizon is None:
        horizon = int(times.max()) if len(times) else 0
    folded = early.fold(bound, table, times) if early is not None else None
    if folded is not None:
        return Answer(answer(*folded, horizon=horizon, evaluate=evaluate).reports, late[0])
    arranged = Arrangement.of(
        table, list(bound.keys), times, ordinals, bound.query.order, threads=max(threads, shares)
    )
    if shares > 1:
        parts = _in_threads(bound, arranged, horizon, evaluate, shares)
    else:
        parts = [_over(bound, arranged.layout(), horizon, evaluate)]
    # Shares follow each other within each window, as their keys do.
    reported = [table for tables in zip(*(part.reports for part in parts), strict=True) for table in tables]
    return Answer(
        pa.concat_tables(reported),
        pa.concat_tables([*late, *(late for part in parts for late in part.late)]),
    )


@dataclass(frozen=True)
class _AnswerPart:
    """The answer over some keys."""

    reports: list[pa.Table]
    """For each window."""
    late: list[pa.Table]


def _in_threads(
    bound: BoundQuery, arranged: Arrangement, horizon: int, evaluate: Evaluator, shares: int
) -> list[_AnswerPart]:
    # Over nothing first: what has to be compiled is compiled before the threads meet there.
    empty = _over(bound, arranged.layout(0, 0), horizon, evaluate)
    work = [
        partial(_over_slots, bound, arranged, slots, horizon, evaluate)
        for slots in pairwise(balanced(arranged.offsets, shares))
    ]
    return in_threads(work, steps=True) or [empty]


def _over_slots(
    bound: BoundQuery, arranged: Arrangement, slots: tuple[int, int], horizon: int, evaluate: Evaluator
) -> _AnswerPart:
    return _over(bound, arranged.layout(*slots), horizon, evaluate)


def _over(bound: BoundQuery, layout: Layout, horizon: int, evaluate: Evaluator) -> _AnswerPart:
    if isinstance(bound, BoundLatest):
        return _AnswerPart([latest_of(bound, layout, horizon)], [])
    if isinstance(bound, BoundRolling):
        lookbacks = [
            evaluate(bound, window, layout, LookBackKind.of_layout(window, layout)).columns
            for window in bound.query.windows
        ]
        return _AnswerPart([features(bound, layout.rows, lookbacks)], [])
    keys = layout.rows.select(list(bound.keys)).take(pa.array(layout.firsts))
    part = _AnswerPart([], [])
    for window in counted(bound.query.windows):
        placed, displaced = _place(bound, window, layout)
        part.late.append(displaced)
        ranges = window_ranges(window, placed, horizon=horizon, empty=bound.query.empty)
        reported = _reported(bound, ranges, horizon)
        part.reports.append(reports(bound, window, placed, reported, keys=keys, evaluate=evaluate))
    return part


def _reported(bound: BoundQuery, ranges: Ranges, newest: int) -> Ranges:
    """All windows when the end of the input flushes; otherwise those that the last watermark closes."""
    if bound.query.flush:
        return ranges
    if bound.query.order is Order.ARRIVAL:
        return ranges.where(ranges.waits_for_nothing)
    return ranges.where(ranges.closes_at <= newest - bound.query.delay.length)


def _place(bound: BoundQuery, window: Window, layout: Layout) -> tuple[Layout, pa.Table]:
    """The layout without the events that this window cannot place, and those events."""
    if type(window).place is Window.place:
        return layout, late_rows(bound, layout.rows.slice(0, 0), "")
    reasons = misfits_of(window, layout)
    out = np.fromiter(reasons, np.int64, len(reasons))
    rejected = late_rows(
        bound, layout.rows.take(pa.array(out)), list(reasons.values()), window=window.label
    )
    keep = np.ones(len(layout.times), np.bool_)
    keep[out] = False
    return layout.where(keep), rejected
