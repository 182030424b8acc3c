"""A chunk: a run of consecutive entries with their places in the stream, their times and their folds.

On the ground an entry is an element; one storey up an entry stands for a whole chunk of the storey below,
and says where that chunk starts and between which times it lies. Both are the same structure:

    start, end          positions of the stream, [start, end)
    starts              first position of each entry        (not on the ground: it is start + i there)
    earliest, latest    times of each entry                 (one array on the ground; none without times)
    pyramid             the entries' folds, and the folds of aligned groups of them

A full chunk never changes, so whoever holds one needs no lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sash.aggregation.buffer.folding import Array, Columns, Element, Folding, Ints
from sash.aggregation.buffer.pyramid import Pyramid, grown


class Run(NamedTuple):
    """Consecutive elements, as read-only views of a chunk's arrays."""

    start: int
    times: Ints | None
    columns: Columns


@dataclass(frozen=True)
class Summary:
    """What one storey up is told of a full chunk."""

    start: int
    end: int
    earliest: int
    latest: int
    fold: Element


def nothing() -> Ints:
    return np.empty(0, np.int64)


class Chunk:
    """The entries [0, len) of a run. Built empty and extended, or read back from a store."""

    __slots__ = ("earliest", "end", "ground", "latest", "pyramid", "start", "starts", "timed")

    def __init__(self, pyramid: Pyramid, *, start: int, ground: bool, timed: bool) -> None:
        self.pyramid = pyramid
        self.start, self.end = start, start + (len(pyramid) if ground else 0)
        self.ground, self.timed = ground, timed
        self.starts, self.earliest, self.latest = nothing(), nothing(), nothing()

    def __len__(self) -> int:
        return len(self.pyramid)

    def extend(self, elements: Columns, times: Ints | None) -> None:
        """On the ground: more elements, with their times when the buffer has times."""
        n = len(self)
        if times is not None:
            self.earliest = self.latest = grown(self.latest, n, times)
        self.pyramid.extend(elements)
        self.end += len(elements[0])

    def add(self, folding: Folding, below: Summary) -> None:
        """On an upper storey: the chunk that was filled below."""
        n = len(self)
        self.starts = grown(self.starts, n, [below.start])
        if self.timed:
            self.earliest = grown(self.earliest, n, [below.earliest])
            self.latest = grown(self.latest, n, [below.latest])
        self.pyramid.extend(folding.columns([below.fold]))
        self.end = below.end

    def trim(self) -> None:
        """Full: give back the room to grow."""
        n = len(self)
        self.pyramid.trim()
        self.starts = self.starts[:n].copy()
        self.latest = self.latest[:n].copy()
        self.earliest = self.latest if self.ground else self.earliest[:n].copy()

    def run(self, first: int, last: int) -> Run:
        """The entries [first, last), not copied."""
        columns = tuple(_view(column, first, last) for column in self.pyramid.floors[0])
        return Run(self.start + first, _view(self.latest, first, last) if self.timed else None, columns)

    def summary(self) -> Summary:
        n = len(self)
        earliest, latest = (int(self.earliest[0]), int(self.latest[n - 1])) if self.timed else (0, 0)
        return Summary(self.start, self.end, earliest, latest, self.pyramid.fold(0, n))

    def entry_at(self, position: int) -> int:
        """The entry that holds `position`; len when it lies behind this chunk."""
        if position >= self.end:
            return len(self)
        if self.ground:
            return position - self.start
        return int(np.searchsorted(self.starts[: len(self)], position, side="right")) - 1

    def entry_from(self, time: int) -> int:
        """The first entry that is not wholly before `time`; len when all are."""
        return int(np.searchsorted(self.latest[: len(self)], time, side="left"))


def _view(array: Array, first: int, last: int) -> Array:
    view = array[first:last]
    view.flags.writeable = False
    return view
