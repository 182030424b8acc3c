"""The monoid tree: folds of aligned blocks, written once by insertions and read by evictions.

                     (2,0)                          insert position 7:  put (0,7)
                 (1,0)   (1,1)   (1,2)              its left sibling waits among the tails: put (1,3),
              (0,0) … … …  (0,3) … (0,6)            and again: put (2,1), and again: put (3,0)

- **Insertion** is a binary counter: the *tails* hold the newest block of every level, and a block whose
  left sibling is there completes a pair one level up. One combine amortised, log₂ n at worst, no reads.
- **Eviction** moves `lo`. Blocks that begin before it are dead; they are dropped by ranges, every so
  often, without being looked at.
- **A slide policy** is answered by descent (`evict_by_policy.Descent`).

Only the tails are held here: O(log n). Everything else is behind `Nodes`. `LogForest` (Log MTA) and
`AmortizedForest` (AMTA) differ in how they answer a query. Villalba, Berral, Carrera: 'Constant-time
sliding window framework with reduced memory footprint and efficient bulk evictions' (IEEE TPDS, 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sash.aggregation.algorithms.fifo import plain
from sash.aggregation.algorithms.mta.aligned_blocks import LevelAndIndex, blocks, start
from sash.aggregation.algorithms.mta.evict_by_policy import Descent
from sash.aggregation.algorithms.mta.nodes import TIMES, MemoryNodes, Nodes
from sash.aggregation.algorithms.protocol import Time, as_list, is_numeric
from sash.aggregation.elements import ABSENT, Element, fold_all
from sash.aggregation.monoid import Monoid

Pairwise = Callable[[Any, Any], Any]
"""`combine` over two numeric arrays at once, such as `np.maximum`, or `np.add` where nothing overflows."""

DROP_EVERY = 256
"""Evicted elements between two rounds of dropping: a round costs a call for each level."""


class MonoidForest(Descent):
    """Insertion and bulk eviction over the implicit forest."""

    def __init__(
        self, monoid: Monoid, *, nodes: Nodes | None = None, pairwise: Pairwise | None = None
    ) -> None:
        super().__init__(monoid)
        self._nodes: Nodes = MemoryNodes() if nodes is None else nodes
        self._pairwise = pairwise
        self._tails: list[tuple[int, Element]] = []
        self._dropped = 0

    # Insertion.

    def _append(self, element: Element) -> None:
        level, index, node = 0, self._hi, element
        while True:
            self._nodes.put(level, index, (node,))
            sibling = self._swap_tail(level, index, node)
            if not index & 1 or start((level, index - 1)) < self._lo:
                return
            node = self._join(sibling, node)
            level, index = level + 1, index >> 1

    def _swap_tail(self, level: int, index: int, node: Element) -> Element:
        """Make this the newest block of its level; give back the one that was."""
        if level == len(self._tails):
            self._tails.append((index, node))
            return ABSENT
        _, before = self._tails[level]
        self._tails[level] = (index, node)
        return before

    def _as_elements(self, elements: Any) -> Any:
        return elements if self._pairwise and is_numeric(elements) else as_list(elements)

    def _as_times(self, times: Any) -> Any:
        return times if is_numeric(times) else as_list(times)

    def _insert_batch(self, elements: Any, times: Sequence[Time]) -> None:
        """A whole level at a time: fewer than m combines for m elements, vectorised with `pairwise`."""
        self._take_times(times)
        values: Any = elements
        level, first = 0, self._hi
        while len(values):
            self._nodes.put(level, first, values)
            sibling = self._swap_tail(level, first + len(values) - 1, plain(values[-1]))
            first, values = self._parents(level, first, values, sibling)
            level += 1
        self._hi += len(elements)

    def _parents(self, level: int, first: int, values: Any, sibling: Element) -> tuple[int, Any]:
        """The new pairs one level up: `values` are new from index `first` on, `sibling` is just before."""
        head = []
        if first & 1:
            if start((level, first - 1)) >= self._lo:
                head.append(self._join(sibling, plain(values[0])))
            values = values[1:]
        older, newer = values[: len(values) & ~1 : 2], values[1::2]
        above = (first + 1) // 2 - len(head)
        if self._pairwise and isinstance(values, np.ndarray):
            pairs = self._pairwise(older, newer)
            return above, np.concatenate((np.array(head, dtype=pairs.dtype), pairs))
        return above, head + list(map(self._join, older, newer))

    def _put_times(self, times: Sequence[Time]) -> None:
        self._nodes.put(TIMES, self._hi, times)

    # Reading.

    def _time_at(self, position: int) -> Time:
        return self._nodes.get_many([(TIMES, position)])[0]

    def _read(self, ids: Sequence[LevelAndIndex]) -> list[Element]:
        """The folds of these blocks: from the tails where they are, the others in one batch."""
        tails = self._tails
        missing = [(level, index) for level, index in ids if tails[level][0] != index]
        fetched = iter(self._nodes.get_many(missing) if missing else ())
        return [tails[level][1] if tails[level][0] == index else next(fetched) for level, index in ids]

    def _fold_range(self, lo: int, hi: int) -> Element:
        return fold_all(self._join, self._read(list(blocks(lo, hi))))

    # Eviction.

    def _evict(self, count: int) -> None:
        self._lo += count
        if self._lo - self._dropped >= DROP_EVERY:
            self._drop_dead_nodes()

    def _drop_dead_nodes(self) -> None:
        if self._timed:
            self._nodes.delete_before(TIMES, self._lo)
        for level in range(len(self._tails)):
            # ⌈lo / 2^level⌉: the first block of this level that begins inside the window.
            self._nodes.delete_before(level, -(-self._lo >> level))
        self._dropped = self._lo
