"""The window operator on a stream: all keys of one bucket, batch after batch, equal to the reference.

    insert    judge by the watermark, give the rest a slot and a place in the order
    advance   list the windows that are not final, report those that are due, let go of what nobody needs

With an allowed lateness L, events are final up to watermark − L: until then a late event may still change a
window that was reported, and the ledger remembers what was said of it. Without, nothing is remembered of a
window once it has closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sash.operators.answer import Answer, features, late_rows, reports
from sash.operators.bound import BoundQuery, BoundRolling
from sash.operators.layout import Layout
from sash.operators.ranges import NEVER, Ranges
from sash.operators.streaming import saving
from sash.operators.streaming.by_position import SlideByTupleProgress
from sash.operators.streaming.held import Held
from sash.operators.streaming.keyring import Keyring
from sash.operators.streaming.ledger import Ledger, fingerprints, reckon
from sash.operators.streaming.own import Own, only_own
from sash.operators.streaming.progress import Moment
from sash.operators.streaming.protocol import Saved
from sash.operators.streaming.track import Track, progress_of
from sash.operators.times import to_integers
from sash.semantics.event import Order
from sash.semantics.query import When
from sash.semantics.watermark import Lateness, Watermark

Ints = NDArray[np.int64]


class WindowOperator:
    """A bucket of keys. See `protocol.StreamOperator`."""

    def __init__(self, bound: BoundQuery) -> None:
        query = bound.query
        self.bound = bound
        self.own: Own | None = None
        self.clock = Watermark(allowed_lateness=query.allowed_lateness.length)
        self.settled = -NEVER
        self.keyring = Keyring(bound.keys)
        self.held: Held | None = None
        self.arrived = 0
        self.chunks = 0
        together = isinstance(bound, BoundRolling)
        self.tracks = [Track(progress_of(window, bound), together=together) for window in query.windows]
        self.ledgers = [Ledger.blank() for _ in query.windows]
        self.unsaved: dict[int, bytes] = {}
        self.saved_chunks: frozenset[int] = frozenset()

    @property
    def slots(self) -> int:
        return len(self.keyring)

    @property
    def answers(self) -> pa.Schema:
        """Of what is told of windows: reports."""
        return self.bound.output

    # Events arrive

    def insert(self, rows: pa.Table, ordinals: Ints) -> pa.Table:
        if (np.diff(ordinals) < 0).any():
            rows = rows.take(pa.array(np.argsort(ordinals, kind="stable")))
        known = pc.is_valid(rows[self.bound.time])
        late = [late_rows(self.bound, rows.filter(pc.invert(known)), "time is null")]
        rows = rows.filter(known)
        times = to_integers(rows[self.bound.time])
        on_time = self._on_time(times)
        late.append(late_rows(self.bound, rows.filter(pa.array(~on_time)), Lateness.TOO_LATE.value))
        rows, times = rows.filter(pa.array(on_time)), times[on_time]
        if len(times):
            self.clock.see(int(times.max()))
            self._hold(rows, times)
        return pa.concat_tables(late)

    def _on_time(self, times: Ints) -> NDArray[np.bool_]:
        if self.bound.query.order is Order.ARRIVAL or self.clock.value is None:
            return np.ones(len(times), np.bool_)
        accepted: NDArray[np.bool_] = times >= self.clock.value - self.bound.query.allowed_lateness.length
        return accepted

    def _hold(self, rows: pa.Table, times: Ints) -> None:
        sequence = self.arrived + np.arange(len(times))
        self.arrived += len(times)
        new = Held(
            rows,
            self._slots_of(rows),
            times,
            sequence,
            np.full(len(times), self.chunks),
            np.zeros(len(times), np.int64),
        )
        self.unsaved[self.chunks] = saving.chunk(self.chunks, new)
        self.chunks += 1
        held = Held.nothing(rows.schema) if self.held is None else self.held
        self.held = held.plus(new, self.bound.query.order)

    def _slots_of(self, rows: pa.Table) -> Ints:
        before = self.slots
        slots = self.keyring.slots_of(rows)
        for track in self.tracks:
            track.add_slots(self.slots - before)
        return slots

    # Time passes

    def advance(self, watermark: int, *, flush: bool = False) -> Answer:
        tick = self._ticks(watermark)
        self.clock.advance_to(watermark)
        nothing = Answer(self.answers.empty_table(), self._none_late())
        if self.held is None:
            return nothing
        said, late = [], [nothing.late]
        layout = self.held.layout(self.slots, self.bound.query.order)
        if isinstance(self.bound, BoundRolling):
            said.append(self._features(self.bound, layout, flush=flush))
        else:
            for number, track in enumerate(self.tracks):
                late.append(self._misfits(number, track, layout, flush=flush))
                said.append(self._reports(number, track, tick=tick, flush=flush))
        self._let_go(layout)
        return Answer(pa.concat_tables([nothing.reports, *said]), pa.concat_tables(late))

    @property
    def _now(self) -> int:
        """The time up to which windows are closed. In arrival order whatever has arrived is settled."""
        if self.bound.query.order is Order.ARRIVAL:
            return NEVER - 1
        return -NEVER if self.clock.value is None else self.clock.value

    def _ticks(self, watermark: int) -> bool:
        emit, before = self.bound.query.emit, self.clock.value
        if emit.when is not When.EVERY:
            return False
        after = watermark if before is None else max(before, watermark)
        return before is None or after // emit.period.length > before // emit.period.length

    def _closed(self, ranges: Ranges, *, flush: bool) -> NDArray[np.bool_]:
        if flush:
            return np.ones(len(ranges), np.bool_)
        closed: NDArray[np.bool_] = ranges.closes_at <= self._now
        return closed

    def _moment(self) -> Moment:
        horizon = self.clock.horizon or 0
        return Moment(settled=self.settled, horizon=horizon, empty=self.bound.query.empty)

    def _misfits(self, number: int, track: Track, layout: Layout, *, flush: bool) -> pa.Table:
        """Say once of each settled event that this window cannot place it."""
        assert self.held is not None
        reasons = track.look_at(layout)
        untold = [
            position
            for position in reasons
            if not self.held.told[position] >> number & 1
            and (flush or self.held.time[position] <= self._now)
        ]
        positions = np.array(untold, np.int64)
        self.held = self.held.mark_told(positions, number)
        rows = self.held.rows.take(pa.array(positions))
        return late_rows(
            self.bound, rows, [reasons[position] for position in untold], window=track.window.label
        )

    def _reports(self, number: int, track: Track, *, tick: bool, flush: bool) -> pa.Table:
        assert self.held is not None
        query = self.bound.query
        ranges = self._ranges(track, self._moment())
        closed = self._closed(ranges, flush=flush)
        if not query.corrects:
            return self._told(track, ranges.where(closed), None)
        content = fingerprints(self.held.sequence[track.chosen], ranges)
        due = reckon(
            self.ledgers[number], ranges, content, closed, when=query.emit.when, tick=tick, flush=flush
        )
        self.ledgers[number] = due.ledger
        return pa.concat_tables(
            [
                self._told(track, due.ranges, due.revisions),
                self._told(track, due.dissolved, due.dissolved_revisions),
            ]
        )

    def _ranges(self, track: Track, moment: Moment) -> Ranges:
        """The windows that are not final, and that this operator answers for."""
        ranges = track.progress.ranges(track.layout, moment)
        return only_own(self.own, self.keyring.table, ranges)

    def _told(self, track: Track, ranges: Ranges, revisions: Ints | None) -> pa.Table:
        """What is said of windows, in the form of `answers`."""
        return reports(
            self.bound, track.window, track.layout, ranges, keys=self.keyring.table, revisions=revisions
        )

    def _features(self, bound: BoundRolling, layout: Layout, *, flush: bool) -> pa.Table:
        """All look-backs have the same triggers and see the same events, so that they share a layout."""
        lookbacks, events = [], np.empty(0, np.int64)
        for track in self.tracks:
            assert isinstance(track.progress, SlideByTupleProgress)
            track.look_at(layout)
            ranges = track.progress.ranges(layout, self._moment())
            ranges = ranges.where(self._closed(ranges, flush=flush))
            events = track.progress.triggers(layout, ranges.slot, ranges.id)
            lookbacks.append(ranges)
        return features(bound, layout, events, lookbacks)

    def _let_go(self, layout: Layout) -> None:
        assert self.held is not None
        self.settled = max(self.settled, self._now - self.bound.query.allowed_lateness.length)
        final = layout.before(self.settled + 1)
        gone = [track.move_on(final, self.settled) for track in self.tracks]
        shared = np.minimum.reduce(gone)
        for track, own in zip(self.tracks, gone, strict=True):
            track.dropped(own, shared)
        local = np.arange(len(self.held)) - layout.offsets[:-1][self.held.slot]
        self.held = self.held.take(np.flatnonzero(local >= shared[self.held.slot]))
        self.ledgers = [ledger.without(self.settled) for ledger in self.ledgers]
        self._forget_idle_slots()

    def _forget_idle_slots(self) -> None:
        """A key without events is forgotten when none of its windows needs to remember it."""
        assert self.held is not None
        if self.bound.query.empty or not all(track.progress.forgets for track in self.tracks):
            return
        busy = np.unique(np.concatenate([self.held.slot, *(ledger.slot for ledger in self.ledgers)]))
        if len(busy) == self.slots:
            return
        new_slot = np.full(self.slots, -1)
        new_slot[busy] = np.arange(len(busy))
        self.keyring.keep(busy)
        self.held = self.held.with_slots(new_slot[self.held.slot])
        self.ledgers = [ledger.with_slots(new_slot) for ledger in self.ledgers]
        for track in self.tracks:
            track.keep_slots(busy)

    def wakes_at(self) -> int | None:
        if self.held is None or self.bound.query.order is Order.ARRIVAL:
            return None
        layout = self.held.layout(self.slots, self.bound.query.order)
        upcoming = [
            time for number, track in enumerate(self.tracks) for time in self._wakes(number, track, layout)
        ]
        emit = self.bound.query.emit
        if emit.when is When.EVERY and len(self.held):
            period = emit.period.length
            now = int(self.held.time.min()) if self.clock.value is None else self.clock.value
            upcoming.append((now // period + 1) * period)
        return min(upcoming, default=None)

    def _wakes(self, number: int, track: Track, layout: Layout) -> list[int]:
        """When a window of this track closes next, and when an event that it cannot place is settled."""
        assert self.held is not None
        misfits = np.array(list(track.look_at(layout)), np.int64)
        untold = misfits[self.held.told[misfits] >> number & 1 == 0]
        ranges = self._ranges(track, track.ahead(self._moment()))
        times = np.concatenate([ranges.closes_at[ranges.waits_for_nothing], self.held.time[untold]])
        later = times[times > self._now]
        return [int(later.min())] if len(later) else []

    def _none_late(self) -> pa.Table:
        columns = self.bound.columns if self.held is None else self.held.rows.column_names
        rows = pa.schema([self.bound.schema.field(name) for name in columns]).empty_table()
        return late_rows(self.bound, rows, "")

    # Between two batches

    def attach(self, chunks: Mapping[int, bytes]) -> None:
        """Everything was read by `load`."""

    def save(self) -> Saved:
        live = frozenset() if self.held is None else frozenset(np.unique(self.held.chunk).tolist())
        written = {number: data for number, data in self.unsaved.items() if number in live}
        dropped = self.saved_chunks - live
        self.saved_chunks, self.unsaved = live, {}
        return Saved(saving.header(self), written, dropped)

    @classmethod
    def load(cls, bound: BoundQuery, header: bytes | None, chunks: Mapping[int, bytes]) -> Self:
        operator = cls(bound)
        if header is not None:
            saving.restore(operator, header, chunks)
        return operator
