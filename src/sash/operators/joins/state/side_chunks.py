"""The rows that a share of a join stores of one side, in chunks: few, as each is a call of a kernel.

    SortedChunks    by code: chunks grow as in a binary counter. So rows are sorted again a logarithmic
                    number of times, and chunks are few
    RowsInTime      of a join matrix, which compares all with all: one chunk in the order of time, in which
                    they come, with room behind it

Both evict: what has expired is let go of as a whole chunk, or at the beginning of the one chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from sash.arrays import Array
from sash.operators.joins.state.binary_counter import carries
from sash.operators.joins.state.chunk import Chunk

MOST = 2**19
"""The most rows of a sorted chunk."""
SMALL = 2**10
"""Chunks up to this size are merged at once: to call a kernel costs more. Also the least room."""


class SideChunks(ABC):
    """The rows of one side in one share."""

    @abstractmethod
    def __iter__(self) -> Iterator[Chunk]:
        """Chunks that hold rows; nobody writes to what they show."""

    @abstractmethod
    def add(self, rows: Chunk) -> None:
        """Rows that are in the order of time, and not before those of earlier calls."""

    @abstractmethod
    def expire(self, before: int) -> None:
        """Let go of rows of before this time, as far as that is cheap."""

    def __len__(self) -> int:
        return sum(map(len, self))


class SortedChunks(SideChunks):
    """Chunks in the order of codes."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._chunks: list[Chunk] = []

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self._chunks)

    def add(self, rows: Chunk) -> None:
        for start in range(0, len(rows), MOST):
            piece = np.arange(start, min(start + MOST, len(rows)))
            self._chunks.append(rows.take(piece).in_order())
            while len(self._chunks) > 1 and self._are_to_merge(*self._chunks[-2:]):
                self._chunks[-2:] = [Chunk.merged(self._chunks[-2:])]

    def _are_to_merge(self, older: Chunk, newer: Chunk) -> bool:
        together = len(older) + len(newer)
        span = max(older.newest, newer.newest) - min(older.oldest, newer.oldest)
        if older.clean != newer.clean or not carries(len(older), len(newer), small=SMALL):
            return False
        # A chunk is let go of as a whole: one that spans a long time would hold on to what has expired.
        return together <= MOST and span <= self._longest

    def expire(self, before: int) -> None:
        self._chunks = [chunk for chunk in self._chunks if chunk.newest >= before]

    def rewrite(self, rewritten: Callable[[Chunk], Chunk], *, since: int) -> None:
        """Replace each chunk by another one of the same rows, those from a time on."""
        held = [chunk.take(np.flatnonzero(chunk.time >= since)) for chunk in self._chunks]
        self._chunks = [rewritten(chunk) for chunk in held if len(chunk)]


class RowsInTime(SideChunks):
    """One growing chunk for the rows that machine code can judge, and one for the others."""

    def __init__(self) -> None:
        self._growing = {clean: GrowingChunk(clean) for clean in (True, False)}

    def __iter__(self) -> Iterator[Chunk]:
        return (growing.chunk for growing in self._growing.values() if len(growing))

    def add(self, rows: Chunk) -> None:
        if len(rows):
            self._growing[rows.clean].add(rows)

    def expire(self, before: int) -> None:
        for growing in self._growing.values():
            growing.expire(before)

    def __len__(self) -> int:
        return sum(map(len, self._growing.values()))


class GrowingChunk:
    """Rows in the order of time, in arrays with room behind them.

    >>> growing = GrowingChunk(clean=True)
    >>> for time in (np.array([1, 2]), np.array([5])):
    ...     growing.add(Chunk(10 * time, time, 0 * time, time, (time,), clean=True))
    >>> growing.expire(2)
    >>> growing.chunk.place.tolist(), growing.chunk.oldest, growing.chunk.newest
    ([20, 50], 2, 5)
    """

    def __init__(self, clean: bool) -> None:
        self._clean = clean
        self._arrays: list[Array] = []
        self._begin = self._end = 0

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def chunk(self) -> Chunk:
        place, time, code, second, *columns = self._held()
        return ChunkInTime(place, time, code, second, tuple(columns), self._clean)

    def _held(self) -> list[Array]:
        return [array[self._begin : self._end] for array in self._arrays]

    def add(self, rows: Chunk) -> None:
        assert not len(self) or rows.time[0] >= self._arrays[1][self._end - 1], "rows go back in time"
        new = [rows.place, rows.time, rows.code, rows.second, *rows.columns]
        if not self._arrays or self._end + len(rows) > len(self._arrays[0]):
            self._make_room(len(rows), new)
        end = self._end + len(rows)
        for array, column in zip(self._arrays, new, strict=True):
            array[self._end : end] = column
        self._end = end

    def _make_room(self, more: int, like: list[Array]) -> None:
        """New arrays, twice as long as what they hold: a row is copied twice on average. Chunks that are
        in use keep the old ones."""
        held, size = self._held() or [column[:0] for column in like], len(self)
        self._arrays = [np.empty(max(2 * (size + more), SMALL), column.dtype) for column in like]
        for array, column in zip(self._arrays, held, strict=True):
            array[:size] = column
        self._begin, self._end = 0, size

    def expire(self, before: int) -> None:
        if len(self):
            time = self._arrays[1]
            self._begin += int(np.searchsorted(time[self._begin : self._end], before))
        if self._arrays and len(self._arrays[0]) > max(8 * len(self), SMALL):
            self._make_room(0, self._arrays)  # a burst has passed


class ChunkInTime(Chunk):
    """Its first row is the oldest, its last one the newest."""

    @cached_property
    def oldest(self) -> int:
        return int(self.time[0])

    @cached_property
    def newest(self) -> int:
        return int(self.time[-1])

    @cached_property
    def span(self) -> tuple[int, int]:
        return self.oldest, self.newest
