"""The window operator: all keys of one bucket, batch after batch, equal to the reference.

    insert    judge by the watermark; what is on time waits until it is final
    advance   what is final becomes an element, windows that are due are reported, the rest is let go

What a batch costs depends on what it brings, reports and lets go; not on what is held, nor on how many
keys are idle. With an allowed lateness L, events are final up to watermark − L: until then a late event
may still change a window that was reported, and `reported_windows` remembers what was reported of it. Where
windows judge what is late, events are held until their windows are over (see `lateness`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from sash.arrays import Ints, Mask
from sash.operators.answer import Answer, features, report_table
from sash.operators.arena import Arena
from sash.operators.bound_query import BoundQuery, BoundRolling
from sash.operators.columns.layout import Layout
from sash.operators.engine.content_fingerprint import MARK, marks, with_marks
from sash.operators.engine.due_reports import due_reports
from sash.operators.engine.groups.lifetime_group import LifetimeGroup
from sash.operators.engine.groups.range_group import RangeGroup
from sash.operators.engine.groups.session_and_growing_group import marks_column
from sash.operators.engine.lateness import (
    are_on_time,
    held_back,
    judged,
    over_sessions,
    over_until,
    session_of,
    with_joining,
)
from sash.operators.engine.operator_turn import Turn, Windows
from sash.operators.engine.pending_events import Events, distinct
from sash.operators.engine.saving.changed_aggregates import without_unknown
from sash.operators.engine.state import OperatorState
from sash.operators.engine.window_in_state import Track
from sash.operators.folding.panes import Panes, group_by
from sash.operators.kinds.clock_windows import ClockKind
from sash.operators.late_rows import late_rows, no_late_rows
from sash.operators.patterns.window_share import WindowShare
from sash.operators.predicates.row_predicates import truths
from sash.operators.windows.own_windows import Own, only_own
from sash.operators.windows.ranges import NEVER, Ranges, RepeatedRanges
from sash.semantics.event import Order
from sash.semantics.query import When
from sash.semantics.watermark import LateBy
from sash.semantics.window import PredicateWindow

HandOut: TypeAlias = Callable[[WindowShare, pa.Table, int], pa.Table]
"""Windows with their events, the key of each slot, and the number of the query's window → a table that
workers can compute them from."""


class WindowOperator(OperatorState):
    """A bucket of keys. See `protocol.StreamOperator`."""

    hand_out: HandOut | None = None
    """Who writes windows down for others to compute; None: they are computed here. It is no part of the
    state, and may be another one for every batch; only where whole rows are held."""

    def __init__(self, bound: BoundQuery, arena: Arena | None = None) -> None:
        super().__init__(bound, arena)
        self.own: Own | None = None
        self._reports: list[pa.Table] = []
        self._late: list[pa.Table] = []
        self._handed: list[pa.Table] = []
        self.emitted, self.spent = 0, 0.0
        """How many windows were computed or handed out, and the seconds that it took."""
        self._over = -NEVER
        """Windows that close by then are over."""
        self._seen = 0
        """How many events had come at the last turn."""

    @property
    def answers(self) -> pa.Schema:
        """Of what is emitted for windows: reports."""
        return self.bound.output

    # Events arrive

    def insert(self, rows: pa.Table, ordinals: Ints) -> pa.Table:
        if (np.diff(ordinals) < 0).any():
            rows = rows.take(pa.array(np.argsort(ordinals, kind="stable")))
        rows, times, late = judged(self.bound, rows, self._on_time, none=self._no_late)
        if len(times):
            self._take(rows, times)
        return late

    def _on_time(self, rows: pa.Table, times: Ints) -> Mask:
        query = self.bound.query
        if query.order is Order.ARRIVAL or self.clock.value is None:
            return np.ones(len(times), np.bool_)
        accepted = are_on_time(query, times, self.clock.value)
        window = session_of(query)
        if window is None or query.late_by is LateBy.OWN_WINDOWS or accepted.all():
            return accepted
        owner = self.slots.find(rows.select(list(self.bound.keys)), len(times))
        return with_joining(accepted, owner, times, self.pending, window)

    def _take(self, rows: pa.Table, times: Ints) -> None:
        """Rows that are on time become events that wait."""
        self.arena.begin()
        self.clock.see(int(times.max()))
        sequence = self.arrived + np.arange(len(times))
        self.arrived += len(times)
        keys, rows = rows.select(list(self.bound.keys)), self._with_marks(rows, times, sequence)
        slots = self._slots_of(keys, len(times))
        if self.plan.panes is not None:
            events, chosen = self._folded(self.plan.panes, rows, slots, times, sequence)
            keys = keys.take(pa.array(chosen))
        else:
            events = Events(self._needed(rows), slots, times, sequence, np.zeros(len(times), np.int64))
        self._wait(events)
        self.journal.entry.inserted(events.unslotted(keys))

    def insert_panes(self, keys: pa.Table, newest: Ints, elements: pa.Table) -> None:
        """Take events that are on time and were folded before they came, as `insert` takes their rows: a
        pane or a part of one has a key, the time of its newest event, and the elements of all aggregates
        of the query, in the order of `Panes.parts`."""
        panes = self.plan.panes
        assert panes is not None, "it keeps events"
        if not len(newest):
            return
        self.arena.begin()
        self.clock.see(int(newest.max()))
        sequence = self.arrived + np.arange(len(newest))
        self.arrived += len(newest)
        if self.bound.keeps_reports:
            elements = with_marks(elements, sequence)
        slots, starts = self._slots_of(keys, len(newest)), panes.starts(newest)
        codes, chosen = group_by(slots, starts)
        events = self._paned(
            panes, panes.fold_panes(elements, codes, groups=len(chosen)),
            slots[chosen], starts[chosen], sequence[chosen],
        )  # fmt: skip
        self._wait(events)
        self.journal.entry.inserted(events.unslotted(keys.take(pa.array(chosen))))

    def _needed(self, rows: pa.Table) -> pa.Table:
        """The columns that are needed once a row is on time."""
        return rows.select([name for name in rows.column_names if name in self.plan.columns])

    def _with_marks(self, rows: pa.Table, times: Ints, sequence: Ints) -> pa.Table:
        """With what windows must know of an event besides its columns: a predicate sees it once, here."""
        for number, window in enumerate(self.bound.query.windows):
            if isinstance(window, PredicateWindow):
                marked = truths(window, rows, times)
                rows = rows.append_column(marks_column(number), pa.array(marked))
        if self.bound.keeps_reports:
            rows = rows.append_column(MARK, pa.array(marks(sequence)))
        return rows

    def _folded(
        self, panes: Panes, rows: pa.Table, slots: Ints, times: Ints, sequence: Ints
    ) -> tuple[Events, Ints]:
        """One event per key and pane, whose time is where the pane begins; and a row of each."""
        starts = panes.starts(times)
        codes, chosen = group_by(slots, starts)
        parts = panes.fold_events(rows, codes, groups=len(chosen))
        return self._paned(panes, parts, slots[chosen], starts[chosen], sequence[chosen]), chosen

    def _paned(
        self, panes: Panes, parts: list[pa.Array], slots: Ints, starts: Ints, sequence: Ints
    ) -> Events:
        table = pa.table(parts, schema=pa.schema(panes.parts))
        return Events(table, slots, starts, sequence, np.zeros(len(starts), np.int64))

    # Time passes

    def advance(self, watermark: int, *, flush: bool = False) -> Answer:
        self.journal.entry.advanced(watermark)
        tick = self._ticks(watermark)
        if self.bound.query.late_by is not LateBy.TIME:
            self._over = over_until(self.bound.query, self._now)
            self.reported = [windows.without(self._over) for windows in self.reported]
        self.clock.advance_to(watermark)
        self._reports, self._late, self._tick = [self._no_reports], [self._no_late], tick
        self._handed = []
        self._forgotten = 0
        if self.pending is not None:
            self.arena.begin()
            turn = self._turn(flush=flush)
            if len(turn.slots):
                if isinstance(self.bound, BoundRolling):
                    self._features(self.bound, turn)
                else:
                    for group in self.groups:
                        group.process(turn, self)
            self.settled = max(self.settled, turn.settled)
            self.reported = [windows.without(self.settled) for windows in self.reported]
            if not flush:
                self.set_timers(turn.slots)
        reports, since = pa.concat_tables(self._reports), self.journal.head.since
        if since:
            reports = without_unknown(self.bound, reports, since)
        handed = pa.concat_tables(self._handed) if self._handed else None
        return Answer(reports, pa.concat_tables(self._late), self._forgotten, handed)

    def _turn(self, *, flush: bool) -> Turn:
        """Which events are final now, and which keys have work to do."""
        assert self.pending is not None
        query, now = self.bound.query, self._now
        settled, window = max(self.settled, now - held_back(query)), session_of(query)
        if window is None:
            ready = self._is_final(self.pending.time, settled) | flush
        else:
            ready = over_sessions(window, self.pending, settled) | flush
            self._pending_changed |= bool(ready.any())
        self._pending_changed |= flush
        self._seen, self.turned = self.turned, self.arrived
        final = self.pending.where(ready).ordered(query.order)
        rest = self.pending.where(~ready) if ready.any() else self.pending
        slots = self._at_work(final, rest, now, settled, flush=flush)
        self.slots.prefetch_rows(slots)
        self.pending = rest
        return Turn(
            slots, final, self._open(final, rest, slots, now), now, self.settled, settled,
            self.clock.horizon or 0, query.empty, flush, self.bound.keeps_reports,
        )  # fmt: skip

    def _open(self, final: Events, rest: Events, slots: Ints, now: int) -> Events:
        """Events that are not final and count all the same, ordered."""
        if not self.bound.keeps_reports:
            return final.none()
        return rest.where(np.isin(rest.slot, slots)).ordered(self.bound.query.order)

    def _at_work(self, final: Events, rest: Events, now: int, settled: int, *, flush: bool) -> Ints:
        timers = np.concatenate([self.slots.due("closes", now), self.slots.due("expires", settled)])
        query = self.bound.query
        horizon = any(track.kind.follows_horizon for group in self.groups for track in group.tracks)
        # A tick reports all open windows that were not reported as they are, whoever they belong to.
        if flush or query.empty or self._tick or (query.corrects and horizon):
            return self.slots.live()
        due = [timers]
        if self.bound.keeps_reports:
            due += [rest.slot, *(windows.slot for windows in self.reported)]
        slots = final.slots()
        return distinct(np.concatenate([slots, *due])) if any(map(len, due)) else slots

    def _ticks(self, watermark: int) -> bool:
        emit, before = self.bound.query.emit, self.clock.value
        if emit.when is not When.EVERY:
            return False
        after = watermark if before is None else max(before, watermark)
        return before is None or after // emit.period.length > before // emit.period.length

    # What groups of windows find: see `operator_turn.Emitter`

    def windows(self, turn: Turn, track: Track, ranges: Ranges, windows: Windows) -> None:
        if self.own is not None and len(ranges):
            ranges = only_own(self.own, self.slots.keys_of(turn.slots), ranges)
        if self._over > -NEVER:
            ranges = ranges.where(ranges.closes_at > self._over)
        closed = turn.closed(ranges)
        if not turn.corrects:
            self._emit(turn, track, ranges.where(closed), None, windows)
            return
        content, size = windows.content(ranges)
        reported = self.reported[track.number]
        at_work = np.isin(reported.slot, turn.slots)
        slots = turn.slots[ranges.slot]
        due = due_reports(
            reported.take(np.flatnonzero(at_work)), ranges.with_slots(slots), content, size, closed,
            when=self.bound.query.emit.when, tick=self._tick, flush=turn.flush,
        )  # fmt: skip
        self.reported[track.number] = reported.take(np.flatnonzero(~at_work)).plus(due.remembered)
        self._emit(turn, track, ranges.take(due.reported), due.revisions, windows)
        gone = due.dissolved.with_slots(np.searchsorted(turn.slots, due.dissolved.slot))
        self._emit(turn, track, gone, due.dissolved_revisions, windows)
        later = np.flatnonzero(ranges.closes_at > turn.now)
        later = later[ranges.waits_for_nothing[later]]
        closes = np.full(len(turn.slots), NEVER)
        np.minimum.at(closes, ranges.slot[later], ranges.closes_at[later])
        self.slots.set_timers("closes", turn.slots, closes)

    def _emit(
        self, turn: Turn, track: Track, ranges: Ranges, revisions: Ints | None, windows: Windows
    ) -> None:
        """What is emitted for windows, in the form of `answers`."""
        if not len(ranges) or self._replaying:
            return
        began = time.perf_counter()
        # Those of one key stand together, mostly; where not, its key is decoded twice.
        new_key = np.diff(ranges.slot, prepend=-1) != 0
        keys = self.slots.keys_of(turn.slots[ranges.slot[new_key]])
        slot = np.cumsum(new_key) - 1
        if self.hand_out is None:
            values = windows.values(ranges)
            self._reports.append(
                report_table(
                    self.bound, track.window, ranges.with_slots(slot), values, keys=keys,
                    revisions=revisions,
                )
            )  # fmt: skip
        else:
            rows, placed = windows.rows(ranges)
            placed = placed.with_slots(slot)
            if revisions is not None:
                placed = RepeatedRanges.with_revisions(placed, revisions)
            times = np.zeros(rows.num_rows, np.int64)  # workers are handed ranges, and do not look at times
            layout = Layout(rows, times, np.array([0, rows.num_rows]), self.bound.query.order)
            share = WindowShare.whole(self.bound, track.window, layout, placed)
            self._handed.append(self.hand_out(share, keys, track.number))
        self.emitted += len(ranges)
        self.spent += time.perf_counter() - began

    def displaced(self, turn: Turn, track: Track, events: Events, reasons: dict[int, str]) -> None:
        positions = np.array(sorted(reasons), np.int64)
        known = events.displaced[positions] >> track.number & 1 == 1
        settled = (events.time[positions] <= turn.now) | turn.flush
        positions = positions[~known & settled]
        rows = events.rows.take(pa.array(positions))
        texts = [reasons[int(at)] for at in positions]
        self._late.append(late_rows(self.bound, rows, texts, window=track.window.label))
        if turn.corrects and self.pending is not None and len(positions):
            waiting = np.flatnonzero(np.isin(self.pending.sequence, events.sequence[positions]))
            self.pending = self.pending.displaced_by(waiting, track.number)
            self._pending_changed = True

    def _features(self, bound: BoundRolling, turn: Turn) -> None:
        """All look-backs have the same triggers, so that their folds are columns."""
        wanted = np.arange(0 if self._replaying else len(turn.final))
        lookbacks = self._look_backs(turn, wanted)
        if len(wanted):
            self._reports.append(features(bound, turn.final.rows, lookbacks))

    def _look_backs(self, turn: Turn, wanted: Ints) -> list[pa.Table]:
        """The values of each look-back at these of the turn's events, which then are elements."""
        found: dict[int, pa.Table] = {}
        for group in self.groups:
            assert isinstance(group, RangeGroup | LifetimeGroup)
            found |= group.features(turn, wanted)
        return [table for _, table in sorted(found.items())]

    def next_timer(self) -> int | None:
        if self.pending is None or self.bound.query.order is Order.ARRIVAL:
            return None
        now, upcoming = self._now, []
        kinds = [track.kind for group in self.groups for track in group.tracks]
        for due in (self.slots.next_timer("closes"), self._forgets_at()):
            if due is not None:
                upcoming.append(due)
        if len(self.pending):
            times = np.unique(self.pending.time)
            wakes = np.concatenate([kind.wakes(times) for kind in kinds])
            upcoming += [max(int(wakes.min()), now + 1)] if wakes.min() < NEVER else []
        if self.bound.query.empty and len(self.slots) and self.clock.value is not None:
            # Windows that hold nothing are reported too, also while no key of this bucket is active.
            upcoming += [kind.ends_after(now) for kind in kinds if isinstance(kind, ClockKind)]
        emit = self.bound.query.emit
        if emit.when is When.EVERY and len(self.slots):
            period = emit.period.length
            since = int(self.pending.time.min()) if self.clock.value is None else now
            upcoming.append((since // period + 1) * period)
        return min(upcoming, default=None)

    @property
    def memory(self) -> int:
        waiting = 0 if self.pending is None else int(self.pending.rows.nbytes)
        return waiting + (self.arena.size if self.arena.is_anonymous else 0)

    @cached_property
    def _no_reports(self) -> pa.Table:
        return self.answers.empty_table()

    @cached_property
    def _no_late(self) -> pa.Table:
        return no_late_rows(self.bound)
