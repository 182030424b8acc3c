"""The latest row of each key, emitted when it has changed: by an event, or because time took one out.

    keys at work    those with new events, and those of which a look-back loses an event at last: a timer
    a row           one fold per look-back, over what is kept; emitted if its code is not the one remembered

Rows are computed for an instant, which is the watermark, rounded down to the period if there is one. An
event counts from its own time on; with an allowed lateness it counts at once and is final later. A key of
which nothing is left has the row of no events: that is emitted, and no trace of the key remains.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.answer import Answer
from sash.operators.bound_query import BoundLatest, BoundRolling
from sash.operators.engine.groups.latest_group import LatestGroup, LatestLifetimeGroup
from sash.operators.engine.groups.latest_rows import latest_table, row_codes
from sash.operators.engine.lanes.slots import NEWEST
from sash.operators.engine.operator import WindowOperator
from sash.operators.engine.operator_turn import Turn
from sash.operators.engine.pending_events import Events
from sash.operators.windows.ranges import NEVER


class LatestOperator(WindowOperator):
    """Of `.latest(…)`; see `semantics.look_back_rows`."""

    _ends = False
    """Whether the input has ended, at an instant of its own."""

    def judge_by(self, watermark: int) -> None:
        """The events of the batch that begins are judged by this watermark. Its rows are computed once, at
        its end, so that there is one for each key."""
        self.clock.advance_to(watermark)

    def advance(self, watermark: int, *, flush: bool = False) -> Answer:
        self._ends = flush
        if flush and self.clock.horizon is not None:
            watermark = max(watermark, self.clock.horizon)
        return super().advance(watermark, flush=flush)

    @property
    def _now(self) -> int:
        now, period = super()._now, self._period
        return now if self._ends or now == -NEVER else now // period * period

    @property
    def _period(self) -> int:
        return max(self.bound.query.emit.period.length, 1)

    @property
    def replays_each(self) -> bool:
        """What is remembered is the row of the last instant, whatever the batches before were."""
        return self.bound.query.forget_after.length > 0

    def _at_work(self, final: Events, rest: Events, now: int, settled: int, *, flush: bool) -> Ints:
        if flush:  # at an instant that no timer was set for
            return self.slots.live()
        due = [self.slots.due("closes", now), self.slots.due("expires", settled), final.slot]
        before = self.settled + self.bound.query.allowed_lateness.length
        joins = (rest.time <= now) & ((rest.time > before) | (rest.sequence >= self._seen))
        return np.unique(np.concatenate([*due, rest.slot[joins]]))

    def _open(self, final: Events, rest: Events, slots: Ints, now: int) -> Events:
        if not self.bound.takes_back:
            return final.none()
        counts = (rest.time <= now) & np.isin(rest.slot, slots)
        return rest.where(counts).ordered(self.bound.query.order)

    def _features(self, bound: BoundRolling, turn: Turn) -> None:
        gone, after = np.zeros(len(turn.slots), np.bool_), bound.query.forget_after.length
        if after and not self._ends:
            gone = self.slots.rows[turn.slots, NEWEST] + after <= turn.now
        found: dict[int, pa.Table] = {}
        for group in self.groups:
            found |= cast(LatestGroup | LatestLifetimeGroup, group).latest(turn, gone)
        changed = np.zeros(len(turn.slots), np.bool_)
        for track in (track for group in self.groups for track in group.tracks):
            memory, codes = track.memory(turn.slots), row_codes(found[track.number])
            changed |= memory["row"] != codes
            track.remember(turn.slots, memory | {"row": codes})
        if self._replaying or not changed.any():
            return
        chosen = np.flatnonzero(changed)
        keys = self.slots.keys_of(turn.slots[chosen])
        look_backs = [table.take(pa.array(chosen)) for _, table in sorted(found.items())]
        self._reports.append(latest_table(cast(BoundLatest, bound), keys, look_backs, turn.now))

    def _next_close(self, slots: Ints) -> Ints:
        closes = super()._next_close(slots)
        pending = self.pending
        if self.bound.takes_back and pending is not None and len(slots):
            place = np.searchsorted(slots, pending.slot)
            place[place == len(slots)] = 0
            counts = (pending.time <= self._now) & (slots[place] == pending.slot)
            for window in self.bound.query.windows:
                leaves = pending.time + window.size  # type: ignore[attr-defined]
                chosen = counts & (leaves > self._now)
                np.minimum.at(closes, place[chosen], leaves[chosen])
        some = closes < NEVER
        closes[some] = self._rounded(closes[some])
        return closes

    def _rounded(self, times: Ints) -> Ints:
        """The first instants that are not before these times."""
        rounded: Ints = -(-times // self._period) * self._period
        return rounded

    def _forgets_at(self) -> int | None:
        """In time, where `forget_after` makes it a row; otherwise as rarely as of windows."""
        expires, query = self.slots.next_timer("expires"), self.bound.query
        if not query.forget_after.length or expires is None:
            return super()._forgets_at()
        due = np.array([expires + query.allowed_lateness.length, self._now + 1])
        return int(self._rounded(due).max())

    def next_timer(self) -> int | None:
        if self.pending is None:
            return None
        times = self.pending.time[self.pending.time > self._now]
        joins = int(self._rounded(times.min())) if len(times) else None
        upcoming = (self.slots.next_timer("closes"), self._forgets_at(), joins)
        return min((due for due in upcoming if due is not None), default=None)
