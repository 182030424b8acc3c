"""Which events are too late, and how long the others are held, by the rule of the query.

    late by time      τ < watermark − L; an event is final when no older one can be accepted
    late by windows   every window that would hold the event closes at or before watermark − L; an event is
                      final when all its windows have closed so

A window that has closed so before a batch came is *over*: nothing of that batch is in it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.arrays import Ints, Mask
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.times import to_integers
from sash.operators.engine.pending_events import Events
from sash.operators.kinds.clock_windows import clock_mapping
from sash.operators.late_rows import UNTIMED, late_rows
from sash.semantics.event import Order
from sash.semantics.query import Query
from sash.semantics.watermark import LateBy, Lateness
from sash.semantics.windows import SessionWindow, TimeWindow


class Judged(NamedTuple):
    """Rows that have arrived: those that are on time, with their times, and the others as late rows."""

    rows: pa.Table
    times: Ints
    late: pa.Table


def judged(
    bound: BoundQuery, rows: pa.Table, on_time: Callable[[pa.Table, Ints], Mask], *, none: pa.Table
) -> Judged:
    """An event without a time is late; of the others `on_time` decides. `none` is the table without late
    rows of inputs that have no other columns than the query reads."""
    late: list[pa.Table] = []
    if rows[bound.time].null_count:
        known = pc.is_valid(rows[bound.time])
        late.append(late_rows(bound, rows.filter(pc.invert(known)), UNTIMED))
        rows = rows.filter(known)
    times = to_integers(rows[bound.time])
    accepted = on_time(rows, times)
    if not accepted.all():
        late.append(late_rows(bound, rows.filter(pa.array(~accepted)), Lateness.TOO_LATE.value))
        rows, times = rows.filter(pa.array(accepted)), times[accepted]
    if not late:
        same = rows.column_names == list(bound.columns)
        return Judged(rows, times, none if same else late_rows(bound, rows.slice(0, 0), ""))
    return Judged(rows, times, pa.concat_tables(late))


def held_back(query: Query) -> int:
    """How far behind the watermark events become final. Those of sessions are when their session is (see
    `over_sessions`)."""
    return query.retained if session_of(query) is None else query.allowed_lateness.length


def over_until(query: Query, watermark: int) -> int:
    """Windows that close by then are over when a batch is judged by this watermark, where windows judge."""
    return watermark - query.allowed_lateness.length


def session_of(query: Query) -> SessionWindow | None:
    """The session window whose end judges what is late."""
    (window, *_) = query.windows
    if query.late_by is LateBy.TIME or not isinstance(window, SessionWindow):
        return None
    return window


def are_on_time(query: Query, times: Ints, watermark: int) -> Mask:
    """Whether events count, as far as that depends on their times alone."""
    until = watermark - query.allowed_lateness.length
    if query.late_by is LateBy.TIME:
        late_by_time: Mask = times >= until
        return late_by_time
    accepted: Mask = times >= watermark
    for window in query.windows:
        if isinstance(window, TimeWindow):
            _, last = clock_mapping(window, times)
            accepted |= window.origin + last * window.slide + window.size > np.maximum(until, times)
        elif isinstance(window, SessionWindow):
            accepted |= times + window.patience > until
    return accepted


def with_joining(
    accepted: Mask, owner: Ints, times: Ints, pending: Events | None, window: SessionWindow
) -> Mask:
    """Accepts what is late by itself and joins a session that is open: one that holds an event, of those
    that wait or came before, no farther away than neighbours are. `owner` is the slot of each event, or a
    number of its own for a key that has none. Only keys with such an event are looked at one by one."""
    accepted = accepted.copy()
    rows = np.flatnonzero(np.isin(owner, owner[~accepted]))
    open_times = _waiting_times(pending, owner[rows])
    for row, key, time in zip(rows.tolist(), owner[rows].tolist(), times[rows].tolist(), strict=True):
        near = open_times.setdefault(key, [])
        at = bisect_left(near, time - window.reach)
        accepted[row] |= at < len(near) and near[at] <= time + window.reach
        if accepted[row]:
            insort(near, time)
    return accepted


def _waiting_times(pending: Events | None, slots: Ints) -> dict[int, list[int]]:
    """The times of the events of these slots that wait, sorted."""
    if pending is None:
        return {}
    waiting = pending.where(np.isin(pending.slot, slots)).ordered(Order.EVENT_TIME)
    own = waiting.slots()
    parts = np.split(waiting.time, waiting.offsets(own)[1:-1])
    return {slot: times.tolist() for slot, times in zip(own.tolist(), parts, strict=False)}


def over_sessions(window: SessionWindow, pending: Events, until: int) -> Mask:
    """Which events belong to sessions that close by then."""
    order = np.lexsort((pending.time, pending.slot))
    slot, time = pending.slot[order], pending.time[order]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (np.diff(slot) != 0) | (np.diff(time) > window.reach)
    session = np.cumsum(begins) - 1
    last = time[np.append(np.flatnonzero(begins)[1:], len(order)) - 1] if len(order) else time
    over = np.empty(len(order), np.bool_)
    over[order] = (last + window.patience <= until)[session]
    return over
