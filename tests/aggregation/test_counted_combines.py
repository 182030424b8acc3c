"""What the algorithms promise, counted in combines and node reads: counts do not depend on the machine."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Any

import numpy as np
import pytest

from sash.aggregation.algorithms import (
    INTERPRETED,
    Algorithm,
    AmortizedForest,
    FingerTree,
    LogForest,
    MemoryNodes,
    tracked,
)
from sash.aggregation.algorithms.mta.aligned_blocks import LevelAndIndex
from sash.aggregation.monoid import Monoid

DABALite, TwoStacks = INTERPRETED["DABALite"], INTERPRETED["TwoStacks"]
SUM = Monoid("sum", ("x",), int, lambda x: x, lambda a, b: a + b, lambda s: s)
MAX = Monoid("max", ("x",), lambda: -(2**63), lambda x: x, max, lambda m: m)


@dataclass
class Count:
    combines: int = 0

    def of(self, operation: Callable[[], Any]) -> int:
        before = self.combines
        operation()
        return self.combines - before


def counting(monoid: Monoid) -> tuple[Monoid, Count]:
    """The same monoid, and a count of how often its `combine` has been called."""
    count = Count()

    def combine(older: Any, newer: Any) -> Any:
        count.combines += 1
        return monoid.combine(older, newer)

    return replace(monoid, combine=combine), count


class CountingNodes(MemoryNodes):
    """Counts the nodes that are read, and the calls that read them."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.deletions = 0

    def get_many(self, ids: Sequence[LevelAndIndex]) -> list[Any]:
        self.reads += len(ids)
        return super().get_many(ids)

    def delete_before(self, level: int, index: int) -> None:
        self.deletions += 1
        super().delete_before(level, index)


def slide(window: Algorithm, events: int) -> None:
    """Insert, evict, query: a full window stays at its size."""
    for value in range(events):
        window.insert(value)
        window.evict()
        window.query()


def filled(algorithm: type[Algorithm], size: int) -> tuple[Algorithm, Count]:
    monoid, count = counting(SUM)
    window = algorithm(monoid)
    window.insert_many(range(size))
    return window, count


SIZES = [1, 2, 3, 7, 16, 63, 64, 65, 100, 1_000, 4_096]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("algorithm", "most"), [(TwoStacks, 3.0), (DABALite, 4.0), (AmortizedForest, 5.0)])
def test_insert_evict_and_query_together_cost_a_few_combines_amortised(
    algorithm: type[Algorithm], most: float, size: int
) -> None:
    window, count = filled(algorithm, size)
    events = max(4 * size, 200)
    assert count.of(lambda: slide(window, events)) <= most * events


