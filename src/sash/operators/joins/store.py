"""Both sides of a join, in shares: a row is stored by one, and compared by all those of the other side.

    probe(new left rows)    every share compares them with the right rows that it stores
    store(new left rows)    dealt to the shares in turn

This is ScaleJoin's rule (Gulisano et al., 2016): pairs are found exactly once because a row is stored
exactly once, whatever the number of shares. Shares work in threads; the kernels release Python's lock.

A share keeps its rows in chunks that grow as in a binary counter: two neighbours are merged when the
older is no larger than the newer. So rows are sorted anew a logarithmic number of times, and chunks are
few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.kernels.pair_order import pair_order
from sash.operators.joins.bound import BoundJoin
from sash.operators.joins.chunk import Chunk, Index, Rows
from sash.operators.joins.matcher import Matcher
from sash.operators.times import from_integers
from sash.semantics.expression import Side

Ints = NDArray[np.int64]

SCANNED, INDEXED = 2**14, 2**19
"""The most rows of a chunk: one that is compared as a whole should stay in a core's cache, one that is
searched should be large."""
LEFT_PLACE, RIGHT_PLACE = "__sash_left", "__sash_right"
"""Where the two rows of a pair stood in the arrival order of their sides."""


class Share:
    """A part of the stored rows of both sides."""

    def __init__(self, most_rows: int, longest: int) -> None:
        self._most_rows, self._longest = most_rows, longest
        self.chunks: dict[Side, list[Chunk]] = {side: [] for side in Side}

    def store(self, side: Side, chunk: Chunk) -> None:
        chunks = self.chunks[side]
        chunks.append(chunk)
        while len(chunks) > 1 and self._are_to_merge(*chunks[-2:]):
            chunks[-2:] = [Chunk.merged(chunks[-2:])]

    def _are_to_merge(self, older: Chunk, newer: Chunk) -> bool:
        together = len(older) + len(newer)
        span = max(older.newest, newer.newest) - min(older.oldest, newer.oldest)
        if older.clean != newer.clean or len(older) > len(newer):
            return False
        # A chunk is let go of as a whole: one that spans a long time would hold on to what has expired.
        return together <= self._most_rows and span <= self._longest

    def expire(self, before: int) -> None:
        """Let go of the chunks that hold no row of this time or later."""
        for side, chunks in self.chunks.items():
            self.chunks[side] = [chunk for chunk in chunks if chunk.newest >= before]


@dataclass(frozen=True)
class Pairs:
    """Rows of both sides that match, as positions: of a stored chunk with what has probed it."""

    rows: Mapping[Side, Rows]
    at: Mapping[Side, Ints]


def answer(bound: BoundJoin, found: Sequence[Pairs], *, places: bool = False) -> pa.Table:
    """Pairs in the form of the join's output, in its order; with `places`, those of their rows too."""
    if not found:
        nothing = {side: Rows.nothing(bound.of(side).schema) for side in Side}
        found = [Pairs(nothing, dict.fromkeys(Side, np.empty(0, np.int64)))]
    times, sequences = (
        {side: _values(found, side, name) for side in Side} for name in ("time", "sequence")
    )
    time = np.maximum(*times.values())
    order = pair_order(time, *sequences.values())
    sides = {side: _gathered(found, side, order) for side in Side}
    columns = [sides[Side.LEFT][key] for key in bound.left.keys]
    columns.append(from_integers(time[order], bound.time_type))
    columns += [sides[side][name] for side in Side for name in bound.of(side).others]
    table = pa.table(columns, schema=bound.output)
    if places:
        for name, side in ((LEFT_PLACE, Side.LEFT), (RIGHT_PLACE, Side.RIGHT)):
            table = table.append_column(name, pa.array(sequences[side][order]))
    return table


def _values(found: Sequence[Pairs], side: Side, name: str) -> Ints:
    return np.concatenate([getattr(pairs.rows[side], name)[pairs.at[side]] for pairs in found])


def _gathered(found: Sequence[Pairs], side: Side, order: Ints) -> pa.Table:
    """The rows of one side, each copied once although they stand in many chunks."""
    tables = {id(pairs.rows[side]): pairs.rows[side].table for pairs in found}
    starts = np.cumsum([0, *(table.num_rows for table in tables.values())])
    start = dict(zip(tables, starts.tolist(), strict=False))
    positions = np.concatenate([start[id(pairs.rows[side])] + pairs.at[side] for pairs in found])
    return pa.concat_tables(tables.values()).take(pa.array(positions[order]))


