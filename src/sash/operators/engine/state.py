"""The state of a window operator: what is kept of all keys of a bucket, between two batches and beyond
processes.

    in the arena     keys, elements, running folds, timers, events that wait; and as a blob the rest
    in the store     the journal, from which all of it can be built again

Everything that changes state goes through `insert` and `advance`; a replay calls the same code and emits
nothing.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.state import rings
from sash.aggregation.stores.kept_facts import require_counts, require_times
from sash.aggregation.stores.values import reading, seal, unseal
from sash.arrays import Ints, Mask
from sash.errors import CorruptValue
from sash.operators.answer import Answer
from sash.operators.arena import Arena, ArenaHome
from sash.operators.arena.locked import WAIT
from sash.operators.bound_query import BoundLatest, BoundQuery, BoundRolling
from sash.operators.columns.table_bytes import bytes_of, table_of
from sash.operators.engine import pending_log as waiting
from sash.operators.engine.lanes.heap_compaction import compact
from sash.operators.engine.lanes.slots import NEWEST
from sash.operators.engine.lateness import held_back, session_of
from sash.operators.engine.pending_events import Events
from sash.operators.engine.reported_windows import ReportedWindows
from sash.operators.engine.saving.journal_entries import Entry, split_by_lengths, with_lengths
from sash.operators.engine.saving.operator_journal import LAYOUT, Journal, JournalHead
from sash.operators.engine.state_layout import StatePlan
from sash.operators.protocol import Saved
from sash.operators.windows.ranges import NEVER
from sash.semantics.event import Order
from sash.semantics.watermark import Watermark

REST = "rest"
"""The blob of an arena with what is not in its tables."""
FITTED = 12
"""In the arena's numbers: its bytes when it was last built for what was alive."""
SPACIOUS = 1 << 20
"""An arena of fewer bytes is not worth a building."""
NOTHING = {"clock": None, "horizon": None, "settled": -NEVER, "arrived": 0, "turned": 0}


