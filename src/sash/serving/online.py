"""`sash.online(store)`: the features of keys at an instant, read from what a stream has published.

    row(key, at)  =  every aggregate over  { events of the key with at − L < time ≤ at },  each look-back L

It is the row that `.rolling` has for an event at that instant, without the event itself. Look-backs end at
the same instant, so that their records are suffixes of one sequence: the events at both ends one by one,
between them the folds of whole pages.

The head of a key comes first, then the pages that a bound divides, level by level, for all keys at once:
one read for each level, of which there are as many as the logarithm of a key's events. All that is read of
a key belongs to one head, and a head to one batch: pages never change, and one that a newer batch has
removed meanwhile makes the reader begin again with the newer head. Over HTTP: `dashboard.feature_app`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.errors import ArgumentError, StoreError
from sash.operators.bound_query import BoundLatest, BoundRolling
from sash.operators.columns.times import FARTHEST
from sash.semantics.time_format import EPOCH
from sash.semantics.windows import SlideByTupleWindow
from sash.serving.feature_stores import Read, place_of
from sash.serving.key_bytes import key_bytes
from sash.serving.query_description import narrowed, restored
from sash.serving.record_pages import DROPPED, LEVELS, Page
from sash.serving.records import RecordForm
from sash.serving.store_names import DESCRIPTION, SWEPT, head_name, page_name, time_of

ATTEMPTS = 20
"""How often a read begins again because a newer batch has removed what it needs."""
ALWAYS = -(2**63)
"""Before the oldest time of any record."""


class _Removed(Exception):
    """A page is there no more: its key has a newer head."""


class OnlineFeatures:
    """The features of one store. Made by `sash.online`; safe to share between threads."""

    def __init__(self, store: str | os.PathLike[str], bound: BoundRolling | None) -> None:
        self._place = place_of(store, create=False)
        try:
            self._bound = self._published(store, bound)
            self._form = RecordForm(self._bound)
        except BaseException:
            self.close()  # nobody else has it
            raise
        windows = cast(tuple[SlideByTupleWindow, ...], self._bound.query.windows)
        # The longest first, so that the bounds of an instant are in order.
        self._windows = sorted(windows, key=lambda window: -window.size)
        self._features = {
            (name, at): self._bound.feature(name, window)
            for name in self._bound.aggregates
            for at, window in enumerate(self._windows)
        }
        self.reads = 0
        """How many heads and other pages were read from the store so far."""

    def _published(self, store: str | os.PathLike[str], bound: BoundRolling | None) -> BoundRolling:
        """The query whose features are there, which `bound` must be where it is given."""
        with self._place.reading() as read:
            (kept,) = read([DESCRIPTION])
            kept = None if kept is None else bytes(kept)
        if kept is None:
            raise StoreError(
                f"there are no features at {os.fspath(store).rpartition('@')[2]}: they are published by "
                "q.start(…, online=…)"
            )
        return restored(kept, query=bound)

    def __repr__(self) -> str:
        labels = ", ".join(window.label for window in self._bound.query.windows)
        return f"<sash online features: {', '.join(self._bound.aggregates)} over {labels}>"

    @cached_property
    def columns(self) -> list[str]:
        """Of the rows that `get` returns."""
        return [*self.keys, self._bound.time, *(field.name for field in self._bound.features)]

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that make a key."""
        return self._bound.keys

    @property
    def key_types(self) -> dict[str, pa.DataType]:
        """The same, with their Arrow types."""
        return {name: self._bound.schema.field(name).type for name in self._bound.keys}

    def get(self, keys: Iterable[Any] | None = None, *, at: Any = None) -> pa.Table:
        """One row for each key, in the order in which they are given: the key, the instant, the features.

        keys: values of the key column; tuples or dicts where several columns make a key. A key that has no
            events has the values of no events (0 for a count, null for most). Left out without a key.
        at:   the instant, or one for each key: a datetime (in UTC where it has no zone), also of numpy and
            pandas, a text as '2026-01-05T10:00:00', or an integer in the unit of the time column
            (microseconds for timestamps). Now, when not given.

        Each row is of one batch: pages of a key never change, and its head, which names them, is replaced
        together with them. Rows of different keys may be of different batches.
        """
        wanted = self._keys(keys)
        count = wanted.num_rows if wanted.num_columns else 1
        instants = self._instants(at, count)
        names = key_bytes(wanted, count)
        for _ in range(ATTEMPTS):
            try:
                with self._place.reading() as read:
                    values = self._values(read, names, instants)
                break
            except _Removed:
                continue
        else:
            raise StoreError("the store changes faster than it can be read")
        features = [values[name] for name in self.columns[wanted.num_columns + 1 :]]
        stamps = pa.array(instants).view(self._bound.bound_type)
        return pa.Table.from_arrays([*wanted.columns, stamps, *features], names=self.columns)

    def close(self) -> None:
        self._place.close()

    def __enter__(self) -> OnlineFeatures:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # What a request names

    def _keys(self, keys: Iterable[Any] | None) -> pa.Table:
        names = self._bound.keys
        if not names:
            if keys is not None:
                raise ArgumentError("keys", keys, "left out for a query without keys")
            return pa.table({})
        if hasattr(keys, "columns"):
            raise ArgumentError(
                "keys", f"a {type(keys).__name__}", "a list of keys",
                hint="Of an Arrow table: table.select([…]).to_pylist().",
            )  # fmt: skip
        if keys is None or isinstance(keys, str | bytes | Mapping) or not isinstance(keys, Iterable):
            raise ArgumentError("keys", keys, "a list of keys")
        rows = [self._key(key) for key in keys]
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        fields = [self._bound.schema.field(name) for name in names]
        try:
            arrays = [pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)]
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            types = ", ".join(f"{field.name}: {field.type}" for field in fields)
            raise ArgumentError("keys", rows[:3], f"values of {types}", hint=f"{error}.") from None
        return pa.table(arrays, names=list(names))

    def _key(self, key: Any) -> tuple[Any, ...]:
        names = self._bound.keys
        if isinstance(key, str | int) and len(names) == 1:
            return (key,)
        if isinstance(key, Mapping):
            if set(key) != set(names):
                raise ArgumentError("keys", key, f"with a value for each of {', '.join(names)}")
            return tuple(key[name] for name in names)
        values = tuple(key) if isinstance(key, tuple | list) else (key,)
        if len(values) != len(names):
            raise ArgumentError("keys", key, f"a value for each of {', '.join(names)}")
        return values

    def _instants(self, at: Any, count: int) -> Ints:
        if isinstance(at, pa.Array | pa.ChunkedArray):
            at = at.to_pylist()
        if isinstance(at, Iterable) and not isinstance(at, str):
            instants = [self._instant(one) for one in at]
            if len(instants) != count:
                raise ArgumentError(
                    "at", f"{len(instants)} instants", f"one, or one for each of {count} keys"
                )
            return np.array(instants, np.int64)
        return np.full(count, self._instant(at), np.int64)

    def _instant(self, at: Any) -> int:
        clock = pa.types.is_timestamp(self._bound.time_type)
        if at is None and clock:
            return time.time_ns() // 1000
        if isinstance(at, str) and clock:
            try:
                at = datetime.fromisoformat(at)
            except ValueError:
                raise ArgumentError("at", at, "a time such as '2026-01-05T10:00:00'") from None
        if isinstance(at, np.datetime64) and clock and not np.isnat(at):
            at = int(at.astype("datetime64[us]").astype(np.int64))
        if isinstance(at, datetime) and clock:
            moment = at if at.tzinfo else at.replace(tzinfo=UTC)
            return _microseconds(moment)
        if isinstance(at, int | np.integer) and not isinstance(at, bool) and abs(int(at)) <= FARTHEST:
            return int(at)
        form = (
            "a datetime, a text or microseconds" if clock else "an integer, as the times of its events are"
        )
        raise ArgumentError("at", at, form)

    # What is read

    def _values(self, read: Read, names: Sequence[bytes], instants: Ints) -> dict[str, pa.Array]:
        bounds = [
            [ALWAYS if window.endless else at - window.size for window in self._windows] + [at]
            for at in instants.tolist()
        ]
        words, objects, lengths = self._records(read, names, bounds)
        count, look_backs = len(names), len(self._windows)
        ends = np.cumsum(lengths)
        edges = np.array(bounds, np.int64).reshape(count, look_backs + 1)
        owners = np.repeat(np.arange(count), lengths)
        # The records of a key begin with its longest look-back; those before a shorter one are skipped.
        newest = words[:, 0]
        skipped = [
            np.bincount(owners, newest <= edges[owners, at], minlength=count) for at in range(look_backs)
        ]
        lo = (ends - lengths + np.array(skipped).reshape(look_backs, count)).astype(np.int64).reshape(-1)
        # One look-back of all keys after the other: then neither end decreases within a look-back.
        groups = np.arange(look_backs + 1) * count
        folded = self._form.values(words, objects, lo, np.tile(ends, look_backs), groups)
        return {
            feature: folded[name].slice(at * count, count) for (name, at), feature in self._features.items()
        }

    def _records(
        self, read: Read, names: Sequence[bytes], bounds: Sequence[Sequence[int]]
    ) -> tuple[Ints, list[list[bytes]], Ints]:
        """The records of each key between its first bound and its last, none of which a bound divides."""
        *found, swept = read([*map(head_name, names), SWEPT])
        heads, self.reads = self._pages(found), self.reads + len(names)
        if swept is not None and None in heads:
            # A key that is not there may have been let go.
            at = min(bound[-1] for head, bound in zip(heads, bounds, strict=True) if head is None)
            if at - self._windows[0].size < time_of(swept):
                raise _held_no_more(at, time_of(swept))
        # Of each key: parts of pages in the order of time, and names of pages that are still to be read.
        trails: list[list[Any]] = [
            [] if head is None else self._divided(name, head, bound)
            for name, head, bound in zip(names, heads, bounds, strict=True)
        ]
        while True:
            wanted = [part for trail in trails for part in trail if isinstance(part, bytes)]
            if not wanted:
                break
            below = dict(zip(wanted, self._read(read, wanted), strict=True))
            if any(page is None for page in below.values()):
                raise _Removed
            trails = [
                [
                    piece
                    for part in trail
                    for piece in (
                        self._divided(name, cast(Page, below[part]), bound)
                        if isinstance(part, bytes)
                        else (part,)
                    )
                ]
                for name, trail, bound in zip(names, trails, bounds, strict=True)
            ]
        parts = [part for trail in trails for part in trail]
        joined = b"".join([page.records(lo, hi) for page, lo, hi in parts])
        objects: list[list[bytes]] = [[] for _ in self._form.object_parts]
        if objects:
            for page, lo, hi in parts:
                for column, more in zip(objects, page.objects(self._form, lo, hi), strict=True):
                    column += more
        words = np.frombuffer(joined, np.int64).reshape(-1, self._form.width)
        lengths = np.array([sum(hi - lo for _, lo, hi in trail) for trail in trails], np.int64)
        return words, objects, lengths

    def _read(self, read: Read, names: Sequence[bytes]) -> list[Page | None]:
        self.reads += len(names)
        return self._pages(read(names))

    def _pages(self, values: Sequence[Any]) -> list[Page | None]:
        return [None if data is None else Page.of(data, self._form) for data in values]

    def _divided(self, key: bytes, page: Page, bounds: Sequence[int]) -> list[Any]:
        """The part of a page between the first bound and the last: runs of records that no bound divides,
        and the names of the pages in whose place the divided ones stand."""
        pieces: list[Any] = []
        at, cuts, end = page.divided(bounds)
        for cut in cuts:
            child = page.child[cut]
            if child == DROPPED:
                raise _held_no_more(bounds[-1], page.newest[cut])
            if at < cut:
                pieces.append((page, at, cut))
            pieces.append(page_name(key, child // LEVELS))
            at = cut + 1
        if at < end:
            pieces.append((page, at, end))
        return pieces


def _held_no_more(at: int, until: int) -> ArgumentError:
    return ArgumentError(
        "at", at, "a later instant",
        hint=f"Events up to {until} have been dropped: they are older than twice the longest look-back.",
    )  # fmt: skip


def _microseconds(moment: datetime) -> int:
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds


def online(store: str | os.PathLike[str], *, query: Any = None) -> OnlineFeatures:
    """The features that `q.start(…, online=store)` publishes, to be read at any instant, without Spark.

    store: "redis://host:port/db" (with "#name" for several queries on one server), or the folder of LMDB.
    query: only for aggregates of your own, whose code is not in the store: the query, over any input with
        the same columns.
    """
    bound = getattr(query, "bound", None)
    if query is not None and (not isinstance(bound, BoundRolling) or isinstance(bound, BoundLatest)):
        raise ArgumentError("query", query, "the .rolling(…).agg(…) that was published")
    return OnlineFeatures(store, None if bound is None else narrowed(cast(BoundRolling, bound)))