class Store:
    """What a join has seen and may still need."""

    def __init__(self, bound: BoundJoin, *, shares: int = 1) -> None:
        self._bound, self._within = bound, bound.join.within.length
        self._index = Index(bound)
        self._matcher = Matcher(bound, compares_time=self._index.compares_time)
        searched = bound.strategy.how != "join matrix"
        self._most_rows = INDEXED if searched else SCANNED
        self.shares = [Share(self._most_rows, self._within // 4) for _ in range(shares)]
        self.comparisons = 0
        """How many pairs of rows the predicate was asked about."""

    @property
    def stored(self) -> int:
        """How many rows are held, of both sides."""
        return sum(len(chunk) for _, chunk in self._stored())

    @property
    def why_interpreted(self) -> str:
        return self._matcher.why_interpreted

    def meet(self, new: dict[Side, Rows]) -> list[Pairs]:
        """Store new rows of both sides; the pairs that they make with stored rows and with each other."""
        kept = {side: rows.where(self._matcher.keeps(rows.table, side)) for side, rows in new.items()}
        arranged = {side: list(self._arranged(rows, side)) for side, rows in kept.items()}
        # New left rows meet the new right ones too, which are stored before they probe the old left ones.
        right_probes = [(Side.RIGHT, chunk) for chunk in arranged[Side.RIGHT]]
        found = self._probe(right_probes)
        self._deal(Side.RIGHT, kept[Side.RIGHT])
        found += self._probe([(Side.LEFT, chunk) for chunk in arranged[Side.LEFT]])
        self._deal(Side.LEFT, kept[Side.LEFT])
        return found

    def remember(self, met: dict[Side, Rows]) -> None:
        """Store rows that have met already."""
        for side, rows in met.items():
            self._deal(side, rows.where(self._matcher.keeps(rows.table, side)))

    def expire(self, before: int) -> None:
        """Let go of rows before this time; of groups too, when most of them have no row any more."""
        for share in self.shares:
            share.expire(before)
        if len(self._index.groups) > 1024 + 4 * self.stored:
            self._renumber()

    def _renumber(self) -> None:
        held = {side: [chunk.rows for at, chunk in self._stored() if at is side] for side in Side}
        self._index = Index(self._bound)
        for share in self.shares:
            share.chunks = {side: [] for side in Side}
        for side, parts in held.items():
            if parts:
                self._deal(side, Rows.together(parts))

    def _stored(self) -> Iterator[tuple[Side, Chunk]]:
        for share in self.shares:
            for side, chunks in share.chunks.items():
                for chunk in chunks:
                    yield side, chunk

    def _arranged(self, rows: Rows, side: Side) -> Iterator[Chunk]:
        """The rows as chunks: those that machine code can judge, and those that it cannot."""
        clean = self._matcher.clean(rows, side)
        for part, is_clean in ((rows.where(clean), True), (rows.where(~clean), False)):
            if len(part):
                code, second = self._index.codes(part, side)
                yield Chunk(part, code, second, self._matcher.columns(part, side), is_clean).in_order()

    def _deal(self, side: Side, rows: Rows) -> None:
        """Give the rows to the shares in turn, in pieces that are not too large to store."""
        for number, share in enumerate(self.shares):
            own = np.arange(number, len(rows), len(self.shares))
            for start in range(0, len(own), self._most_rows):
                piece = rows.take(own[start : start + self._most_rows])
                for chunk in self._arranged(piece, side):
                    share.store(side, chunk)

    def _probe(self, probes: list[tuple[Side, Chunk]]) -> list[Pairs]:
        work = [partial(self._share_of_work, share, probes) for share in self.shares]
        return [pairs for parts in _in_threads(work) for pairs in parts]

    def _share_of_work(self, share: Share, probes: list[tuple[Side, Chunk]]) -> list[Pairs]:
        found = []
        for side, probe in probes:
            for stored in share.chunks[side.other]:
                near = probe.during(stored.oldest - self._within, stored.newest + self._within)
                ranges = self._index.candidates(near, stored)
                self.comparisons += ranges.comparisons
                i, j = self._matcher.matches(near, side, stored, ranges)
                if len(i):
                    rows, at = {side: near.rows, side.other: stored.rows}, {side: i, side.other: j}
                    found.append(Pairs(rows, at))
        return found


def _in_threads(work: Sequence[Callable[[], list[Pairs]]]) -> list[list[Pairs]]:
    if len(work) == 1:
        return [work[0]()]
    with ThreadPoolExecutor(len(work)) as pool:
        return list(pool.map(lambda run: run(), work))
