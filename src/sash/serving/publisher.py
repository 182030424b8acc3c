"""From the rows that a look-back query has emitted to what can be read at request time.

A row of such a query is an event with its features. The features are left out; the event is added to the
tree of its key (`published_page_trees`). So what is published is what the query itself has accepted, batch
by batch: an event that is late for the query is in neither.

- The head of a key is written together with its new pages, and names the batch. A batch that is executed
  again finds its number there, key by key, and adds nothing twice.
- A task that was taken for dead, and continues when later batches are there, is refused: it would put the
  head of a key back. So whoever writes looks, in the same transaction, whether the store is still at the
  batch before its own.
- Batches that were not published would leave a hole that no reader could see. The store therefore knows
  which batch was the last to end, with rows or without, and a publisher refuses to go on after a hole.
- A key holds its events for the longest look-back and as long again (or for the delay, if that is longer),
  before its newest event. What is older is only a fold, for look-backs without end.
- A key that is silent for as long is let go (`_sweep`), when all rows of a batch are written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.encoding import decode, encode
from sash.errors import CorruptValue, StoreError, Unsupported
from sash.operators.bound_query import REVISION, BoundLatest, BoundQuery, BoundRolling
from sash.operators.columns.layout import arrange
from sash.operators.columns.times import to_integers
from sash.semantics.event import Order
from sash.semantics.windows import SlideByTupleWindow
from sash.serving.feature_stores import Place, Read, outdated, place_of
from sash.serving.key_bytes import key_bytes
from sash.serving.published_page_trees import BEGINNING, Forest, KeyedRun
from sash.serving.query_description import described, narrowed, require_same
from sash.serving.record_pages import batch_of
from sash.serving.records import RecordForm
from sash.serving.store_names import (
    DESCRIPTION,
    LABEL,
    PROGRESS,
    SWEPT,
    due_entry,
    due_key,
    head_name,
    time_of,
)

NEVER, HISTORY = -2, -1
"""Numbers before those of a stream's batches: of no batch, and of a bounded input that came before."""
INPUT = "a bounded input"
"""The owner of a store while one is published."""
GROUP = 1024
"""Keys that are read and written together: few enough for a server to be busy for milliseconds only."""


@dataclass(frozen=True)
class PublisherProgress:
    """What a store has."""

    done: int = NEVER
    """The newest batch that has ended."""
    owner: str = ""
    """The stream whose batches they are."""
    newest: int = BEGINNING
    """The newest time of all events."""

    @classmethod
    def of(cls, data: bytes | None) -> PublisherProgress:
        return cls() if data is None else cls(*decode(data))


@dataclass(frozen=True)
class Published:
    """What was added of a batch."""

    keys: int = 0
    newest: int = BEGINNING


NO_ROWS = Published()


