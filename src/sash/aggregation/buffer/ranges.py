"""Many ranges at once: their distinct ends are brought side by side and folded in one pass.

    [lo₁, hi₁), [lo₂, hi₂), …   neither lo nor hi decreases:

    │← the los →│← all ranges share this →│← the his →│
    └─ elements ┴──── one fold ───────────┴─ elements ┘

So per event there are the few combines of two stacks, and per batch the O(log n) of one range. Ranges
whose ends lie far apart are split into batches, so that no more than `SPAN` elements are side by side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sash.aggregation.buffer.folding import Columns, Folding, Ints
from sash.aggregation.buffer.tower import Place, Tower

SPAN = 1 << 20


class RangeFolds:
    """Folds ranges of positions over a tower; `locate` tells the place of a position."""

    def __init__(self, tower: Tower, folding: Folding, locate: Callable[[int], Place]) -> None:
        self._tower, self._folding, self._locate = tower, folding, locate

    def fold(self, lo: Ints, hi: Ints) -> Columns:
        """One element per range, as columns."""
        results = tuple(np.empty(len(lo), dtype) for dtype in self._folding.dtypes)
        self._into(results, lo, hi, 0, len(lo))
        return results

    def _into(self, results: Columns, lo: Ints, hi: Ints, first: int, last: int) -> None:
        if first == last:
            return
        span = int(lo[last - 1] - lo[first] + hi[last - 1] - hi[first])
        if last - first == 1:
            one = self._tower.fold(self._locate(int(lo[first])), self._locate(int(hi[first])))
            folds = self._folding.columns([one])
        elif span > SPAN:
            middle = (first + last) // 2
            self._into(results, lo, hi, first, middle)
            self._into(results, lo, hi, middle, last)
            return
        else:
            folds = self._batch(lo[first:last], hi[first:last])
        for result, fold in zip(results, folds, strict=True):
            result[first:last] = fold

    def _batch(self, lo: Ints, hi: Ints) -> Columns:
        start, split, join, end = int(lo[0]), int(lo[-1]), int(hi[0]), int(hi[-1])
        if join <= split:
            return self._folding.fold_ranges(self._beside(start, end), lo - start, hi - start)
        shared = self._tower.fold(self._locate(split), self._locate(join))
        parts = [self._beside(start, split), self._folding.columns([shared]), self._beside(join, end)]
        side_by_side = tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
        # Everything in [split, join) became a single element, so what follows it moved.
        return self._folding.fold_ranges(side_by_side, lo - start, hi - (start + join - split - 1))

    def _beside(self, start: int, end: int) -> Columns:
        parts = [columns for _, _, columns in self._tower.runs(self._locate(start), self._locate(end))]
        if not parts:
            return tuple(np.empty(0, dtype) for dtype in self._folding.dtypes)
        return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
