"""From the rows that a look-back query has emitted to what can be read at request time.

A row of such a query is an event with its features. The features are left out; the event is added to the
tree of its key (`forest`). So what is published is what the query itself has accepted, batch by batch:
an event that is late for the query is in neither.

- The head of a key is written together with its new pages, and names the batch. A batch that is executed
  again finds its number there, key by key, and adds nothing twice.
- Batches that were not published would leave a hole that no reader could see. The store therefore knows
  which batch was begun, written and done, and a publisher refuses to go on after a hole.
- A key holds its events for the longest look-back and as long again (or for the delay, if that is longer),
  before its newest event. What is older is only a fold, for look-backs without end.
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

from sash.aggregation.monoids.encoding import decode, encode
from sash.errors import CorruptValue, StoreError, Unsupported
from sash.operators.bound import REVISION, BoundLatest, BoundQuery, BoundRolling
from sash.operators.columns.layout import arrange
from sash.operators.columns.times import to_integers
from sash.semantics.event import Order
from sash.semantics.windows import SlideByTupleWindow
from sash.serving.description import described, narrowed, require_same
from sash.serving.forest import Forest, KeyedRun
from sash.serving.keys import key_bytes
from sash.serving.pages import batch_of, head_name
from sash.serving.places import Place, Read, place_of
from sash.serving.records import RecordForm

DESCRIPTION, PROGRESS = b"query", b"progress"
NEVER, HISTORY = -2, -1
"""Numbers before those of a stream's batches: of no batch, and of a bounded input that came before."""
GROUP = 1024
"""Keys that are read and written together: few enough for a server to be busy for milliseconds only."""


@dataclass(frozen=True)
class Progress:
    """Which batches a store has."""

    begun: int = NEVER
    written: int = NEVER
    """The newest batch that had rows."""
    done: int = NEVER
    owner: str = ""
    """The stream whose batches they are."""

    @classmethod
    def of(cls, data: bytes | None) -> Progress:
        return cls() if data is None else cls(*decode(data))

    @property
    def whole(self) -> bool:
        return self.written == self.done


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
                hint="A key that is forgotten begins anew within a look-back; give a forget_after that is "
                "not shorter than the longest look-back.",
            )  # fmt: skip
        return cls(narrowed(bound), os.fspath(store))

    @property
    def columns(self) -> list[str]:
        """What it needs of the rows that the query emits."""
        revision = [REVISION] if self.bound.query.revises else []
        return [*self.bound.schema.names, *revision]

    def begin(self, batch: int, *, owner: str = "") -> bool:
        """Called for every batch before its rows; returns whether the batch is published already. `owner`
        identifies the stream, also after a restart."""
        with self._opened() as (place, read):
            kept, known = read([DESCRIPTION, PROGRESS])
            description = described(self.bound)
            if kept is not None:
                require_same(kept, self.bound)
            progress = Progress.of(known)
            if progress.begun > HISTORY and progress.owner != owner:
                raise StoreError(
                    f"the features at {_shown(self.store)} are of another checkpoint, whose batches have "
                    "the same numbers; give this one an empty store"
                )
            expected = max(progress.begun, HISTORY) + 1 if progress.whole else progress.written
            if batch > expected:
                raise StoreError(
                    f"the features at {_shown(self.store)} go on with batch {expected}, and this is batch "
                    f"{batch}: those between were not published, so that look-backs would lack events. "
                    "Start the query with a new checkpoint and an empty store, or with one that "
                    "q.publish(store) has filled from a bounded input"
                )
            if batch > progress.begun or kept is None:
                self._note(place, replace(progress, begun=batch, owner=owner), description)
            return batch <= progress.done

    def publish(self, rows: pa.Table, batch: int) -> int:
        """Add the events of a batch, or of a part of it in which all events of a key are; how many keys."""
        if self.bound.query.revises:
            rows = rows.filter(pc.equal(rows[REVISION], 0))  # a correction is of an event that is there
        rows = rows.select(self.bound.schema.names)
        times = to_integers(rows[self.bound.time])
        layout = arrange(rows, list(self.bound.keys), times, np.arange(rows.num_rows), Order.EVENT_TIME)
        events = self._form.lifted(layout.rows, layout.times)
        firsts = layout.rows.select(list(self.bound.keys)).take(pa.array(layout.firsts))
        keys = key_bytes(firsts, layout.slots)
        run = KeyedRun(layout.slot_of_position(), events)
        with self._opened() as (place, read):
            for first in range(0, len(keys), GROUP):
                ends = np.searchsorted(run.slot, [first, first + GROUP])
                some = KeyedRun(run.slot[slice(*ends)] - first, events.take(slice(*ends)))
                place.write(*self._grown(read, keys[first : first + GROUP], some, batch))
        return len(keys)

    def _grown(
        self, read: Read, keys: Sequence[bytes], events: KeyedRun, batch: int
    ) -> tuple[dict[bytes, bytes], list[bytes]]:
        """What to write and what to remove to add the events of these keys."""
        heads = read([head_name(key) for key in keys])
        new = np.array([head is None or batch_of(head, self._form) < batch for head in heads])
        if not new.all():  # the batch is executed again
            chosen = np.flatnonzero(new).tolist()
            keys, heads = [keys[at] for at in chosen], [heads[at] for at in chosen]
            events = events.where(new[events.slot])
            events = KeyedRun((np.cumsum(new) - 1)[events.slot], events.run)
        forest = Forest.of(
            self._form, keys, heads, lambda names: self._pages(read, names),
            batch=batch, endless=self._endless,
        )  # fmt: skip
        forest.insert(events, span=self._span)
        return forest.changes()

    def publish_history(self, rows: pa.Table) -> None:
        """Add the events of a bounded input, before those of any stream."""
        if self.begin(HISTORY) or self.progress().begun > HISTORY:
            raise StoreError(
                f"the features at {_shown(self.store)} are published already; a bounded input needs an "
                "empty store"
            )
        self.writing(HISTORY)
        self.publish(rows, HISTORY)
        self.done(HISTORY)

    def progress(self) -> Progress:
        with self._opened() as (_, read):
            return Progress.of(*read([PROGRESS]))

    def writing(self, batch: int) -> None:
        """Called before the rows of a batch are published."""
        self._move(batch, done=False)

    def done(self, batch: int) -> None:
        """Called when all rows of a batch are published."""
        self._move(batch, done=True)

    def _move(self, batch: int, *, done: bool) -> None:
        with self._opened() as (place, read):
            (known,) = read([PROGRESS])
            progress = replace(Progress.of(known), written=batch)
            moved = replace(progress, done=batch) if done else progress
            self._note(place, moved, described(self.bound))

    def _note(self, place: Place, progress: Progress, description: bytes) -> None:
        place.write({DESCRIPTION: description, PROGRESS: encode(astuple(progress))}, [])

    @cached_property
    def _form(self) -> RecordForm:
        return RecordForm(self.bound)

    @property
    def _span(self) -> int:
        longest = max((window.size for window in _look_backs(self.bound) if not window.endless), default=0)
        return longest + max(longest, self.bound.query.delay.length)

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


def _look_backs(bound: BoundRolling) -> tuple[SlideByTupleWindow, ...]:
    return cast(tuple[SlideByTupleWindow, ...], bound.query.windows)


def _shown(store: str) -> str:
    """Without the password that a URL may have."""
    return store.rpartition("@")[2]
