"""Counted, not timed: how often each kernel combines, for one event, on average and at worst."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sash.aggregation.kernels.aggregators import amta, fiba_tree
from sash.aggregation.kernels.compiler import numba_compilation
from sash.aggregation.kernels.compiler.compiled import TEMPLATES
from sash.aggregation.kernels.compiler.shape import shape_of
from sash.aggregation.kernels.compiler.specialise import MonoidSource

from .kernel_monoids import TOTAL

EVENTS = 6000


class Counter:
    """A sum that counts its combines, with the kernels that run over it."""

    def __init__(self, *, commutative: bool = True) -> None:
        self.combines = 0

        def add(a: int, b: int) -> int:
            self.combines += 1
            return a + b

        monoid = replace(TOTAL, combine=add, commutative=commutative)
        self.source = MonoidSource(monoid, shape_of(monoid, None))
        self.combines = 0

    def kernel(self, name: str) -> Callable[..., Any]:
        return numba_compilation.interpreted(TEMPLATES[name], self.source)


class Noting(np.ndarray):
    """An output column that notes the number of combines whenever a result is stored."""

    counter: Counter
    notes: list[int]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.notes.append(self.counter.combines)
        super().__setitem__(key, value)


def combines_per_event(name: str, window: int, *times: np.ndarray, commutative: bool = True) -> np.ndarray:
    counter = Counter(commutative=commutative)
    out = np.empty(EVENTS, np.int64).view(Noting)
    out.counter, out.notes = counter, []
    counter.kernel(name)((np.arange(EVENTS),), *times, window, (out,))
    return np.diff(out.notes, prepend=0)


@pytest.mark.parametrize(("name", "amortised"), [("two_stacks", 3.0), ("amta", 5.0), ("daba", 6.0)])
@pytest.mark.parametrize("window", [1, 16, 1000])
def test_an_event_costs_a_constant_number_of_combines_on_average(
    name: str, amortised: float, window: int
) -> None:
    assert combines_per_event(name, window).mean() <= amortised


@pytest.mark.parametrize("window", [1, 2, 16, 257, 1000])
def test_daba_never_needs_more_than_six_combines(window: int) -> None:
    # One for the running fold, two for each of two steps (insertion and eviction), one for the query.
    assert combines_per_event("daba", window).max() <= 6


@pytest.mark.parametrize("window", [1, 2, 16, 257, 1000, 4096])
def test_amta_needs_logarithmically_many_at_worst(window: int) -> None:
    # Carries up to log₂ of the events so far, and once a turn at most two blocks a level.
    worst = combines_per_event("amta", window).max()
    assert worst <= math.log2(EVENTS) + 2 * math.log2(window + 1) + 4


def test_subtract_on_evict_combines_once() -> None:
    assert combines_per_event("subtract_on_evict", 16).max() == 1


@pytest.mark.parametrize("name", ["daba", "amta"])
def test_a_large_window_costs_as_many_combines_as_a_small_one(name: str) -> None:
    assert combines_per_event(name, 4096).mean() <= 1.3 * combines_per_event(name, 16).mean()


def test_fiba_in_order_costs_a_constant_number_on_average() -> None:
    for window in (16, 300, 4096):
        assert combines_per_event("fiba", window, np.arange(EVENTS)).mean() <= 8


@pytest.mark.parametrize("commutative", [True, False])
def test_fiba_costs_more_the_later_an_event_is_but_only_logarithmically(commutative: bool) -> None:
    # One event in ten is late by `places`. A node has at most 31 parts, a late event refolds at most two
    # nodes a level, and there is one more level for 24 and then for each 12 times as many places.
    random = np.random.default_rng(4)
    for places in (20, 200, 2000):
        delays = np.where(random.random(EVENTS) < 0.1, places, 0)
        times = np.argsort(np.arange(EVENTS) + delays, kind="stable")
        costs = combines_per_event("fiba", 4096, times, commutative=commutative)
        late = times < np.maximum.accumulate(times)
        levels = 1 + math.log(max(places / 24, 1), 12)
        assert costs[late].mean() <= 2 * 31 * (levels + 1)
        assert costs[~late].mean() <= 8


def test_range_fold_costs_about_three_combines_an_event() -> None:
    counter = Counter()
    hi = np.arange(1, EVENTS + 1)
    lo = np.maximum(hi - 500, 0)
    out = np.empty(EVENTS, np.int64)
    counter.kernel("range_folds")((np.arange(EVENTS),), np.array([0, EVENTS]), lo, hi, 0, 1, (out,))
    assert counter.combines <= 3 * EVENTS


@pytest.mark.parametrize("n", [1 << 12, 3000])
def test_bulk_eviction_costs_logarithmically_many_combines_for_every_size(n: int) -> None:
    counter = Counter()
    ring, edge = (np.empty(1 << 14, np.int64),), (np.zeros(amta.EDGE_SIZE, np.int64),)
    full = np.zeros(amta.HEADER_SIZE, np.int64)
    counter.kernel("amta_insert")((np.arange(n),), ring, edge, full)
    evict = counter.kernel("amta_evict")
    for k in range(1, n):
        counter.combines, header = 0, full.copy()
        evict(ring, edge, header, k)
        assert counter.combines <= 2 * math.log2(n)
        counter.combines = 0
        # Again, from a stack of blocks instead of from the right edge.
        evict(ring, edge, header, (n - k) // 2)
        assert counter.combines <= 2 * math.log2(n)


@pytest.mark.parametrize("k", [1, 30, 31, 32, 1000, 2999])
def test_a_finger_tree_evicts_any_number_with_logarithmically_many_combines(k: int) -> None:
    counter, n = Counter(), 3000
    leaves, nodes = 1 << 14, 1 << 13
    edges, times = np.zeros(fiba_tree.EDGES_SIZE, np.int64), np.zeros(leaves, np.int64)
    children, firsts = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    columns = [(np.zeros(size, np.int64),) for size in (leaves, nodes, 24, 24, 32, 2)]
    tree = (edges, times, columns[0], children, firsts, *columns[1:])
    counter.kernel("fiba_clear")(edges, times, columns[-1])
    counter.kernel("fiba_insert")((np.arange(n),), np.arange(n), *tree)
    counter.combines = 0
    assert counter.kernel("fiba_evict")(k, 2**63 - 1, *tree) == k
    # Both edges are folded again: a leaf, and at each level of inner nodes the children of one of them.
    assert counter.combines <= 2 * 31 + 2 * 15 * 3
    assert counter.kernel("fiba_query")(edges, columns[-2], columns[-1]) == sum(range(k, n))
