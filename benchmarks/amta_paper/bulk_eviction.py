"""Experiment 2: evicting k of n = 2²³ elements at once, from a window that has just been filled.

Timed, compiled: AMTA drops whole blocks, DABA lite moves its borders k times, and two stacks flips what
stays (given the count in advance, which is the best it can do; one by one it would flip all n first). Short
evictions are repeated to be seen by a clock, so the nodes that they read are in the cache.

Counted, interpreted: combines and node reads of the AMTA. What it reads is what a key-value store would be
read. The tree is the real one; only its construction is vectorised.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from math import log2
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.amta_paper import templates
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import (
    ProgressPrinter,
    best_seconds,
    counting,
    own_kernel,
    plain_sum,
    readings,
    require_same,
    sweeps,
)
from sash.aggregation import built_in
from sash.aggregation.algorithms import AmortizedForest, MemoryNodes
from sash.aggregation.algorithms.mta.aligned_blocks import LevelAndIndex
from sash.aggregation.kernels.aggregators import amta as forest, daba as ring_of_daba
from sash.aggregation.kernels.compiler.compiled import Compiled

REPEATED = 1000
"""Evictions in one go, at most: a single one can be shorter than the call of a kernel."""

Values: TypeAlias = NDArray[np.int64]

FULL, QUICK = 23, 10
"""Exponents of n."""


def counts(n: int) -> list[int]:
    """1, then steps of about 2 that are odd (whole powers would suit the blocks too well), up to n − 1."""
    steps = {min(int(2**e * 1.37) | 1, n - 1) for e in range(1, int(log2(n)))}
    return sorted(k for k in steps | {1, n // 2 + 1, 3 * n // 4 + 1, n - 1} if k < n)


def before(n: int) -> int:
    """Elements that have come and gone: the window lies across the blocks of the tree, not along them."""
    return n // 7 + 1


def ring_size(n: int) -> int:
    """A power of two with room for the window and for what came before it."""
    return 1 << (n + before(n)).bit_length()


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    exponent = QUICK if quick else FULL
    n = 1 << exponent
    evicted = "k [elements evicted]"
    return Chart(
        "2-bulk-eviction",
        f"Evicting k of n = $2^{{{exponent}}}$ elements at once",
        [
            Panel("time, compiled kernels (int64 sum)", evicted, "microseconds", timed(n, quick, progress)),
            Panel(
                "work of the AMTA, counted",
                evicted,
                "combines or node reads, eviction + query",
                counted(n, progress),
                logarithmic=False,
            ),
        ],
        {"elements": n, "evictions per run at most": REPEATED},
    )


def timed(n: int, quick: bool, progress: ProgressPrinter) -> list[Series]:
    fast, values = plain_sum(), readings(n)
    evictions = {
        "AMTA": amta(fast, values),
        "DABA lite": daba(fast, values),
        "two stacks": two_stacks(fast, values),
    }
    lines = {name: Series(name) for name in evictions}
    for _, (name, evict), k in product(sweeps(quick=quick), evictions.items(), counts(n)):
        progress.step(f"timing {name}, {k:,} of {n:,}")
        lines[name].keep_best(k, evict(k) * 1e6)
    return list(lines.values())


Evict = Callable[[int], float]
"""k → seconds for evicting k from a window that has just been filled."""

Prepared = Callable[[Compiled, Values], Evict]


def amta(fast: Compiled, values: Values) -> Evict:
    n = len(values)
    gone = before(n)
    ring, edge = fast.empty(2 * ring_size(n)), fast.empty(forest.EDGE_SIZE)
    edge[0][:] = 0
    header = np.zeros(forest.HEADER_SIZE, np.int64)
    fast.kernel("amta_insert")(
        fast.columns((np.concatenate((np.zeros(gone, np.int64), values)),)), ring, edge, header
    )
    header[forest.HEAD] = header[forest.MIDDLE] = gone
    full = header[: forest.LEVELS].copy()
    kernel = own_kernel(templates.amta_evict_often, fast)

    def evict(k: int) -> float:
        arguments = (ring, edge, header, full, k)
        require_same(f"AMTA, {k} evicted,", kernel(*arguments, 1), values[k:].sum())
        return best_seconds(lambda: kernel(*arguments, REPEATED)) / REPEATED

    return evict


def daba(fast: Compiled, values: Values) -> Evict:
    n = len(values)
    ring, edge = fast.empty(ring_size(n)), fast.empty(ring_of_daba.EDGE_SIZE)
    edge[0][:] = 0
    header = np.zeros(ring_of_daba.HEADER_SIZE, np.int64)
    fast.kernel("daba_insert")(fast.columns((values,)), ring, edge, header)
    kernel = own_kernel(templates.daba_evict_on, fast)

    def evict(k: int) -> float:
        times = min(REPEATED, (n - 1) // k)

        # Evictions rewrite the ring, so that every round needs one of its own.
        def fresh() -> tuple[Any, ...]:
            return (*copy.deepcopy((ring, edge, header)), k, times)

        require_same(f"DABA, {times} × {k} evicted,", kernel(*fresh()), values[k * times :].sum())
        return best_seconds(kernel, fresh=fresh) / times

    return evict


def two_stacks(fast: Compiled, values: Values) -> Evict:
    n = len(values)
    columns, suffixes = fast.columns((values,)), fast.empty(n)
    kernel = own_kernel(templates.two_stacks_bulk_evict, fast)

    def evict(k: int) -> float:
        times = min(REPEATED, -(-n // (n - k)) // 2 + 1)
        arguments = (columns, suffixes, k)
        require_same(f"two stacks, {k} evicted,", kernel(*arguments, 1), values[k:].sum())
        return best_seconds(lambda: kernel(*arguments, times)) / times

    return evict


class SharedNodes:
    """The nodes of one tree behind copies of its local part: reads are counted, nothing is deleted."""

    def __init__(self) -> None:
        self._nodes = MemoryNodes()
        self.reads = 0

    def get_many(self, ids: Sequence[LevelAndIndex]) -> list[Any]:
        self.reads += len(ids)
        return self._nodes.get_many(ids)

    def put(self, level: int, first: int, values: Sequence[Any]) -> None:
        self._nodes.put(level, first, values)

    def delete_before(self, level: int, index: int) -> None:
        """Other copies still read what this one has evicted."""

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedNodes:
        return self


def counted(n: int, progress: ProgressPrinter) -> list[Series]:
    """AMTA; what the Log MTA reads and combines is the same as for a full AMTA, at the query."""
    progress.step(f"building a tree of {n:,} elements")
    values = readings(n)
    suffix_max = np.maximum.accumulate(values[::-1])[::-1]
    monoid, tally = counting(built_in.max("x").bind(("int",)))
    nodes = SharedNodes()
    filled = AmortizedForest(monoid, nodes=nodes, pairwise=np.maximum)
    filled.insert_elements(np.zeros(before(n), np.int64))
    filled.bulk_evict(before(n))
    filled.insert_elements(values)
    slid = copy.deepcopy(filled)
    slid.evict()
    lines = []
    for state, begun, gone, styles in (
        ("just filled", filled, 0, ("Log MTA", "FiBA")),
        ("sliding", slid, 1, ("other", "recalculate")),
    ):
        combines = Series(f"combines, {state}", style=styles[0])
        reads = Series(f"node reads, {state}", style=styles[1])
        for k in counts(n - gone):
            window = copy.deepcopy(begun)
            nodes.reads = 0
            combines.add(k, tally.of(partial(_evict_and_query, window, k)))
            reads.add(k, nodes.reads)
            require_same(f"AMTA, {k} evicted,", window.query(), suffix_max[k + gone])
        lines += [combines, reads]
    bound = Series("2 · log₂ n", [1, n - 1], [2 * log2(n)] * 2, dashed=True, style="reference")
    return [*lines, bound]


def _evict_and_query(window: AmortizedForest, k: int) -> None:
    window.bulk_evict(k)
    window.query()
