"""Cells: the past of a stream of panes, cut on a grid that gets coarser with every level.

    length of a cell of level k  =  p · 16ᵏ,      cell c of level k  =  origin + [c, c + 1) · length

A long window holds far more panes than begin or end in any one batch. So its past is kept as a monoid tree
over the clock: a cell of level k ≥ 1 holds one element a key, the fold of its panes, and is written once,
when time has passed its end. A window then needs whole cells, coarse ones in its middle, and panes only
around its start: O(log n) cells instead of n panes, whoever reads them.

The number of a cell in the store is a function of its level and place, so that nobody has to keep a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

FANOUT_BITS = 4
FANOUT = 2**FANOUT_BITS
LEVELS = 7
"""Of cells; the eighth place in the numbering is for what has not yet settled."""


class Cell(NamedTuple):
    """Level 0 stands for the panes of the level-1 cell of the same place."""

    level: int
    place: int

    @property
    def number(self) -> int:
        """Where it is kept.

        >>> [Cell(1, place).number for place in (0, -1, 1)]
        [1, 9, 17]
        """
        zigzag = 2 * self.place if self.place >= 0 else -2 * self.place - 1
        return zigzag << 3 | self.level


def loose(number: int) -> int:
    """Where the panes of one batch are kept until they have settled."""
    return number << 3 | LEVELS


@dataclass(frozen=True)
class Boundaries:
    """The instants first, first + step, …, last: where windows that are about to close begin."""

    first: int
    last: int
    step: int

    def cut(self, start: int, end: int) -> bool:
        """Whether one of them lies inside (start, end).

        >>> Boundaries(0, 100, 10).cut(11, 20), Boundaries(0, 100, 10).cut(11, 21)
        (False, True)
        """
        following = max(self.first, start + 1)
        following += (self.first - following) % self.step
        return following < end and following <= self.last


@dataclass(frozen=True)
class Grid:
    """The cells of one query."""

    pane: int
    origin: int
    levels: int
    """Of its coarsest cells; 0 when windows are too short to need any."""

    @classmethod
    def over(cls, longest: int, *, pane: int, origin: int) -> Grid:
        """For windows of at most this length: a cell that is longer than them is of no use."""
        levels, panes = 0, longest // pane
        while levels < LEVELS - 1 and panes >= 4 * FANOUT ** (levels + 1):
            levels += 1
        return cls(pane, origin, levels)

    def length(self, level: int) -> int:
        return self.pane << FANOUT_BITS * max(level, 1)

    def bounds(self, cell: Cell) -> tuple[int, int]:
        start = self.origin + cell.place * self.length(cell.level)
        return start, start + self.length(cell.level)

    def place(self, level: int, time: int) -> int:
        return (time - self.origin) // self.length(level)

    def floor(self, time: int) -> int:
        """The latest time up to which all cells of level 1 have passed."""
        return self.origin + self.place(1, time) * self.length(1)

    def parts(self, cell: Cell) -> list[Cell]:
        """What a cell was folded from."""
        if cell.level == 1:
            return [Cell(0, cell.place)]
        return [Cell(cell.level - 1, cell.place * FANOUT + part) for part in range(FANOUT)]

    def cover(self, head: int, frontier: int) -> Iterator[Cell]:
        """The fewest cells that hold [head, frontier): panes only around the head."""
        if head >= frontier:
            return
        at = self.floor(head)
        if at < head:
            yield Cell(0, self.place(1, head))
            at += self.length(1)
        while at < frontier:
            level = 1
            while level < self.levels and self._fits(level + 1, at, frontier):
                level += 1
            yield Cell(level, self.place(level, at))
            at += self.length(level)

    def _fits(self, level: int, start: int, frontier: int) -> bool:
        length = self.length(level)
        return (start - self.origin) % length == 0 and start + length <= frontier

    def passed(self, level: int, since: int, until: int) -> range:
        """The places of the cells of a level that end in (since, until]."""
        return range(self.place(level, since), self.place(level, until))