@pytest.mark.parametrize("algorithm", [AmortizedForest, DABALite])
def test_the_cost_of_an_event_does_not_grow_with_the_window(algorithm: type[Algorithm]) -> None:
    def cost(size: int) -> float:
        window, count = filled(algorithm, size)
        # Half a window: a whole cycle of DABA, and of AMTA a stretch with its one expensive eviction.
        events = max(size // 2, 2**12)
        return count.of(lambda: slide(window, events)) / events

    assert cost(2**20) <= 1.3 * cost(2**4)


def random_schedule(window: Algorithm, seed: int, steps: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Phases of growth, decline and balance, of random lengths."""
    chance = random.Random(seed)
    while steps > 0:
        bias = chance.choice((0.2, 0.5, 0.8, 1.0, 0.0))
        for _ in range(chance.randint(1, 400)):
            steps -= 1
            if chance.random() < bias or not len(window):
                yield "insert", lambda: window.insert(1)
            else:
                yield "evict", window.evict
            yield "query", window.query


def test_daba_never_combines_more_than_three_times_in_an_operation() -> None:
    monoid, count = counting(SUM)
    window = DABALite(monoid)
    worst = {"insert": 0, "evict": 0, "query": 0}
    for seed in range(4):
        for name, operation in random_schedule(window, seed, 20_000):
            worst[name] = max(worst[name], count.of(operation))
    assert worst == {"insert": 3, "evict": 2, "query": 1}


def test_amta_combines_at_worst_logarithmically_often_in_an_operation() -> None:
    """insert: log₂ n pairs and the back. evict: 2 · log₂ n stacked blocks. query: one."""
    monoid, count = counting(SUM)
    window = AmortizedForest(monoid)
    for seed in range(4):
        for name, operation in random_schedule(window, seed, 20_000):
            size = max(len(window), 1)
            used = count.of(operation)
            bound = {"insert": log2(size + 1) + 1, "evict": 2 * log2(size), "query": 1}[name]
            assert used <= bound, (name, size, used)


def test_a_batch_costs_the_trees_one_combine_an_element_and_a_logarithm() -> None:
    for algorithm in (LogForest, AmortizedForest):
        monoid, count = counting(SUM)
        window = algorithm(monoid)
        for size in (1, 2, 1_000, 4_096, 77):
            used = count.of(lambda window=window, size=size: window.insert_many(range(size)))
            assert used <= size + 2 * log2(size + 1)


# Bulk eviction from a window of 2²³ elements. The structure is the real one; only its construction is
# vectorised, by folding whole levels with numpy. Times are twice the position, to differ from it.

N = 2**23
VALUES = np.random.default_rng(5).integers(-(2**31), 2**31, N)
COUNTS = sorted(
    {1, 2, 3, N // 3, N - 1, N - 2, N - 3}
    | {2**e + offset for e in range(1, 23) for offset in (-1, 0, 1)}
    | {N - 2**e + offset for e in range(1, 23) for offset in (-1, 0, 1)}
    | set(random.Random(7).sample(range(1, N), 200))
)
BEFORE = 1_234_567  # Elements that have come and gone: the window lies across the blocks, not along them.


@dataclass(frozen=True)
class Built:
    """A window that is built once; `fresh` gives a window of its own to each count of evictions.

    The copies share the nodes. Nodes never change once they are written, and the reads of one copy are
    counted apart from those of another; deletions would be seen by all and are therefore held back here
    (`test_bulk_eviction_frees_the_memory_of_what_left` does them).
    """

    window: AmortizedForest | LogForest

    def fresh(self) -> tuple[AmortizedForest | LogForest, SharedNodes, Count]:
        monoid, count = counting(self.window.monoid)
        shared = SharedNodes(self.window._nodes)
        fresh = type(self.window)(monoid, nodes=shared)
        for name in vars(fresh).keys() - {"monoid", "_join", "_nodes"}:
            setattr(fresh, name, copy.copy(getattr(self.window, name)))
        return fresh, shared, count


class SharedNodes:
    def __init__(self, nodes: Any) -> None:
        self.nodes = nodes
        self.reads = 0

    def get_many(self, ids: Sequence[LevelAndIndex]) -> list[Any]:
        self.reads += len(ids)
        return list(self.nodes.get_many(ids))

    def put(self, level: int, first: int, values: Sequence[Any]) -> None:
        raise AssertionError("an eviction writes no nodes")

    def delete_before(self, level: int, index: int) -> None:
        pass


@pytest.fixture(scope="module", params=[LogForest, AmortizedForest])
def built(request: pytest.FixtureRequest) -> Built:
    window = request.param(MAX, pairwise=np.maximum)
    window.insert_elements(np.zeros(BEFORE, dtype=np.int64), times=np.full(BEFORE, -1))
    window.bulk_evict(BEFORE)
    window.insert_elements(VALUES, times=np.arange(0, 2 * N, 2))
    return Built(window)


SUFFIX_MAX = np.maximum.accumulate(VALUES[::-1])[::-1]


def test_bulk_eviction_of_any_count_costs_a_logarithm(built: Built) -> None:
    """At most 2 · log₂ n combines and log₂ n node reads (the newer flank is among the tails)."""
    for k in COUNTS:
        window, nodes, count = built.fresh()
        used = count.of(lambda window=window, k=k: (window.bulk_evict(k), window.query()))
        assert used <= 2 * log2(N), k
        assert nodes.reads <= log2(N), k
        assert len(window) == N - k
        assert window.query() == SUFFIX_MAX[k]


def test_bulk_eviction_from_a_window_that_has_slid_costs_a_logarithm(built: Built) -> None:
    """The AMTA's stack is already there, and is cut instead of built."""
    for k in COUNTS[:-1]:
        window, nodes, count = built.fresh()
        window.evict()
        nodes.reads = 0
        used = count.of(lambda window=window, k=k: (window.bulk_evict(k), window.query()))
        assert used <= 2 * log2(N), k
        assert nodes.reads <= log2(N), k
        assert window.query() == SUFFIX_MAX[k + 1]


def test_bulk_eviction_by_time_costs_a_logarithm(built: Built) -> None:
    """The search for the first time that stays reads at most 2 · log₂ k + 2 nodes more."""
    for k in COUNTS:
        window, nodes, count = built.fresh()
        used = count.of(lambda window=window, k=k: (window.bulk_evict(until=2 * k - 1), window.query()))
        assert used <= 2 * log2(N), k
        assert nodes.reads <= 3 * log2(N) + 2, k
        assert len(window) == N - k


def test_eviction_by_policy_costs_a_logarithm() -> None:
    """The descent reads and combines at most 3 · log₂ n nodes, the eviction after it 2 · log₂ n."""
    ones = tracked(n=Monoid("count", ("x",), int, lambda x: 1, lambda a, b: a + b, lambda n: n))
    monoid, count = counting(ones)
    size = 2**14
    for k in (0, 1, 2, 3, 1_000, 2**13 - 1, 2**13, 2**13 + 1, size - 1, size):
        nodes = CountingNodes()
        window = AmortizedForest(monoid, nodes=nodes)
        window.insert_many([0] * size)
        nodes.reads = 0
        keep = size - k
        used = count.of(lambda w=window, keep=keep: w.evict_by_policy(lambda t, o: t.n - o.n >= keep))
        assert len(window) == keep
        assert used <= 5 * log2(size), k
        assert nodes.reads <= 5 * log2(size), k


def test_one_by_one_policy_evictions_read_a_few_nodes_amortised() -> None:
    ones = tracked(n=Monoid("count", ("x",), int, lambda x: 1, lambda a, b: a + b, lambda n: n))
    nodes = CountingNodes()
    window = AmortizedForest(ones, nodes=nodes)
    events, size = 20_000, 1_024
    for _ in range(events):
        window.insert(0)
        window.evict_by_policy(lambda total, old: total.n - old.n >= size)
    assert len(window) == size
    assert nodes.reads <= 5 * events


def test_bulk_eviction_frees_the_memory_of_what_left() -> None:
    """By whole pages and one call for each level: no loop over what leaves."""
    nodes = CountingNodes()
    window = AmortizedForest(MAX, nodes=nodes, pairwise=np.maximum)
    window.insert_elements(VALUES[: 2**20])
    assert len(nodes) >= 2**21 - 1
    window.bulk_evict(2**20 - 100)
    assert nodes.deletions <= log2(2**20) + 2
    assert len(nodes) <= 2 * 100 + 256 * (log2(2**20) + 2)
    assert window.query() == VALUES[2**20 - 100 : 2**20].max()
    slide(window, 1_000)
    assert window.query() == 999


def test_what_a_sliding_tree_holds_in_memory_stays_in_proportion_to_the_window() -> None:
    nodes = CountingNodes()
    window = AmortizedForest(SUM, nodes=nodes)
    window.insert_many(range(1_000))
    slide(window, 50_000)
    assert len(nodes) <= 2 * 1_000 + 2 * 256 * 17
    assert len(window._stack) <= 2 * log2(1_000)
    assert len(window._tails) <= log2(1_000) + 1


# FiBA.


def test_fiba_costs_a_constant_for_events_in_order() -> None:
    def cost(size: int) -> float:
        window, count = filled(FingerTree, size)
        return count.of(lambda: slide(window, 20_000)) / 20_000

    assert cost(2**17) <= 1.3 * cost(2**8)
    assert cost(2**17) <= 20


def test_fiba_costs_the_logarithm_of_how_late_an_event_is() -> None:
    """Each level folds at most 2 · 8 items, on the way up and on the spine down; splits are amortised."""
    monoid, count = counting(SUM)
    window = FingerTree(monoid)
    size = 2**17
    window.insert_many(range(size), times=range(size))
    chance = random.Random(11)
    for late in (1, 10, 100, 1_000, 10_000, 100_000):
        times = [size - late - chance.random() for _ in range(200)]
        used = count.of(lambda times=times: [window.insert(1, time=time) for time in times]) / len(times)
        assert used <= 16 * (log2(late + 8) / 2 + 1), late


def test_fiba_evicts_any_count_with_a_logarithm_of_combines() -> None:
    monoid, count = counting(SUM)
    size = 2**15
    for k in (1, 2, 3, 8, 9, 100, size // 3, size // 2, size - 9, size - 2, size - 1):
        window = FingerTree(monoid)
        window.insert_many(range(size))
        assert count.of(lambda window=window, k=k: window.bulk_evict(k)) <= 16 * log2(size), k
        assert window.query() == sum(range(k, size))


def test_fiba_takes_a_late_batch_cheaper_than_its_elements_one_by_one() -> None:
    monoid, count = counting(SUM)
    size, batch = 2**15, 1_000
    times = [size // 2 + i / batch for i in range(batch)]
    costs = []
    for insert in (
        lambda window: window.insert_many([1] * batch, times=times),
        lambda window: [window.insert(1, time=time) for time in times],
    ):
        window = FingerTree(monoid)
        window.insert_many(range(size), times=range(size))
        costs.append(count.of(lambda window=window, insert=insert: insert(window)))
        assert window.query() == sum(range(size)) + batch
    together, apart = costs
    assert together <= 3 * batch
    assert together <= apart / 4
