"""Which events are too late, and how long the others are held, by the rule of the query.

    late by time      τ < watermark − L; an event is final when no older one can be accepted
    late by windows   every window that would hold the event closes at or before watermark − L; an event is
                      final when all its windows have closed so

A window that has closed so before a batch came is *over*: nothing of that batch is in it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any

import numpy as np
import pyarrow as pa

from sash.arrays import Ints, Mask
from sash.operators.bound import BoundQuery
from sash.operators.engine.pending import Events
from sash.operators.engine.slots import Slots
from sash.operators.kinds.clock import clock_mapping
from sash.operators.windows.ranges import NEVER
from sash.semantics.event import Order
from sash.semantics.query import Query
from sash.semantics.watermark import LateBy
from sash.semantics.windows import SessionWindow, TimeWindow

Key = tuple[Any, ...]


def final_until(query: Query, watermark: int) -> int:
    """Up to when events are final. Those of sessions are when their session is (see `over_sessions`)."""
    held = query.retained if session_of(query) is None else query.allowed_lateness.length
    return watermark - held


def over_until(query: Query, watermark: int) -> int:
    """Windows that close by then are over when a batch is judged by this watermark."""
    return -NEVER if query.late_by is LateBy.TIME else watermark - query.allowed_lateness.length


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


def held_times(bound: BoundQuery, pending: Events | None, slots: Slots) -> dict[Key, list[int]]:
    """The times of the events that wait, by key, sorted."""
    if pending is None or not len(pending):
        return {}
    waiting = pending.ordered(Order.EVENT_TIME)
    own = waiting.slots()
    parts = np.split(waiting.time, waiting.offsets(own)[1:-1])
    keys = _keys_of(slots.keys_of(own).select(list(bound.keys)), len(own))
    return {key: times.tolist() for key, times in zip(keys, parts, strict=True)}


def with_joining(
    accepted: Mask, keys: pa.Table, times: Ints, open_times: dict[Key, list[int]], window: SessionWindow
) -> Mask:
    """Accepts what is late by itself and joins a session that is open: one that holds an event, of those
    that are held (sorted, by key), no farther away than neighbours are."""
    accepted = accepted.copy()
    for row, (key, time) in enumerate(zip(_keys_of(keys, len(times)), times.tolist(), strict=True)):
        near = open_times.setdefault(key, [])
        at = bisect_left(near, time - window.reach)
        accepted[row] |= at < len(near) and near[at] <= time + window.reach
        if accepted[row]:
            insort(near, time)
    return accepted


def _keys_of(keys: pa.Table, count: int) -> list[Key]:
    columns = [column.to_pylist() for column in keys.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * count


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
