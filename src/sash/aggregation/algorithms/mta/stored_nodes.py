"""The nodes of a monoid tree in a store: what a window need not have in memory.

    key    prefix · level, one byte · number of the page, eight bytes
    value  a page of 1,024 consecutive nodes of that level, written once when it is full

Of every level only the newest page, which still grows, and the page read last are in memory: O(log n) pages
however long the window is. Insertion reads nothing; an eviction reads at most two nodes per level, usually
from pages that are here. What is dead is deleted a few pages at a time, with the pages and evictions that
follow: an eviction of any size takes O(log n) steps, and a store holds at most what the longest window did.
Columns of numbers are stored as they are, objects as what the monoid's `encode`
gives; nothing is ever pickled. The window's own part, tails and stack, stays in memory: a store makes
windows longer, it does not make them last.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.aggregation.algorithms.column_kinds import as_array, narrowest_kind
from sash.aggregation.algorithms.mta.aligned_blocks import LevelAndIndex
from sash.aggregation.algorithms.mta.nodes import TIMES
from sash.aggregation.algorithms.protocol import as_list
from sash.aggregation.elements import ABSENT
from sash.aggregation.interpreted import is_scalar, shaped
from sash.aggregation.monoid import Monoid
from sash.aggregation.stores.protocol import Store
from sash.aggregation.stores.values import pack, unpack
from sash.arrays import Array
from sash.errors import StoreError, Unsupported

PAGE = 1024
DELETED_AT_ONCE = 64
"""Pages of a level that one eviction deletes at most."""
_KEY = struct.Struct(">BQ")
_TAG = b"node"

Arrays = list[Array]


class Level:
    """The nodes [first, stop) of one level: full pages in the store, the newest here."""

    def __init__(self, start: int) -> None:
        self.low = start // PAGE
        self.tail: list[Any] = [ABSENT] * (start % PAGE)
        self.page = start // PAGE
        self.seen: tuple[int, Arrays] | None = None
        """The page that was read last."""
        self.dead: list[range] = []
        """Pages that are still in the store, and are read no more."""

    @property
    def stop(self) -> int:
        return self.page * PAGE + len(self.tail)


class StoredNodes:
    """`Nodes` over a `Store`. It writes under `prefix`, and leaves commits to the owner of the store."""

    def __init__(self, store: Store, monoid: Monoid, *, prefix: bytes = b"") -> None:
        self._store, self._monoid, self._prefix = store, monoid, prefix
        self._scalar, self._shaped = is_scalar(monoid), shaped(monoid)
        self._levels: dict[int, Level] = {}

    def put(self, level: int, first: int, values: Sequence[Any]) -> None:
        held = self._levels.get(level)
        if held is None or held.stop != first:
            # The blocks in between began before the window did and were never made; all below are dead.
            dead = []
            if held is not None:
                self._delete(level, held, first // PAGE)
                dead = held.dead
            held = self._levels[level] = Level(first)
            held.dead = dead
        rest = as_list(values)
        full: dict[bytes, bytes] = {}
        while len(held.tail) + len(rest) >= PAGE:
            room = PAGE - len(held.tail)
            full[self._key(level, held.page)] = self._packed(level, held.tail + rest[:room])
            held.tail, rest = [], rest[room:]
            held.page += 1
        if full:
            self._store.put_many(full)
            # Two for each that is written, so that a store does not outgrow its longest window.
            self._sweep(level, held, 2 * len(full))
        held.tail += rest

    def get_many(self, ids: Sequence[LevelAndIndex]) -> list[Any]:
        wanted = {}
        for level, index in ids:
            held, page = self._levels[level], index // PAGE
            if page != held.page and (held.seen is None or held.seen[0] != page):
                wanted[level, page] = self._key(level, page)
        read: dict[LevelAndIndex, Arrays] = {}
        if wanted:
            found = self._store.get_many(list(wanted.values()))
            for place, key, value in zip(wanted, wanted.values(), found, strict=True):
                if value is None:
                    raise StoreError(f"the store has lost the page under key {key!r} of a window's tree")
                read[place] = unpack(key, _TAG, value)
        nodes = [self._node(level, index, read) for level, index in ids]
        for (level, page), arrays in read.items():
            self._levels[level].seen = (page, arrays)
        return nodes

    def delete_before(self, level: int, index: int) -> None:
        held = self._levels[level]
        self._delete(level, held, min(index // PAGE, held.page))

    def __len__(self) -> int:
        """How many nodes are in memory."""
        return sum(len(held.tail) + PAGE * (held.seen is not None) for held in self._levels.values())

    def _delete(self, level: int, held: Level, page: int) -> None:
        """The pages before this one are dead."""
        dead = range(held.low, min(page, held.page))
        if dead:
            held.dead.append(dead)
        held.low = max(held.low, page)
        self._sweep(level, held, DELETED_AT_ONCE)

    def _sweep(self, level: int, held: Level, most: int) -> None:
        """Delete dead pages of the level from the store, so many of them at most."""
        keys: list[bytes] = []
        while held.dead and len(keys) < most:
            pages = held.dead.pop()
            now, later = pages[: most - len(keys)], pages[most - len(keys) :]
            keys += [self._key(level, number) for number in now]
            if later:
                held.dead.append(later)
        if keys:
            self._store.delete_many(keys)

    def _key(self, level: int, page: int) -> bytes:
        return self._prefix + _KEY.pack(level - TIMES, page)

    def _node(self, level: int, index: int, read: dict[LevelAndIndex, Arrays]) -> Any:
        held, page, slot = self._levels[level], index // PAGE, index % PAGE
        if page == held.page:
            return held.tail[slot]
        arrays = read.get((level, page))
        if arrays is None:
            assert held.seen is not None
            arrays = held.seen[1]
        return self._unpacked(level, arrays, slot)

    # Pages as arrays: which nodes are there, then a column per field, or offsets and bytes.

    def _packed(self, level: int, values: list[Any]) -> bytes:
        known = np.array([value is not ABSENT for value in values], np.bool_)
        filler = next((value for value in values if value is not ABSENT), 0)
        filled = [filler if value is ABSENT else value for value in values]
        if level != TIMES and self._monoid.encode is not None:
            pieces = [b"" if value is ABSENT else self._monoid.encode(value) for value in values]
            offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
            return pack(_TAG, [known, offsets, np.frombuffer(b"".join(pieces), np.uint8)])
        fields = zip(*filled, strict=True) if isinstance(filler, tuple) else [filled]
        return pack(_TAG, [known, *(self._column(list(field), level) for field in fields)])

    def _column(self, values: list[Any], level: int) -> Array:
        kind = narrowest_kind(values)
        if kind is None or kind == "object":
            if level == TIMES:
                raise Unsupported("times", values[0], "integers or floats, to be kept in a store")
            raise Unsupported(
                "monoid",
                self._monoid.name,
                "one whose elements are numbers, or that has encode and decode, to be kept in a store",
            )
        return as_array("nodes", values, kind)[0]

    def _unpacked(self, level: int, arrays: Arrays, slot: int) -> Any:
        known, *columns = arrays
        if not known.item(slot):
            return ABSENT
        if level != TIMES and self._monoid.decode is not None:
            offsets, blob = columns
            return self._monoid.decode(blob[offsets[slot] : offsets[slot + 1]].tobytes())
        if level == TIMES or self._scalar:
            return columns[0].item(slot)
        return self._shaped(column.item(slot) for column in columns)
