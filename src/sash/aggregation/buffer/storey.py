"""One storey of the buffer: the tail chunk, a few chunks in memory, and all the others in the store.

    chunks [freed, tail) are full and needed; chunk `tail` is being filled; those before `freed` are gone

A full chunk waits in memory until there are `GROUP` of them, which are then written together; one that is
freed before never touches the store. Reading a chunk brings its successors along, because the head moves
forward. At most `KEPT` chunks that can be read again are kept, the least recently used one goes first.
Freed chunks are deleted a group at a time, whenever a chunk is filled, so that freeing many costs no more
than freeing one.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from sash.aggregation.buffer import records
from sash.aggregation.buffer.chunk import Chunk
from sash.aggregation.buffer.folding import Folding
from sash.aggregation.buffer.pyramid import Pyramid
from sash.aggregation.stores.protocol import Store
from sash.errors import CorruptValue

GROUP = 4
"""Chunks that are written or read together."""

KEPT = 2 * GROUP
"""Chunks that stay in memory after they were read."""


@dataclass
class Traffic:
    """What a storey asked of its store, counted."""

    reads: int = 0
    """Calls that read."""
    chunks_read: int = 0
    chunks_written: int = 0
    chunks_deleted: int = 0

    def add(self, other: Traffic) -> None:
        self.reads += other.reads
        self.chunks_read += other.chunks_read
        self.chunks_written += other.chunks_written
        self.chunks_deleted += other.chunks_deleted


class Storey:
    """The chunks of one storey, numbered from 0 in the order in which they were begun."""

    def __init__(self, folding: Folding, store: Store, prefix: bytes, tail: Chunk) -> None:
        self._folding, self._store, self._prefix = folding, store, prefix
        self.tail, self.tail_number = tail, 0
        self.freed, self.written = 0, 0
        self.garbage: list[tuple[int, int]] = []
        """Ranges of chunks that are freed and still in the store."""
        self._waiting: dict[int, Chunk] = {}
        self._kept: OrderedDict[int, Chunk] = OrderedDict()
        self.traffic = Traffic()

    @property
    def resident(self) -> int:
        """How many chunks are in memory, the tail included."""
        return 1 + len(self._waiting.keys() | self._kept.keys())

    def chunk(self, number: int) -> Chunk:
        """Chunk `number`, freed ones excepted."""
        if number == self.tail_number:
            return self.tail
        if number in self._waiting:
            return self._waiting[number]
        if number not in self._kept:
            self._load(number)
        self._kept.move_to_end(number)
        return self._kept[number]

    def prefetch(self, number: int) -> None:
        """The head is in chunk `number`: have the next one here before the head is."""
        ahead = number + 1
        if ahead < self.tail_number and ahead not in self._waiting and ahead not in self._kept:
            self._load(ahead)

    def fill(self) -> Chunk:
        """Declare the tail full, begin a new one, and return the full one."""
        full = self.tail
        full.trim()
        self._waiting[self.tail_number] = full
        self.tail_number += 1
        self.tail = Chunk(Pyramid(self._folding), start=full.end, ground=full.ground, timed=full.timed)
        if len(self._waiting) >= GROUP:
            self.flush()
        self.reclaim(limit=GROUP)
        return full

    def flush(self) -> None:
        """Hand the chunks that wait over to the store."""
        if self._waiting:
            self._store.put_many(
                {
                    self._key(number): records.encode(self._folding, chunk)
                    for number, chunk in self._waiting.items()
                }
            )
            self.traffic.chunks_written += len(self._waiting)
            # What was filled last is what a growing window asks for next.
            self._keep(self._waiting)
            self._waiting = {}
        self.written = self.tail_number

    def free(self, below: int) -> None:
        """Nobody needs the chunks before `below` any more."""
        if below <= self.freed:
            return
        # Chunks from `written` on were never handed over, so there is nothing to delete for them.
        start, end = self.freed, min(below, self.written)
        if start < end:
            if self.garbage and self.garbage[-1][1] == start:
                start, _ = self.garbage.pop()
            self.garbage.append((start, end))
        self.freed = below
        for chunks in (self._waiting, self._kept):
            for number in [n for n in chunks if n < below]:
                del chunks[number]

    def reclaim(self, *, limit: int | None = None) -> None:
        """Delete freed chunks from the store, at most `limit` of them."""
        while self.garbage and limit != 0:
            start, end = self.garbage.pop(0)
            stop = end if limit is None else min(end, start + limit)
            self._store.delete_many([self._key(number) for number in range(start, stop)])
            self.traffic.chunks_deleted += stop - start
            if stop < end:
                self.garbage.insert(0, (stop, end))
            limit = None if limit is None else limit - (stop - start)

    def _load(self, number: int) -> None:
        wanted = [n for n in range(number, min(number + GROUP, self.tail_number)) if n not in self._waiting]
        keys = [self._key(n) for n in wanted]
        values = self._store.get_many(keys)
        self.traffic.reads += 1
        self.traffic.chunks_read += len(wanted)
        found = {}
        for n, key, value in zip(wanted, keys, values, strict=True):
            if value is None:
                raise CorruptValue(
                    f"the value under key {key!r} is gone from the store; did another program delete it, "
                    "or is the store at another epoch than the buffer?"
                )
            found[n] = records.decode(self._folding, key, value)
        self._keep(found)

    def _keep(self, chunks: dict[int, Chunk]) -> None:
        # The first one goes in last: it is the one that was asked for.
        for number in sorted(chunks, reverse=True):
            self._kept[number] = chunks[number]
            self._kept.move_to_end(number)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def _key(self, number: int) -> bytes:
        # Big-endian, so that keys sort as the chunks do.
        return self._prefix + number.to_bytes(8, "big")
