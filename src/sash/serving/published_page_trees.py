"""The trees of many keys, as their publisher changes them: all keys at once, one call for each level.

    head      [dropped] · records of level L … 2 · of level 1 · events
    level 1   a record stands for a page of FAN events;  level ℓ   for a page of FAN records of level ℓ − 1

The newest events are in the head itself. As soon as there are FAN of them they become a page, and one
record of level 1 in the head; as soon as there are FAN of those, a page again, and one record of level 2;
and so on. So the head stays small, and the events at any instant of the past are as many pages away as the
logarithm of how many events came after them.

An event that is older than some that are there already (look-backs that are answered on arrival) opens the
pages that it comes before, and they are made again under other names: a page never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from sash.arrays import Ints, Mask
from sash.errors import StoreError
from sash.serving.record_pages import DROPPED, LEVELS, packed, unpacked
from sash.serving.records import RecordForm, Run
from sash.serving.store_names import head_name, page_name

FAN = 64
BEGINNING, END = -(2**62), 2**62
"""Before all times, and after them."""

ReadPages = Callable[[Sequence[bytes]], list[bytes]]


@dataclass(frozen=True)
class KeyedRun:
    """Records of several keys, one key after the other, those of a key in the order of time."""

    slot: Ints
    """The number of the key of each record."""
    run: Run

    def __len__(self) -> int:
        return len(self.slot)

    def where(self, chosen: Mask) -> KeyedRun:
        return KeyedRun(self.slot[chosen], self.run.take(chosen))

    def followed_by(self, *others: KeyedRun) -> KeyedRun:
        """Of each key these records, then those of the next run, …"""
        runs = [run for run in (self, *others) if len(run)]
        if len(runs) < 2:
            return runs[0] if runs else self
        slot = np.concatenate([run.slot for run in runs])
        order = np.argsort(slot, kind="stable")
        return KeyedRun(slot[order], Run.joined([run.run for run in runs]).take(order))

    def sorted(self) -> KeyedRun:
        """By time; records of one time as they stand."""
        same, later = np.diff(self.slot) == 0, np.diff(self.run.newest) >= 0
        if (later | ~same).all():
            return self
        order = np.lexsort((self.run.newest, self.slot))
        return KeyedRun(self.slot[order], self.run.take(order))

    @property
    def firsts(self) -> Ints:
        """The positions of the first record of each key that has one."""
        return np.flatnonzero(np.diff(self.slot, prepend=-1))

    @property
    def lasts(self) -> Ints:
        return np.append(self.firsts[1:], len(self))[: len(self.firsts)] - 1

    @property
    def rank(self) -> Ints:
        """The position of each record among those of its key."""
        firsts = self.firsts
        return np.arange(len(self)) - np.repeat(firsts, np.diff(np.append(firsts, len(self))))


@dataclass
class Forest:
    """What some keys have in the store, and what is to be written of them."""

    form: RecordForm
    keys: Sequence[bytes]
    read: ReadPages
    endless: bool
    """Whether the fold of what is let go is needed: a look-back has no end."""
    known: Mask = field(init=False)
    """The keys that have a head."""
    batch: Ints = field(init=False)
    """The one that has changed a key last."""
    newest_page: Ints = field(init=False)
    dropped: KeyedRun = field(init=False)
    """At most one record of each key."""
    levels: list[KeyedRun] = field(init=False)
    """levels[0] are the events in the heads."""
    written: dict[bytes, bytes] = field(default_factory=dict)
    removed: list[bytes] = field(default_factory=list)

    @classmethod
    def of(
        cls, form: RecordForm, keys: Sequence[bytes], heads: Sequence[bytes | None], read: ReadPages,
        *, endless: bool,
    ) -> Forest:  # fmt: skip
        """The trees with these heads; a key that has none yet has None."""
        forest = cls(form, keys, read, endless)
        run, sizes, batches, newest_pages = unpacked([head for head in heads if head is not None], form)
        forest.known = np.array([head is not None for head in heads], np.bool_)
        there = np.flatnonzero(forest.known)
        forest.batch, forest.newest_page = np.zeros((2, len(keys)), np.int64)
        forest.batch[there], forest.newest_page[there] = batches, newest_pages
        held, level = KeyedRun(np.repeat(there, sizes), run), run.child % LEVELS
        gone = run.child == DROPPED
        forest.dropped = held.where(gone)
        top = int(level[~gone].max(initial=0))
        forest.levels = [held.where((level == at) & ~gone) for at in range(top + 1)]
        return forest

    @property
    def bare(self) -> Mask:
        """The keys that hold no events."""
        bare = np.ones(len(self.keys), np.bool_)
        for level in self.levels:
            bare[level.slot] = False
        return bare

    @property
    def newest(self) -> Ints:
        """The newest time of each key."""
        newest = np.full(len(self.keys), BEGINNING)
        for level in self.levels:
            lasts = level.lasts
            owners = level.slot[lasts]
            newest[owners] = np.maximum(newest[owners], level.run.newest[lasts])
        return newest

    def begin_after(self, time: int) -> None:
        """Keys without a head may have had one, with events up to this time."""
        owners = np.flatnonzero(~self.known)
        self.dropped = self.dropped.followed_by(
            self._dropped(owners, np.full(len(owners), time), self.form.nothing(len(owners)))
        )

    def insert(self, events: KeyedRun, *, batch: int, span: int, spare: bool = False) -> None:
        """Add the events of a batch, and let go of those that are `span` and more older than the newest of
        their key; with `spare` the last page of each key stays."""
        self.batch[:] = batch
        events = self._without_belated(events)
        self._open(events)
        self.levels[0] = self.levels[0].followed_by(events).sorted()
        self._close()
        self._drop(self.newest - span, spare)

    def let_go(self) -> None:
        """All events of all keys."""
        self._drop(np.full(len(self.keys), END), spare=False)
        if len(self.levels[0]):
            self._fold_dropped(self.levels[0])
            self.levels[0] = self.levels[0].where(np.zeros(len(self.levels[0]), np.bool_))

    def changes(self) -> tuple[dict[bytes, bytes], list[bytes]]:
        """What to write and what to remove, all at once. A key of which nothing is left has no head."""
        removed = set(self.removed)
        values = {name: page for name, page in self.written.items() if name not in removed}
        gone = [name for name in self.removed if name not in self.written]
        forgotten = self.bare & (not self.endless)
        heads = self.dropped.followed_by(*reversed(self.levels))
        heads = heads.where(~forgotten[heads.slot])
        kept = np.flatnonzero(~forgotten)
        sizes = np.bincount(heads.slot, minlength=len(self.keys))[kept]
        pages = packed(
            heads.run, sizes, self.form, batches=self.batch[kept], newest_pages=self.newest_page[kept]
        )
        names = [head_name(self.keys[slot]) for slot in kept.tolist()]
        values.update(zip(names, pages, strict=True))
        gone += [head_name(self.keys[slot]) for slot in np.flatnonzero(forgotten & self.known).tolist()]
        return values, gone

    def _without_belated(self, events: KeyedRun) -> KeyedRun:
        """The events that are not older than what is held no more. Others matter to look-backs without
        end only."""
        bounds = np.full(len(self.keys), BEGINNING)
        bounds[self.dropped.slot] = self.dropped.run.newest
        belated = events.run.newest < bounds[events.slot]
        if not belated.any():
            return events
        if self.endless and not self.form.commutes:
            raise StoreError(
                "an event is older than what is kept of its key, and an aggregate over its whole lifetime "
                "depends on the order of events: give the stream a delay as long as events may be late"
            )
        if self.endless:
            self._fold_dropped(events.where(belated))
        return events.where(~belated)

    def _open(self, events: KeyedRun) -> None:
        """Turn pages into events again, from the last one back, as long as they have a later event."""
        first = np.full(len(self.keys), END)
        first[events.slot[events.firsts]] = events.run.newest[events.firsts]
        opening = True
        while opening:
            opening = False
            for at, last in enumerate(self._last_pages(), 1):
                level = self.levels[at]
                divided = last & (level.run.newest > first[level.slot])
                if divided.any():
                    opening = True
                    below = self._taken(level.where(divided))
                    self.levels[at] = level.where(~divided)
                    self.levels[at - 1] = below.followed_by(self.levels[at - 1])

    def _last_pages(self) -> list[Mask]:
        """Of level 1, 2, …: which record stands for the newest page of its key."""
        found, earlier = [], np.zeros(len(self.keys), np.bool_)
        for level in self.levels[1:]:
            last, lasts = np.zeros(len(level), np.bool_), level.lasts
            last[lasts] = ~earlier[level.slot[lasts]]
            earlier[level.slot] = True
            found.append(last)
        return found

    def _taken(self, records: KeyedRun) -> KeyedRun:
        """What the pages of these records hold; they are then no more."""
        names = self._names(records)
        self.removed += names
        old = [name for name in names if name not in self.written]
        found = dict(zip(old, self.read(old) if old else [], strict=True))
        run, sizes, *_ = unpacked([found.get(name) or self.written[name] for name in names], self.form)
        return KeyedRun(np.repeat(records.slot, sizes), run)

    def _names(self, records: KeyedRun) -> list[bytes]:
        numbers = (records.run.child // LEVELS).tolist()
        return [
            page_name(self.keys[slot], number)
            for slot, number in zip(records.slot.tolist(), numbers, strict=True)
        ]

    def _close(self) -> None:
        """Make pages of all that fills one."""
        for at in count():
            if at == len(self.levels):
                return
            level = self.levels[at]
            pages = np.bincount(level.slot, minlength=len(self.keys)) // FAN
            total = int(pages.sum())
            if not total:
                continue
            full = level.rank < FAN * pages[level.slot]
            whole, begins = level.where(full), np.arange(total) * FAN
            self.levels[at] = level.where(~full)
            folds = KeyedRun(whole.slot[begins], self.form.folded(whole.run, begins, begins + FAN))
            folds.run.child[:] = (self.newest_page[folds.slot] + 1 + folds.rank) * LEVELS + at + 1
            self.newest_page += pages
            made = packed(whole.run, np.full(total, FAN), self.form, batches=0, newest_pages=0)
            self.written.update(zip(self._names(folds), made, strict=True))
            above = self.levels[at + 1 : at + 2]
            self.levels[at + 1 : at + 2] = [above[0].followed_by(folds) if above else folds]

    def _drop(self, horizon: Ints, spare: bool) -> None:
        """Let go of pages without an event after the horizon of their key."""
        newest, gone = self._last_pages(), list[KeyedRun]()
        for at in range(len(self.levels) - 1, 0, -1):
            level = self.levels[at]
            old = level.run.newest <= horizon[level.slot]
            if spare:
                old &= ~newest[at - 1]
            if old.any():
                gone.append(level.where(old))
                self._remove(gone[-1], at)
                self.levels[at] = level.where(~old)
        if gone:
            self._fold_dropped(gone[0].followed_by(*gone[1:]))

    def _remove(self, records: KeyedRun, level: int) -> None:
        if level > 1:
            self._remove(self._taken(records), level - 1)
        else:
            self.removed += self._names(records)

    def _fold_dropped(self, records: KeyedRun) -> None:
        owners = records.slot[records.firsts]
        touched = np.zeros(len(self.keys), np.bool_)
        touched[owners] = True
        before = touched[self.dropped.slot]
        both = self.dropped.where(before).followed_by(records)
        lo, hi = both.firsts, both.lasts + 1
        newest = np.maximum.reduceat(both.run.newest, lo)
        made = self.form.folded(both.run, lo, hi) if self.endless else self.form.nothing(len(owners))
        self.dropped = self.dropped.where(~before).followed_by(self._dropped(owners, newest, made))

    def _dropped(self, owners: Ints, newest: Ints, folds: Run) -> KeyedRun:
        folds.words[:, 0] = newest
        oldest, child = np.full(len(owners), BEGINNING), np.full(len(owners), DROPPED)
        return KeyedRun(owners, Run(newest, oldest, child, folds.words, folds.objects))
