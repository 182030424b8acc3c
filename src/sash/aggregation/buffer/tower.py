"""The chunks of a stream and, storey by storey, the chunks of their folds: the monoid tree, in pages.

    storey 0      chunks of elements
    storey s+1    one entry for each full chunk of storey s, in chunks of F entries (64)

Chunk c of storey s is entry c mod F of chunk c div F one storey up: an implicit forest of aligned blocks,
as in the Amortized Monoid Tree Aggregator (Villalba, Berral, Carrera, 'Constant-Time Sliding Window
Framework with Reduced Memory Footprint and Efficient Bulk Evictions', IEEE TPDS 2019), with wide nodes so
that one read of a store brings six of its levels. Since a full chunk never changes, neither does its entry.

A *place* is (number of a chunk, number of an entry in it), on the ground unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from sash.aggregation.buffer.chunk import Chunk, Run
from sash.aggregation.buffer.folding import Columns, Element, Folding, Ints
from sash.aggregation.buffer.pyramid import Pyramid
from sash.aggregation.buffer.storey import Storey
from sash.aggregation.stores.protocol import Store


class Place(NamedTuple):
    chunk: int
    entry: int


class Probe(Protocol):
    """What is looked for, going forward: how far it lets us go within a chunk of any storey."""

    def advance(self, chunk: Chunk, i: int) -> int:
        """The first entry from i on that does not lie wholly before the target; len when all do."""
        ...


class Tower:
    """Grows at the end of the stream, is searched and folded anywhere, and freed from the beginning."""

    def __init__(
        self,
        folding: Folding,
        store: Store,
        prefix: bytes,
        *,
        capacity: int,
        fanout: int,
        pane: int | None,
        timed: bool,
    ) -> None:
        self._folding, self._store, self._prefix = folding, store, prefix
        self._capacity, self._fanout, self._pane, self._timed = capacity, fanout, pane, timed
        self.storeys: list[Storey] = []
        self.add_storey(Chunk(Pyramid(folding), start=0, ground=True, timed=timed))

    @property
    def end(self) -> int:
        return self.storeys[0].tail.end

    @property
    def end_place(self) -> Place:
        ground = self.storeys[0]
        return Place(ground.tail_number, len(ground.tail))

    def add_storey(self, tail: Chunk) -> Storey:
        number = len(self.storeys)
        storey = Storey(self._folding, self._store, self._prefix + bytes([number]), tail)
        self.storeys.append(storey)
        return storey

    def extend(self, elements: Columns, times: Ints | None) -> None:
        """Append elements, filling chunks at their capacity and where a new pane begins."""
        at = 0
        for cut in self._cuts(times, len(elements[0])):
            self._enter_pane(times, at)
            while at < cut:
                tail = self.storeys[0].tail
                stop = min(cut, at + self._capacity - len(tail))
                part = tuple(column[at:stop] for column in elements)
                tail.extend(part, None if times is None else times[at:stop])
                at = stop
                if len(tail) == self._capacity:
                    self._fill(0)

    def _cuts(self, times: Ints | None, n: int) -> list[int]:
        """Where a pane ends among the new elements, and the end of all."""
        if times is None or self._pane is None or n == 0:
            return [n]
        panes = times // self._pane
        return [*(np.flatnonzero(panes[1:] != panes[:-1]) + 1).tolist(), n]

    def _enter_pane(self, times: Ints | None, at: int) -> None:
        """Fill the tail if the next element belongs to another pane than the tail's elements."""
        tail = self.storeys[0].tail
        if times is None or self._pane is None or at == len(times) or not len(tail):
            return
        if int(tail.earliest[0]) // self._pane != int(times[at]) // self._pane:
            self._fill(0)

    def _fill(self, number: int) -> None:
        full = self.storeys[number].fill()
        if number + 1 == len(self.storeys):
            self.add_storey(
                Chunk(Pyramid(self._folding), start=full.start, ground=False, timed=self._timed)
            )
        above = self.storeys[number + 1]
        above.tail.add(self._folding, full.summary())
        if len(above.tail) == self._fanout:
            self._fill(number + 1)

    def seek(self, probe: Probe, start: Place) -> Place:
        """Where the target of `probe` is, at `start` or behind it; the end when all lies before it."""
        return self._seek(0, start.chunk, start.entry, probe) or self.end_place

    def _seek(self, number: int, at: int, i: int, probe: Probe) -> Place | None:
        storey = self.storeys[number]
        chunk = storey.chunk(at)
        i = probe.advance(chunk, i)
        if i < len(chunk):
            return self._descend(number, at, i, probe)
        if at == storey.tail_number:
            return None
        # The full chunks that follow are entries one storey up; behind them there is only the tail.
        return self._seek(number + 1, *divmod(at + 1, self._fanout), probe) or self._seek(
            number, storey.tail_number, 0, probe
        )

    def _descend(self, number: int, at: int, i: int, probe: Probe) -> Place:
        while number:
            number, at = number - 1, at * self._fanout + i
            chunk = self.storeys[number].chunk(at)
            i = probe.advance(chunk, 0)
            if i == len(chunk):
                # Its parts pass although the whole did not: rounding. The answer is the chunk's end.
                last = (at + 1) * self._fanout**number - 1
                return Place(last, len(self.storeys[0].chunk(last)))
        return Place(at, i)

    def fold(self, lo: Place, hi: Place) -> Element:
        """The fold of [lo, hi): a part of a chunk, full chunks from one storey up, a part of a chunk."""
        return self._fold(0, lo, hi)

    def _fold(self, number: int, lo: Place, hi: Place) -> Element:
        storey = self.storeys[number]
        if lo.chunk == hi.chunk:
            return storey.chunk(lo.chunk).pyramid.fold(lo.entry, hi.entry)
        combine = self._folding.monoid.combine
        first = storey.chunk(lo.chunk)
        total = first.pyramid.fold(lo.entry, len(first))
        if lo.chunk + 1 < hi.chunk:
            middle = Place(*divmod(lo.chunk + 1, self._fanout)), Place(*divmod(hi.chunk, self._fanout))
            total = combine(total, self._fold(number + 1, *middle))
        if hi.entry:
            total = combine(total, storey.chunk(hi.chunk).pyramid.fold(0, hi.entry))
        return total

    def runs(self, lo: Place, hi: Place) -> Iterator[Run]:
        """The elements [lo, hi), chunk by chunk, as read-only views of the chunks' arrays."""
        for number in range(lo.chunk, hi.chunk + 1):
            first = lo.entry if number == lo.chunk else 0
            # A range may end where a chunk begins; that chunk need not be read, it may not even exist.
            if number == hi.chunk and first == hi.entry:
                break
            chunk = self.storeys[0].chunk(number)
            last = hi.entry if number == hi.chunk else len(chunk)
            if first < last:
                yield chunk.run(first, last)

    def free(self, place: Place) -> None:
        """Nobody needs what lies before `place`; what lies behind it will be needed soon."""
        below = place.chunk
        for storey in self.storeys:
            if below > storey.freed:
                storey.free(below)
                storey.prefetch(below)
            below //= self._fanout

    def flush(self) -> None:
        """Bring the store up to date: hand over what is full, delete what is freed."""
        for storey in self.storeys:
            storey.flush()
            storey.reclaim()


class ByPosition:
    """Looks for the element at a position of the stream."""

    def __init__(self, position: int) -> None:
        self._position = position

    def advance(self, chunk: Chunk, i: int) -> int:
        return max(i, chunk.entry_at(self._position))


class ByTime:
    """Looks for the first element that is not before a time."""

    def __init__(self, time: int) -> None:
        self._time = time

    def advance(self, chunk: Chunk, i: int) -> int:
        return max(i, chunk.entry_from(self._time))


class ByFold:
    """Looks for the end of the longest prefix that passes a monotone test of its fold."""

    def __init__(self, prefix: Element, passes: Callable[[Element], bool]) -> None:
        self._prefix, self._passes = prefix, passes

    def advance(self, chunk: Chunk, i: int) -> int:
        i, self._prefix = chunk.pyramid.search(i, self._prefix, self._passes)
        return i
