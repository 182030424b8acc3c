"""Panes that may still grow: as they came, a chunk a batch, merged now and then so that there are few.

Chunks have tiers. When there are 16 of one tier they become one of the next, in which each key has one row
a pane: a row is written again once for every 16-fold of batches that its pane lasts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sash.operators.panes import Panes
from sash.operators.streaming.cells import FANOUT
from sash.operators.streaming.pane_rows import PaneRows

Ints = NDArray[np.int64]


class Loose:
    """Of all keys of a bucket."""

    def __init__(self, panes: Panes) -> None:
        self._panes = panes
        self.rows = PaneRows.nothing(panes)
        self.chunk: Ints = np.empty(0, np.int64)
        """Which chunk each row is in."""
        self.tiers: dict[int, int] = {}
        self.count = 0
        self.saved: frozenset[int] = frozenset()

    def add(self, rows: PaneRows) -> None:
        self._append(rows, tier=0)
        for tier in range(max(self.tiers.values(), default=0) + 1):
            chunks = [number for number, own in self.tiers.items() if own == tier]
            if len(chunks) >= FANOUT:
                self._merge(chunks, tier)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        if chosen.all():
            return
        self.rows, self.chunk = self.rows.where(chosen), self.chunk[chosen]
        live = set(np.unique(self.chunk).tolist())
        self.tiers = {number: tier for number, tier in self.tiers.items() if number in live}

    def load(self, number: int, tier: int, rows: PaneRows) -> None:
        """A chunk as it was saved."""
        self.saved |= {number}
        self._join(rows, number, tier)

    def unsaved(self) -> Iterator[tuple[int, PaneRows]]:
        """The chunks that are not in the store yet."""
        for number in self.tiers.keys() - self.saved:
            yield number, self.rows.where(self.chunk == number)

    def is_saved(self) -> frozenset[int]:
        """Everything is in the store now; answers the chunks that are there for nothing."""
        dropped, self.saved = self.saved - self.tiers.keys(), frozenset(self.tiers)
        return dropped

    def _append(self, rows: PaneRows, *, tier: int) -> None:
        self._join(rows, self.count, tier)
        self.count += 1

    def _join(self, rows: PaneRows, number: int, tier: int) -> None:
        if len(rows):
            self.tiers[number] = tier
            self.rows = PaneRows.joined([self.rows, rows]) if len(self.rows) else rows
            self.chunk = np.append(self.chunk, np.full(len(rows), number))

    def _merge(self, chunks: list[int], tier: int) -> None:
        chosen = np.isin(self.chunk, chunks)
        rows = self.rows.where(chosen)
        self.keep(~chosen)
        self._append(rows.folded(self._panes, rows.start, self._panes.length), tier=tier + 1)
