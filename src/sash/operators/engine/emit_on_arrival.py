"""Look-backs that are answered on arrival, with the batch that brings an event, and corrected until final.

    new events          each has its row, with revision 0
    events that wait    those that a new one has joined, with the next revision

What is final has its last row already: it only becomes an element. So a key has work to do when events of
it come, and no timer waits for one to be final.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.arrays import Ints, Mask
from sash.operators.answer import features
from sash.operators.bound_query import BoundRolling
from sash.operators.engine.content_fingerprint import EMITTED
from sash.operators.engine.operator import WindowOperator
from sash.operators.engine.operator_turn import Turn
from sash.operators.engine.pending_events import Events


class ArrivalOperator(WindowOperator):
    """Of `.rolling(…, emit="arrival")`; see `semantics.look_back_rows`."""

    def _with_marks(self, rows: pa.Table, times: Ints, sequence: Ints) -> pa.Table:
        return rows.append_column(EMITTED, pa.array(np.full(len(times), -1)))

    def _at_work(self, final: Events, rest: Events, now: int, settled: int, *, flush: bool) -> Ints:
        due = [self.slots.due("expires", settled), final.slot, rest.slot[rest.sequence >= self._seen]]
        return np.unique(np.concatenate(due))

    def _open(self, final: Events, rest: Events, slots: Ints, now: int) -> Events:
        """All that wait of a key of which new events have come."""
        joined = [events.slot[events.sequence >= self._seen] for events in (final, rest)]
        return rest.where(np.isin(rest.slot, np.concatenate(joined))).ordered(self.bound.query.order)

    def _features(self, bound: BoundRolling, turn: Turn) -> None:
        events = turn.events
        wanted = np.flatnonzero(self._joined(events, events.sequence >= self._seen))
        revisions = events.rows[EMITTED].to_numpy()[wanted] + 1
        lookbacks = self._look_backs(turn, np.empty(0, np.int64) if self._replaying else wanted)
        if len(wanted) and not self._replaying:
            rows = events.rows.take(pa.array(wanted))
            self._reports.append(features(bound, rows, lookbacks, revisions))
        self._remember(events.sequence[wanted], revisions)

    def _joined(self, events: Events, new: Mask) -> Mask:
        """Which events have a new one in their longest look-back: the last that is not after them."""
        place = np.arange(len(events))
        first_of_key = np.diff(events.slot, prepend=-1) != 0
        ends_time = np.append((np.diff(events.time) != 0) | first_of_key[1:], True)[: len(events)]
        ends = np.flatnonzero(ends_time)
        last = np.maximum.accumulate(np.where(new, place, -1))[ends[np.searchsorted(ends, place)]]
        begins = np.maximum.accumulate(np.where(first_of_key, place, 0))
        longest = max(window.size for window in self.bound.query.windows)  # type: ignore[attr-defined]
        joined: Mask = (last >= begins) & (events.time - events.time[last] < longest)
        return joined

    def _remember(self, sequence: Ints, revisions: Ints) -> None:
        """The revisions of rows that were emitted of events that wait."""
        pending = self.pending
        assert pending is not None
        order = np.argsort(sequence)
        at = np.searchsorted(sequence[order], pending.sequence)
        at[at == len(order)] = 0
        if not len(pending) or not len(order):
            return
        found = sequence[order][at] == pending.sequence
        emitted = pending.rows[EMITTED].to_numpy().copy()
        emitted[found] = revisions[order][at[found]]
        self.pending = pending.with_column(EMITTED, emitted)
        self._pending_changed |= bool((pending.sequence[found] < self._seen).any())

    def next_timer(self) -> int | None:
        return None if self.pending is None else self._forgets_at()
