"""Bulk eviction of k of n elements, k from 1 to n − 1: AMTA, with DABA beside it.

    python -m benchmarks.bulk_eviction [--quick] [--json PATH] [--rounds 3]

n = 2²³ elements are in the window; then the k oldest leave in one call and the fold of the rest is asked
for. What is timed are these two calls of `sash.aggregators`, with the caches swept before them, so that
reads are paid for. AMTA drops whole blocks unread, so every k costs about the same; DABA, which has no bulk
eviction, evicts one by one. Both must give the fold of the rest.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from benchmarks.harness import Table, finish, options
from benchmarks.per_event import SUM
from sash.aggregators import AMTA, Aggregator, DABALite

LIMIT = 4.0
REPEATS = 15
"""AMTA's call takes microseconds: the best of many counts."""
SWEEP = np.zeros(1 << 23)
"""Larger than the caches."""


class Full:
    """A window of n elements, which can be put back to the moment before an eviction."""

    def __init__(self, algorithm: type[Aggregator], values: np.ndarray) -> None:
        self.algorithm, self.values = algorithm, values
        self.put_back()

    def put_back(self) -> None:
        self.window = self.algorithm(SUM)
        self.window.insert_many(self.values)

    def bulk_evict(self, k: int) -> int:
        self.window.bulk_evict(k)
        return int(self.window.query())


class FullForest(Full):
    """AMTA: an eviction leaves the tree as it is and changes what is beside it, which is soon put back."""

    def put_back(self) -> None:
        if not hasattr(self, "window"):
            super().put_back()
            inner: Any = self.window._window
            self.arrays = (*inner._edge, inner._header)
            self.copies = [array.copy() for array in self.arrays]
        inner = self.window._window
        inner._lo, inner._nulls = 0, type(inner._nulls)()
        for array, copy in zip(self.arrays, self.copies, strict=True):
            array[:] = copy


def best(window: Full, k: int, expected: int, *, repeats: int) -> float:
    """Seconds of the fastest of several evictions of the k oldest, each from the full window."""
    fastest = float("inf")
    for _ in range(repeats):
        window.put_back()
        SWEEP.sum()
        begin = time.perf_counter()
        fold = window.bulk_evict(k)
        fastest = min(fastest, time.perf_counter() - begin)
        if fold != expected:
            raise AssertionError(f"evicting {k} left {fold}, not {expected}")
    return fastest


def main() -> int:
    chosen = options("Bulk eviction by AMTA and DABA.")
    n = 1 << (23 if not chosen.quick else 12)
    values = np.random.default_rng(1).integers(-1000, 1000, n)
    rests = values.sum() - np.cumsum(values)
    forest, ring = FullForest(AMTA, values), Full(DABALite, values)
    # Powers of two and their neighbours (whole blocks, and the deepest descents), and points in between.
    sizes = sorted(
        {1, n - 1, n // 3, 2 * n // 3, *(n >> s for s in range(1, 12)), *((n >> s) - 1 for s in (1, 6))}
    )
    best(forest, 1, int(rests[0]), repeats=REPEATS)
    best(ring, 1, int(rests[0]), repeats=1)
    amta = {k: best(forest, k, int(rests[k - 1]), repeats=REPEATS) for k in sizes}
    daba = {k: best(ring, k, int(rests[k - 1]), repeats=chosen.rounds) for k in sizes}
    return finish([_table("AMTA", n, amta, LIMIT), _table("DABA", n, daba, None)], chosen)


def _table(name: str, n: int, seconds: dict[int, float], limit: float | None) -> Table:
    table = Table(f"{name}, {n:,} elements", "its best")
    table.start()
    fastest = min(seconds.values())
    for k, taken in seconds.items():
        table.add(f"evict {k:,}", taken, taken / fastest, limit=limit)
    return table


if __name__ == "__main__":
    sys.exit(main())
