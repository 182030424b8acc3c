"""Bulk eviction of k of n elements, k from 1 to n − 1: AMTA's forest, with DABA's ring beside it.

    python -m benchmarks.bulk_eviction [--quick] [--json PATH] [--rounds 3]

n = 2²³ elements are in the window; then the k oldest leave in one call and the fold of the rest is asked
for. What is timed is that call as a Python program makes it, with the caches swept before it, so that reads
are paid for. AMTA drops whole blocks unread, so every k costs about the same; DABA, which has no bulk
eviction, evicts one by one. Both must give the fold of the rest.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from benchmarks.harness import Table, finish, options
from benchmarks.per_event import SUM
from sash.aggregation.kernels.compiled import Compiled, compiled

LIMIT = 4.0
REPEATS = 15
"""AMTA's call takes microseconds: the best of many counts."""
SWEEP = np.zeros(1 << 23)
"""Larger than the caches."""


class Forest:
    """AMTA over n elements, which can be put back to the moment before the eviction."""

    def __init__(self, fast: Compiled, columns: tuple[np.ndarray, ...]) -> None:
        self.n, capacity = len(columns[0]), 1 << (len(columns[0]) + 1).bit_length()
        self.nodes, self.tails, self.folds = fast.empty(capacity), fast.empty(64), fast.empty(128)
        self.levels, self.spans = np.empty(128, np.int64), np.zeros(4, np.int64)
        self.total = fast.kernel("amta_fill")(columns, self.nodes, self.tails)
        self.evict, self.combine = fast.kernel("amta_bulk_evict").function, fast.monoid.combine
        self.back = self.total

    def put_back(self) -> None:
        self.spans[:] = 0, 0, self.n, 0
        self.back = self.total

    def bulk_evict(self, k: int) -> int:
        if self.evict(self.nodes, self.tails, self.folds, self.levels, self.spans, k):
            self.back = 0
        top = self.spans.item(3)
        front = self.folds[0].item(top - 1) if top else 0
        return int(self.combine(front, self.back))


class Ring:
    """DABA over the same elements."""

    def __init__(self, fast: Compiled, columns: tuple[np.ndarray, ...]) -> None:
        capacity = 1 << (len(columns[0]) + 1).bit_length()
        self.ring, self.scalars, self.borders = fast.empty(capacity), fast.empty(2), np.zeros(6, np.int64)
        self.fill, self.evict = fast.kernel("daba_fill"), fast.kernel("daba_bulk_evict")
        self.columns = columns
        self.put_back()

    def put_back(self) -> None:
        self.fill(self.columns, self.ring, self.scalars, self.borders)

    def bulk_evict(self, k: int) -> int:
        return int(self.evict(self.ring, self.scalars, self.borders, k))


def best(window: Any, k: int, expected: int, *, repeats: int) -> float:
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
    fast = compiled(SUM)
    columns = fast.columns((values,))
    rests = values.sum() - np.cumsum(values)
    forest, ring = Forest(fast, columns), Ring(fast, columns)
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
