"""Log MTA: the fold of a window is put together, at every query, from the blocks that cover it.

    fold([lo, hi))  =  ⊕ of blocks(lo, hi)            fewer than 2 · log₂ n combines and node reads

Nothing but the tree is kept, so that evictions of any size cost nothing beyond moving `lo`: the choice
when windows are changed far more often than they are looked at.
"""

from __future__ import annotations

from sash.aggregation.algorithms.mta.monoid_forest import MonoidForest
from sash.aggregation.elements import Element


class LogForest(MonoidForest):
    """FIFO, any monoid; insert and query O(log n), evictions of any size no combine at all.

    >>> from sash.aggregation.monoid import Monoid
    >>> biggest = Monoid("max", ("x",), lambda: float("-inf"), lambda x: x, max, lambda m: m)
    >>> window = LogForest(biggest)
    >>> window.insert_many([5, 1, 3, 2], times=[1, 2, 4, 7])
    >>> window.bulk_evict(until=4), window.query()
    (2, 3)
    """

    def _fold(self) -> Element:
        return self._fold_range(self._lo, self._hi)