class OperatorState(ABC):
    """Of a bucket of keys."""

    def __init__(self, bound: BoundQuery, arena: Arena | None = None) -> None:
        query = bound.query
        self.bound, self.plan = bound, self.plan_of(bound)
        self.arena = Arena.anonymous(self.plan.tables) if arena is None else arena
        self.slots, self.groups = self.plan.groups(self.arena)
        self.clock = Watermark(allowed_lateness=query.allowed_lateness.length)
        self.settled = -NEVER
        self.arrived = self.turned = 0
        """How many events have come, and how many had when it was last found out which are final."""
        self.pending: Events | None = None
        self._pending_changed = False
        """Whether events that wait have become others since they were kept."""
        self.reported = [ReportedWindows.blank() for _ in query.windows]
        self.journal = Journal()
        self._at = "", 0
        """The version of what is in memory, and the number of the entry that comes next."""
        self._name: str | None = None
        """Of the arena on this machine that this operator should work on."""
        self._replaying = False
        self._forgotten = 0

    @staticmethod
    def plan_of(bound: BoundQuery) -> StatePlan:
        """How the windows of a query are kept."""
        return StatePlan(bound)

    @abstractmethod
    def advance(self, watermark: int, *, flush: bool = False) -> Answer:
        """Time passes."""

    @property
    def _now(self) -> int:
        """The time up to which windows are closed. In arrival order whatever has arrived is settled."""
        if self.bound.query.order is Order.ARRIVAL:
            return NEVER - 1
        return -NEVER if self.clock.value is None else self.clock.value

    def _is_final(self, times: Ints, settled: int) -> Mask:
        """Whether no event before these times can come any more; the row of a look-back is emitted when
        there can be none of its own time either."""
        own_time = isinstance(self.bound, BoundRolling) and not isinstance(self.bound, BoundLatest)
        final: Mask = times < settled + (not own_time)
        return final

    # Keys and their timers

    def _slots_of(self, keys: pa.Table, count: int) -> Ints:
        slots, new = self.slots.of(keys, count)
        if len(new):
            for group in self.groups:
                group.lane.new_slots(new)
                for track in group.tracks:
                    track.new_slots(new)
        return slots

    def _wait(self, events: Events) -> None:
        np.maximum.at(self.slots.rows[:, NEWEST], events.slot, events.time)
        self.pending = events if self.pending is None else self.pending.plus(events)

    def set_timers(self, slots: Ints) -> None:
        if not len(slots):
            return
        slots = self._forget(slots)
        if self.bound.query.order is Order.EVENT_TIME:
            self.slots.set_timers("closes", slots, self._next_close(slots))
            self.slots.set_timers("expires", slots, self._expires(self.slots.rows[slots, NEWEST]))

    def _next_close(self, slots: Ints) -> Ints:
        """When time alone gives keys something to do."""
        closes: Ints = np.minimum.reduce([group.next_close(slots, self._now) for group in self.groups])
        return closes

    def _expires(self, newest: Ints) -> Ints:
        """When keys may have to be forgotten whose newest events have such times. What windows need goes
        by what is settled, `forget_after` by the watermark, which is ahead of it by the lateness."""
        query, expires = self.bound.query, np.full(len(newest), NEVER)
        if self.plan.forgets:
            expires = np.maximum.reduce([group.expires(newest) for group in self.groups])
        if query.forget_after.length:
            expires = np.minimum(expires, newest + query.forget_after.length - held_back(query))
        return expires

    def _forgets_at(self) -> int | None:
        """The watermark at which keys should be forgotten without further events. Rarely, since keys may
        expire at any time: once in as long as they take to."""
        expires = self.slots.next_timer("expires")
        patience = int(self._expires(np.zeros(1, np.int64))[0])
        if expires is None or not 0 < patience < NEVER:
            return None
        due = max(expires + held_back(self.bound.query), self._now + 1)
        return -(-due // patience) * patience

    def _forget(self, slots: Ints) -> Ints:
        """A key without elements is forgotten when none of its windows needs to remember it; any key, when
        nothing has come of it for `forget_after`."""
        after = self.bound.query.forget_after.length
        if after and self.clock.value is not None:
            gone = self.slots.rows[slots, NEWEST] + after <= self._now
            for group in self.groups:
                group.forget(slots[gone])
            self.reported = [windows.without_slots(slots[gone]) for windows in self.reported]
            self.slots.forget(slots[gone])
            self._forgotten += int(gone.sum())
            slots = slots[~gone]
        if not self.plan.forgets:
            return slots
        idle: Mask = np.logical_and.reduce([group.is_empty(slots) for group in self.groups])
        if not idle.any():
            return slots
        assert self.pending is not None
        busy = np.concatenate([self.pending.slot, *(windows.slot for windows in self.reported)])
        idle &= ~np.isin(slots, busy)
        self.slots.forget(slots[idle])
        kept: Ints = slots[~idle]
        return kept

    # Between two batches

    def save(self) -> Saved:
        saved, head = self.journal.save(self), self.journal.head
        saved = replace(saved, keys=head.keys, size=head.snapshot_bytes + head.journal_bytes)
        compact(self)
        self._at = self.journal.head.version, self.journal.head.next
        if not self.arena.is_anonymous:
            self.arena.begin()
            waiting.keep(self.arena, self.pending, arrived=self.arrived, rewrite=self._pending_changed)
            self.arena.put_blob(REST, self._rest())
        self._pending_changed = False
        self.arena.commit(bytes.fromhex(self._at[0]))
        self.arena.release()
        if self.arena.folder is not None:
            ArenaHome(self.arena.folder.parent).clean_up()
        return saved

    @classmethod
    def load(
        cls,
        bound: BoundQuery,
        header: bytes | None,
        chunks: Mapping[int, bytes],
        *,
        name: str | None = None,
    ) -> Self:
        operator = cls(bound, None if name is None else cls._arena(bound, name))
        operator._name = name
        operator.resume(header, chunks)
        return operator

    @classmethod
    def _arena(cls, bound: BoundQuery, name: str, *, wait: float = WAIT) -> Arena | None:
        """The arena of that name on this machine; None if another task holds it."""
        tables = cls.plan_of(bound).tables
        identity = hashlib.sha256(repr((LAYOUT, rings.LAYOUT, sorted(tables.items()))).encode()).digest()
        return ArenaHome.default().open(name, tables, identity, wait=wait)

    def resume(self, header: bytes | None, chunks: Mapping[int, bytes]) -> None:
        """Go on from what is saved: at once, if the arena is there."""
        if self.arena.is_anonymous and self._name is not None:
            # Another task had the arena of this name: it is worth a try, but not a wait.
            named = self._arena(self.bound, self._name, wait=0)
            if named is not None:
                self._work_on(named)
        if not self.arena.acquire():
            self._work_on(Arena.anonymous(self.plan.tables))
        self.journal = Journal(None if header is None else JournalHead.of(header), chunks)
        if not self.journal.head.since.keys() <= set(self.bound.aggregates):
            raise CorruptValue("the header of an operator names aggregates that the query does not have")
        if header is None:
            self.reset()
        else:
            self.journal.catch_up(self)

    def _work_on(self, arena: Arena) -> None:
        self.arena = arena
        self.slots, self.groups = self.plan.groups(arena)

    def reset(self) -> None:
        """Nothing has happened yet."""
        self.arena.begin()
        self.arena.clear()
        self._at = "", 0
        self.restore_facts(NOTHING)
        self.pending, self.reported = None, [ReportedWindows.blank() for _ in self.bound.query.windows]

    def adopted(self) -> tuple[str, int] | None:
        """The version of the arena, and the number of the entry that comes next; None if it has none, or is
        damaged."""
        if not self.arena.version:
            return None
        if self.arena.version.hex() != self._at[0]:
            try:
                facts, *reported = split_by_lengths(unseal(REST.encode(), self.arena.get_blob(REST)))
                pending = waiting.kept(self.arena)
            except CorruptValue:
                return None  # somebody else has written to its files
            read = json.loads(bytes(facts))
            self._at = self.arena.version.hex(), read["next"]
            self.restore_facts(read)
            if pending is not None:
                gone = (pending.sequence < self.turned) & self._is_final(pending.time, self.settled)
                # Time alone does not decide it for sessions: their log is rewritten when events leave it.
                gone &= session_of(self.bound.query) is None
                pending = pending.where(~gone)
            self.pending, self._pending_changed = pending, False
            self.reported = [ReportedWindows.of_table(table_of(part)) for part in reported]
        return self._at

    def _rest(self) -> bytes:
        """What is not in the tables of the arena."""
        facts = json.dumps({"next": self._at[1], **self.facts()}).encode()
        rest = with_lengths([facts, *(bytes_of(windows.table()) for windows in self.reported)])
        return seal(REST.encode(), rest)

    @property
    def is_sparse(self) -> bool:
        """Whether the arena is far larger than what is alive, as after a burst of keys; tables only grow.
        It must have grown since it was last built, so that building it again is paid for."""
        size, fitted = self.arena.size, int(self.arena.numbers[FITTED])
        folds = sum(group.lane.folds_size for group in self.groups)
        return size > max(SPACIOUS, 4 * fitted, 8 * (self.size + folds))

    def fits(self) -> None:
        """The arena was built for what is alive."""
        self.arena.numbers[FITTED] = self.arena.size

    @property
    def size(self) -> int:
        """About how many bytes a snapshot has before it is compressed."""
        rows = 8 * self.slots.rows.shape[1] * len(self.slots)
        pending = self.pending
        waiting = 0 if pending is None else int(pending.rows.nbytes) + 32 * len(pending)
        return int(rows) + waiting + sum(group.lane.size for group in self.groups)

    def facts(self) -> dict[str, Any]:
        """What is known besides keys and events."""
        clock = self.clock
        return {
            "clock": clock.value, "horizon": clock.horizon, "settled": self.settled,
            "arrived": self.arrived, "turned": self.turned,
        }  # fmt: skip

    def restore_facts(self, facts: Mapping[str, Any]) -> None:
        with reading("what is known of a stream"):
            require_times(facts, "clock", "horizon", "settled")
            require_counts(facts, "arrived", "turned")
        self.clock.value, self.clock.horizon = facts["clock"], facts["horizon"]
        self.settled, self.arrived, self.turned = (facts[n] for n in ("settled", "arrived", "turned"))

    @property
    def replays_each(self) -> bool:
        """Whether what is known depends on how the stream was cut into batches."""
        return self.bound.takes_back or self.bound.query.forget_after.length > 0

    def replay(self, entry: Entry) -> None:
        """Do what a batch has done, without emitting anything."""
        self._replaying = True
        for call in entry.calls() if self.replays_each else entry.calls_together():
            if isinstance(call, int):
                self.advance(call)
            else:
                with reading("an entry of the journal"):
                    self._insert_again(call)
        with reading("an entry of the journal"):
            self.restore_facts(entry.facts)
        self.journal.entry = Entry()
        self._replaying = False

    def _insert_again(self, rows: pa.Table) -> None:
        self.arena.begin()
        slots = self._slots_of(rows.select(list(self.bound.keys)), rows.num_rows)
        spare = [key for key in self.bound.keys if key not in self.plan.columns]
        events = Events.slotted(rows.drop_columns(spare), slots)
        self.clock.see(int(events.time.max()))
        self.arrived = int(events.sequence.max()) + 1
        self._wait(events)
