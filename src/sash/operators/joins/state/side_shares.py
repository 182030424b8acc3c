"""Both sides of a join, in shares: a row is stored by one, and compared by all those of the other side.

    arrange(new rows)        what all shares need of them, once: places, codes, the predicate's columns
    meet(share, arrival)     the share compares new right rows with the left ones that it stores, and stores
                             the right rows whose turn is its; then the same with sides exchanged

This is ScaleJoin's rule (Gulisano, Nikolakopoulos, Papatriantafilou, Tsigas): pairs are found exactly once
because a row is stored exactly once, whatever the number of shares. Shares know nothing of each other, so
that any threads may work on them, each at its own pace; the kernels release Python's lock.

A share keeps its rows in chunks (`side_chunks.py`). `expire` evicts: what is too old, `_expired` in
`joins/join_operator.py` decides.

The rows of a side that an outer join keeps are all archived, also those that can match no row, and followed
until they have met one (`unmatched_rows.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sash.arrays import Ints
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.joins.matcher import Matcher
from sash.operators.joins.state.archive import Archive, Rows
from sash.operators.joins.state.chunk import Chunk, Index
from sash.operators.joins.state.side_chunks import RowsInTime, SideChunks, SortedChunks
from sash.operators.joins.state.unmatched_rows import UnmatchedRows
from sash.operators.threads import in_threads
from sash.operators.windows.ranges import NEVER
from sash.semantics.expression import Side

Pairs = tuple[Ints, Ints]
"""The places of left and of right rows that match."""


def longest_chunk(bound: BoundJoin) -> int:
    """The longest time of a chunk that is let go of as a whole: what has expired is held for that long."""
    return bound.join.within.length // 4


@dataclass(frozen=True)
class NewRows:
    """New rows of both sides as all shares read them, in codes of one index: in the order of time, to be
    stored, and in the order of codes, to probe. Rows that machine code cannot judge are chunks of their
    own."""

    index: Index
    stored: Mapping[Side, Sequence[Chunk]]
    probes: Mapping[Side, Sequence[Chunk]]


class JoinShare:
    """A part of the stored rows of both sides, in codes of one index."""

    def __init__(self, index: Index, longest: int) -> None:
        self.index = index
        self.chunks: dict[Side, SideChunks] = {
            side: RowsInTime() if index.is_time_alone else SortedChunks(longest) for side in Side
        }
        self.expired = -NEVER
        """Rows before this time meet nobody any more."""
        self.comparisons = 0
        """How many pairs of rows the predicate was computed for."""

    def __len__(self) -> int:
        return sum(map(len, self.chunks.values()))

    def expire(self, before: int) -> None:
        """Let go of rows of before this time."""
        self.expired = max(self.expired, before)
        for chunks in self.chunks.values():
            chunks.expire(self.expired)

    def recode(self, index: Index, archives: Mapping[Side, Archive]) -> None:
        """Go over to the codes of another index."""
        self.index = index
        for side, chunks in self.chunks.items():
            assert isinstance(chunks, SortedChunks), "times are no codes that change"
            chunks.rewrite(partial(self._recoded, side=side, archive=archives[side]), since=self.expired)

    def _recoded(self, chunk: Chunk, side: Side, archive: Archive) -> Chunk:
        found = archive.at(chunk.place)
        rows = Rows(found.table(np.arange(len(chunk))), chunk.time, chunk.place)
        code, second = self.index.codes(rows, side)
        return replace(chunk, code=code, second=second).in_order()


class JoinStore:
    """What a join has seen and may still need."""

    def __init__(self, bound: BoundJoin, *, shares: int = 1) -> None:
        self.bound, self._within = bound, bound.join.within.length
        self.archives = {side: Archive(bound.of(side).schema) for side in Side}
        self.unmatched = {side: UnmatchedRows() for side in bound.join.kept}
        self._index = Index(bound)
        self._matcher = Matcher(bound, self.archives, compares_time=self._index.compares_time)
        self.shares = [JoinShare(self._index, longest_chunk(bound)) for _ in range(shares)]

    @property
    def stored(self) -> int:
        """How many rows are held, of both sides."""
        return sum(map(len, self.shares))

    @property
    def comparisons(self) -> int:
        return sum(share.comparisons for share in self.shares)

    @property
    def why_interpreted(self) -> str:
        return self._matcher.why_interpreted

    def meet(self, new: Mapping[Side, Rows]) -> list[Pairs]:
        """Store new rows of both sides; the pairs that they make with stored rows and with each other."""
        arrival = self.arrange(new)
        work = [partial(self.meet_in, number, arrival) for number in range(len(self.shares))]
        found = [pairs for parts in in_threads(work) for pairs in parts]
        for side, unmatched in self.unmatched.items():
            for places in columns_of(found)[side is Side.RIGHT]:
                unmatched.meet(places)
        return found

    def leave(self, before: int) -> dict[Side, Ints]:
        """The places of kept rows that are of before this time, and met none."""
        return {side: unmatched.leave(before) for side, unmatched in self.unmatched.items()}

    def remember(self, met: Mapping[Side, Rows]) -> None:
        """Store rows that have met already."""
        arrival = self.arrange(met)
        for number in range(len(self.shares)):
            for side in Side:
                self._store(number, side, arrival)

    def arrange(self, new: Mapping[Side, Rows]) -> NewRows:
        """Take new rows, which are in the order of time and not before those of earlier arrivals. Each
        arrival is to be met in every share, in the order of the arrivals."""
        if len(self._index.groups) > 1024 + 4 * self.stored:
            # Most groups have no row any more. Shares go over to new numbers with this arrival.
            self._index = Index(self.bound)
        stored = {side: list(self._chunks(rows, side)) for side, rows in new.items()}
        probes = {side: [chunk.in_order() for chunk in chunks] for side, chunks in stored.items()}
        return NewRows(self._index, stored, probes)

    def _chunks(self, rows: Rows, side: Side) -> Iterator[Chunk]:
        able = self._matcher.keeps(rows.table, side)
        kept = rows.where(able)
        if side in self.unmatched:
            place = self.archives[side].add(rows)[able]
            self.unmatched[side].follow(rows.time)
        else:
            place = self.archives[side].add(kept)
        code, second = self._index.codes(kept, side)
        whole = Chunk(place, kept.time, code, second, self._matcher.columns(kept, side), clean=True)
        clean = self._matcher.clean(kept, side)
        for mask, is_clean in ((clean, True), (~clean, False)):
            if mask.any():
                part = whole if mask.all() else whole.take(np.flatnonzero(mask))
                yield replace(part, clean=is_clean)

    def meet_in(self, number: int, arrival: NewRows) -> list[Pairs]:
        """What one share finds and stores of an arrival."""
        share = self.shares[number]
        if share.index is not arrival.index:
            share.recode(arrival.index, self.archives)
        found = []
        # New left rows meet the new right ones too, which are stored after they have probed the old ones.
        for side in (Side.RIGHT, Side.LEFT):
            found += self._probe(share, side, arrival.probes[side])
            self._store(number, side, arrival)
        return found

    def expire(self, before: int, *, number: int | None = None) -> None:
        """Nothing of before this time is needed any more, by one share or by all of them."""
        for share in self.shares if number is None else [self.shares[number]]:
            share.expire(before)
        for archive in self.archives.values():
            archive.expire(min(share.expired for share in self.shares))

    def _store(self, number: int, side: Side, arrival: NewRows) -> None:
        """Store the rows whose turn is this share's."""
        share = self.shares[number]
        for chunk in arrival.stored[side]:
            turn = np.flatnonzero(chunk.place % len(self.shares) == number)
            share.chunks[side].add(chunk if len(turn) == len(chunk) else chunk.take(turn))

    def _probe(self, share: JoinShare, side: Side, probes: Sequence[Chunk]) -> list[Pairs]:
        found = []
        for probe in probes:
            for stored in share.chunks[side.other]:
                near = probe.during(stored.oldest - self._within, stored.newest + self._within)
                ranges = share.index.candidates(near, stored)
                share.comparisons += ranges.comparisons
                i, j = self._matcher.matches(near, side, stored, ranges)
                if len(i):
                    places = near.place[i], stored.place[j]
                    found.append(places if side is Side.LEFT else places[::-1])
        return found


def columns_of(found: Sequence[Pairs]) -> tuple[Sequence[Ints], Sequence[Ints]]:
    return [left for left, _ in found], [right for _, right in found]