@dataclass(frozen=True)
class Publisher:
    """Of one query, to one store. Travels to executors."""

    bound: BoundRolling
    store: str

    @classmethod
    def of(cls, bound: BoundQuery, store: str | os.PathLike[str]) -> Publisher:
        """Refuses what could not be read at request time."""
        if not isinstance(bound, BoundRolling):
            raise Unsupported(
                "online", _shown(os.fspath(store)), "used with .rolling(…).agg(…)",
                hint="Look-backs have a value at every instant; windows do not.",
            )  # fmt: skip
        if isinstance(bound, BoundLatest):
            raise Unsupported(
                "online", _shown(os.fspath(store)), "used with .rolling(…).agg(…)",
                hint="Rows of .latest are no events; .rolling over the same look-backs has its values at "
                "every instant.",
            )  # fmt: skip
        query = bound.query
        longest = max((window.size for window in _look_backs(bound)), default=0)
        if 0 < query.forget_after.length < longest:
            raise Unsupported(
                "online", _shown(os.fspath(store)), f"left out with forget_after={query.forget_after}",
                hint="A key that is forgotten starts from nothing within a look-back; give a forget_after "
                "that is not shorter than the longest look-back.",
            )  # fmt: skip
        return cls(narrowed(bound), os.fspath(store))

    @property
    def columns(self) -> list[str]:
        """What it needs of the rows that the query emits."""
        revision = [REVISION] if self.bound.query.revises else []
        return [*self.bound.schema.names, *revision]

    def begin(self, batch: int, *, owner: str = "", label: bytes = b"") -> bool:
        """Called for every batch before its rows; returns whether the batch is published already. `owner`
        identifies the stream, also after a restart; `label` names its checkpoint, for whoever finds the
        features of one that was deleted."""
        with self._opened() as (place, read):
            kept, known, labelled = read([DESCRIPTION, PROGRESS, LABEL])
            if kept is not None:
                require_same(kept, self.bound)
            progress = PublisherProgress.of(known)
            if progress.owner != owner and (progress.owner or progress.done > HISTORY):
                raise StoreError(
                    f"the features at {_shown(self.store)} are "
                    + (
                        "of a bounded input that was not published to its end; publish it again"
                        if progress.owner == INPUT
                        else "of another checkpoint, whose batches have the same numbers; give this one an "
                        "empty store (sash doctor --clean lists those of deleted checkpoints on a server)"
                    )
                )
            expected = max(progress.done, HISTORY) + 1
            if batch > expected:
                raise StoreError(
                    f"the features at {_shown(self.store)} continue with batch {expected}, and this is "
                    f"batch {batch}: those between were not published, and look-backs would lack events. "
                    "Start the query with a new checkpoint and an empty store, or with one that "
                    "q.publish(store) has filled from a bounded input"
                )
            facts: dict[bytes, bytes] = {}
            if known is None or progress.owner != owner:
                facts = {
                    DESCRIPTION: described(self.bound),
                    PROGRESS: _noted(replace(progress, owner=owner)),
                }
            if label and label != labelled:
                facts[LABEL] = label
            if facts:
                place.write(facts, [])
            return batch <= progress.done

    def publish(self, rows: pa.Table, batch: int) -> Published:
        """Add the events of a batch, or of a part of it in which all events of a key are."""
        if self.bound.query.revises:
            rows = rows.filter(pc.equal(rows[REVISION], 0))  # a correction is of an event that is there
        rows = rows.select(self.bound.schema.names)
        times = to_integers(rows[self.bound.time])
        layout = arrange(rows, list(self.bound.keys), times, None, Order.EVENT_TIME)
        events = self._form.lifted(layout.rows, layout.times)
        firsts = layout.rows.select(list(self.bound.keys)).take(pa.array(layout.firsts))
        keys = key_bytes(firsts, layout.slots)
        with self._opened() as (place, read):
            (known,) = read([PROGRESS])
            if PublisherProgress.of(known).done >= batch:
                raise outdated()
            for first in range(0, len(keys), GROUP):
                edges = layout.offsets[[first, min(first + GROUP, len(keys))]]
                sizes = layout.sizes[first : first + GROUP]
                some = KeyedRun(np.repeat(np.arange(len(sizes)), sizes), events.take(slice(*edges)))
                self._add(place, read, keys[first : first + GROUP], some, batch, known)
        return Published(len(keys), int(times.max(initial=BEGINNING)))

    def _add(
        self, place: Place, read: Read, keys: Sequence[bytes], events: KeyedRun, batch: int,
        known: bytes | None,
    ) -> None:  # fmt: skip
        *heads, swept = read([*map(head_name, keys), SWEPT])
        new = np.array([head is None or batch_of(head, self._form) < batch for head in heads])
        if not new.all():  # the batch is executed again
            chosen = np.flatnonzero(new).tolist()
            keys, heads = [keys[at] for at in chosen], [heads[at] for at in chosen]
            events = events.where(new[events.slot])
            events = KeyedRun((np.cumsum(new) - 1)[events.slot], events.run)
        forest = self._forest(read, keys, heads)
        asleep = forest.bare
        if swept is not None:
            forest.begin_after(time_of(swept))
        forest.insert(events, batch=batch, span=self._span, spare=not self._sweeps)
        values, removed = forest.changes()
        awake = np.flatnonzero(asleep & ~forest.bare)
        times = forest.newest[awake].tolist()
        due = [due_entry(time, keys[slot]) for time, slot in zip(times, awake.tolist(), strict=True)]
        place.write(values, removed, due=due if self._sweeps else [], expected=(PROGRESS, known))

    def publish_history(self, rows: pa.Table) -> None:
        """Add the events of a bounded input, before those of any stream."""
        if self.progress().done > NEVER:
            raise StoreError(
                f"the features at {_shown(self.store)} are published already; a bounded input needs an "
                "empty store"
            )
        self.begin(HISTORY, owner=INPUT)
        self.done(HISTORY, self.publish(rows, HISTORY))

    def progress(self) -> PublisherProgress:
        with self._opened() as (_, read):
            return PublisherProgress.of(*read([PROGRESS]))

    def done(self, batch: int, published: Published = NO_ROWS) -> None:
        """Called when all rows of a batch are published, and when a batch has none."""
        with self._opened() as (place, read):
            (known,) = read([PROGRESS])
            progress = PublisherProgress.of(known)
            newest = max(progress.newest, published.newest)
            owner = "" if batch == HISTORY else progress.owner  # a stream may go on
            progress = PublisherProgress(max(batch, progress.done), owner, newest)
            place.write({PROGRESS: _noted(progress)}, [], expected=(PROGRESS, known))
            if self._sweeps and published.keys:
                # As many keys as were changed: then no silent one waits for more than another round.
                for _ in range(-(-published.keys // GROUP)):
                    if not self._sweep(place, read, newest - self._span, _noted(progress)):
                        break

    def _sweep(self, place: Place, read: Read, horizon: int, known: bytes) -> bool:
        """Look at the keys that are due, a group of them; those without an event after the horizon are let
        go. Returns whether there may be more."""
        entries = place.due(due_entry(horizon + 1, b""), GROUP)
        if not entries:
            return False
        keys = [due_key(entry) for entry in entries]
        *heads, swept = read([*map(head_name, keys), SWEPT])
        newest = self._forest(read, keys, heads).newest
        silent = newest <= horizon
        moved = np.flatnonzero(~silent).tolist()
        due = [due_entry(int(newest[at]), keys[at]) for at in moved]
        gone = np.flatnonzero(silent).tolist()
        forest = self._forest(read, [keys[at] for at in gone], [heads[at] for at in gone])
        forest.let_go()
        if gone and not self._endless:
            # Before they are gone: who does not find a key must know that it may have been there.
            latest = max(int(newest[silent].max()), BEGINNING if swept is None else time_of(swept))
            place.write({SWEPT: due_entry(latest, b"")}, [])
        values, removed = forest.changes()
        place.write(values, removed, due=due, past=entries, expected=(PROGRESS, known))
        return len(entries) == GROUP

    def _forest(self, read: Read, keys: Sequence[bytes], heads: Sequence[bytes | None]) -> Forest:
        return Forest.of(
            self._form, keys, heads, lambda names: self._pages(read, names), endless=self._endless
        )

    @cached_property
    def _form(self) -> RecordForm:
        return RecordForm(self.bound)

    @property
    def _span(self) -> int:
        longest = max((window.size for window in _look_backs(self.bound) if not window.endless), default=0)
        return longest + max(longest, self.bound.query.delay.length)

    @property
    def _sweeps(self) -> bool:
        """Whether silent keys are let go. Where every look-back is without end there is nothing to gain:
        a key is one fold and its last page."""
        return not all(window.endless for window in _look_backs(self.bound))

    @property
    def _endless(self) -> bool:
        return any(window.endless for window in _look_backs(self.bound))

    def _pages(self, read: Read, names: Sequence[bytes]) -> list[bytes]:
        pages = read(names)
        if None in pages:
            raise CorruptValue(f"a page of published features is missing at {_shown(self.store)}")
        return pages

    @contextmanager
    def _opened(self) -> Iterator[tuple[Place, Read]]:
        place = place_of(self.store)
        try:
            yield place, lambda names: _read(place, names)
        finally:
            place.close()

    def __getstate__(self) -> dict[str, object]:
        return {"bound": self.bound, "store": self.store}


def _read(place: Place, names: Sequence[bytes]) -> list[bytes | None]:
    """Copies: a view of LMDB ends with its transaction, and a writer has none open meanwhile."""
    with place.reading() as read:
        return [None if data is None else bytes(data) for data in read(names)]


def _noted(progress: PublisherProgress) -> bytes:
    return encode(astuple(progress))


def _look_backs(bound: BoundRolling) -> tuple[SlideByTupleWindow, ...]:
    return cast(tuple[SlideByTupleWindow, ...], bound.query.windows)


def _shown(store: str) -> str:
    """Without the password that a URL may have."""
    return store.rpartition("@")[2]
