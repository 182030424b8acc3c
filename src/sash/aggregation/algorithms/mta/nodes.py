"""Where the nodes of a monoid tree are kept: a mapping from node ids, small enough for any store.

A node id is a block (level, index); its value is the fold of that block. The times of the elements are
kept beside them, under the level `TIMES`. Three calls are all that a tree ever makes:

- `put(level, first, values)`: a run of new nodes of one level; written once, never changed;
- `get_many(ids)`: a batch of reads, so that a remote store needs one round trip;
- `delete_before(level, index)`: of that level nobody will read below `index` again. A range and not a
  list, for a bulk eviction of k elements must not name them one by one; a store may act on it lazily.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from sash.aggregation.algorithms.mta.aligned_blocks import LevelAndIndex
from sash.aggregation.algorithms.paged_queue import Pages

TIMES = -1
"""The level under which the times of the elements are kept: node (TIMES, i) is the time of position i."""


class Nodes(Protocol):
    """What a monoid tree needs of a store. Values are elements (or ABSENT), and times at level `TIMES`."""

    def get_many(self, ids: Sequence[LevelAndIndex]) -> list[Any]: ...

    def put(self, level: int, first: int, values: Sequence[Any]) -> None: ...

    def delete_before(self, level: int, index: int) -> None: ...


class MemoryNodes:
    """Nodes in process: one paged queue for each level.

    >>> nodes = MemoryNodes()
    >>> nodes.put(0, 4, ["e", "f"])
    >>> nodes.get_many([(0, 5), (0, 4)])
    ['f', 'e']
    """

    def __init__(self) -> None:
        self._levels: dict[int, Pages] = {}

    def get_many(self, ids: Sequence[LevelAndIndex]) -> list[Any]:
        return [self._levels[level][index] for level, index in ids]

    def put(self, level: int, first: int, values: Sequence[Any]) -> None:
        pages = self._levels.get(level)
        if pages is None:
            pages = self._levels[level] = Pages(start=first)
        elif pages.stop != first:
            # The blocks in between began before the window did and were never made; all below are dead.
            pages.restart(first)
        pages.extend(values)

    def delete_before(self, level: int, index: int) -> None:
        self._levels[level].delete_before(index)

    def __len__(self) -> int:
        """How many slots are in memory."""
        return sum(pages.held for pages in self._levels.values())
