"""The tree of one key, as its publisher changes it: events at the end, folds of `FAN` of them above.

    head      [dropped] · records of level L … 2 · of level 1 · events
    level 1   a record stands for a page of FAN events;  level ℓ   for a page of FAN records of level ℓ − 1

The newest events are in the head itself. As soon as there are FAN of them they become a page, and one
record of level 1 in the head; as soon as there are FAN of those, a page again, and one record of level 2;
and so on. So the head stays small, and the events at any instant of the past are as many pages away as the
logarithm of how many events came after them.

An event that is older than some that are there already (look-backs that are answered on arrival) opens the
pages that it comes before, and they are made anew under other names: a page never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sash.arrays import Ints
from sash.errors import StoreError
from sash.serving.pages import DROPPED, LEVELS, Page, head_name, packed, page_name
from sash.serving.records import RecordForm, Run

FAN = 64
BEGINNING = -(2**62)
"""Before all times."""

ReadPages = Callable[[Sequence[bytes]], list[Page]]


@dataclass
class KeyTree:
    """What a key has in the store, and what is to be written of it."""

    form: RecordForm
    key: bytes
    read: ReadPages
    batch: int = 0
    newest_page: int = 0
    dropped: Run = field(init=False)
    levels: list[Run] = field(init=False)
    """levels[0] are the events in the head."""
    written: dict[bytes, bytes] = field(default_factory=dict)
    removed: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dropped, self.levels = self.form.empty(), [self.form.empty()]

    @classmethod
    def of(cls, form: RecordForm, key: bytes, head: Page | None, read: ReadPages) -> KeyTree:
        tree = cls(form, key, read)
        if head is None:
            return tree
        tree.batch, tree.newest_page = head.batch, head.newest_page
        run = head.run(form)
        level = run.child % LEVELS
        gone = int((run.child == DROPPED).sum())
        tree.dropped, run, level = run.span(0, gone), run.span(gone, len(run)), level[gone:]
        ends = np.searchsorted(-level, -np.arange(int(level.max(initial=0)) + 1), side="right")
        begins = np.append(ends[1:], 0)
        tree.levels = [run.span(int(lo), int(hi)) for lo, hi in zip(begins, ends, strict=True)]
        return tree

    def insert(self, events: Run, *, batch: int, span: int, endless: bool) -> None:
        """Add the events of a batch, which are in the order of time, and let go of those that are `span`
        and more older than the newest; `endless` keeps their fold."""
        self.batch = batch
        if len(self.dropped) and events.newest[0] < self.dropped.newest[0]:
            events = self._belated(events, endless)
        if len(events):
            self._open(int(events.newest[0]))
            self.levels[0] = self.levels[0].followed_by(events).sorted()
        self._close()
        self._drop(self._newest() - span, endless)

    def head(self) -> bytes:
        run = self.dropped
        for level in reversed(self.levels):
            run = run.followed_by(level)
        return packed(run, self.form, batch=self.batch, newest_page=self.newest_page)

    def changes(self) -> tuple[dict[bytes, bytes], list[bytes]]:
        """What to write and what to remove, all at once."""
        gone = [name for name in self.removed if name not in self.written]
        kept = {name: page for name, page in self.written.items() if name not in set(self.removed)}
        return kept | {head_name(self.key): self.head()}, gone

    def _newest(self) -> int:
        return max((int(level.newest[-1]) for level in self.levels if len(level)), default=BEGINNING)

    def _belated(self, events: Run, endless: bool) -> Run:
        """The events that are not older than what is held no more. Others matter to look-backs without
        end only."""
        count = int(np.searchsorted(events.newest, self.dropped.newest[0]))
        if endless and count and not self.form.commutes:
            raise StoreError(
                "an event is older than what is kept of its key, and an aggregate over its whole lifetime "
                "depends on the order of events: give the stream a delay as long as events may be late"
            )
        if endless:
            self._fold_dropped(events.span(0, count), endless)
        return events.span(count, len(events))

    def _open(self, time: int) -> None:
        """Turn pages into events again, from the last one back, as long as they have a later event."""
        while True:
            level = next((at for at, run in enumerate(self.levels) if at and len(run)), None)
            if level is None or self.levels[level].newest[-1] <= time:
                return
            run = self.levels[level]
            self.levels[level] = run.span(0, len(run) - 1)
            below = self._take(run.child[-1:])[0]
            self.levels[level - 1] = below.followed_by(self.levels[level - 1])

    def _take(self, children: Ints) -> list[Run]:
        """Pages, which are then no more."""
        names = [page_name(self.key, child // LEVELS) for child in children.tolist()]
        self.removed += names
        new = {name: Page.of(self.written[name], self.form) for name in names if name in self.written}
        old = [name for name in names if name not in new]
        found = new | dict(zip(old, self.read(old) if old else [], strict=True))
        return [found[name].run(self.form) for name in names]

    def _close(self) -> None:
        """Make pages of all that fills one."""
        at = 0
        while at < len(self.levels):
            run = self.levels[at]
            pages = len(run) // FAN
            if pages:
                if at + 1 == len(self.levels):
                    self.levels.append(self.form.empty())
                begins = np.arange(pages) * FAN
                folds = self.form.folded(run, begins, begins + FAN)
                for number, begin in enumerate(begins.tolist()):
                    self.newest_page += 1
                    folds.child[number] = self.newest_page * LEVELS + at + 1
                    page = packed(run.span(begin, begin + FAN), self.form, batch=self.batch, newest_page=0)
                    self.written[page_name(self.key, self.newest_page)] = page
                self.levels[at + 1] = self.levels[at + 1].followed_by(folds)
                self.levels[at] = run.span(pages * FAN, len(run))
            at += 1

    def _drop(self, horizon: int, endless: bool) -> None:
        """Let go of pages without an event after the horizon."""
        for at in range(len(self.levels) - 1, 0, -1):
            run = self.levels[at]
            old = int(np.searchsorted(run.newest, horizon, side="right"))
            if old:
                self._fold_dropped(run.span(0, old), endless)
                self._remove(run.child[:old], at)
                self.levels[at] = run.span(old, len(run))
            if old < len(run):
                return

    def _remove(self, children: Ints, level: int) -> None:
        if level == 1:
            self.removed += [page_name(self.key, child // LEVELS) for child in children.tolist()]
            return
        for run in self._take(children):
            self._remove(run.child, level - 1)

    def _fold_dropped(self, run: Run, endless: bool) -> None:
        both = self.dropped.followed_by(run)
        folded = self.form.folded(both, np.zeros(1, np.int64), np.full(1, len(both))) if endless else None
        newest = int(both.newest.max())
        made = self.form.nothing() if folded is None else folded
        made.words[0, 0] = newest
        self.dropped = Run(
            np.full(1, newest), np.full(1, BEGINNING), np.full(1, DROPPED), made.words, made.objects
        )
