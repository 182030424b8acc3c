"""The finger B-tree kernel: windows over events that come out of order equal the sorted recomputation."""

from __future__ import annotations

from bisect import insort_right
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation.kernels.aggregators.slide_by_any_algorithm import slide, slide_by_time
from sash.aggregation.kernels.compiler.compiled import compiled
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError

from .kernel_monoids import AFFINE, TOTAL, elements, lifted, recomputed

MONOIDS = {"affine": AFFINE, "total": TOTAL}


def sorted_window_folds(monoid: Monoid, parts: list[Any], times: list[int], window: int) -> list[Any]:
    """The definition: insert by time after its equals, drop the oldest of too many, fold all."""
    held: list[tuple[int, int]] = []
    folds = []
    for i, t in enumerate(times):
        insort_right(held, (t, i))
        if len(held) > window:
            held.pop(0)
        folds.append(recomputed(monoid, [parts[j] for _, j in held]))
    return folds


def check(monoid: Monoid, times: list[int], window: int) -> None:
    fast, columns = lifted(monoid, np.random.default_rng(window).integers(0, 10**6, len(times)))
    folds = elements(fast, slide_by_time(fast, columns, np.array(times, np.int64), window))
    assert folds == sorted_window_folds(monoid, elements(fast, columns), times, window)


@pytest.mark.parametrize("name", MONOIDS)
@given(times=st.lists(st.integers(-50, 50), max_size=150), window=st.integers(1, 160))
@settings(max_examples=80, deadline=None)
def test_oracle_times_in_any_order(name: str, times: list[int], window: int) -> None:
    check(MONOIDS[name], times, window)


@pytest.mark.parametrize("name", MONOIDS)
@pytest.mark.parametrize("late", [0.0, 0.1, 0.6])
@pytest.mark.parametrize(("places", "window"), [(3, 40), (100, 700), (2000, 700), (2000, 5000)])
def test_oracle_trees_of_several_levels(name: str, late: float, places: int, window: int) -> None:
    # Leaves hold 31 elements and nodes 15 children: 1,300 events make a tree of two and three levels, and
    # enough late ones split leaves, nodes and roots.
    random = np.random.default_rng([places, window])
    n = 1300
    delays = np.where(random.random(n) < late, random.integers(1, places + 1, n), 0)
    check(MONOIDS[name], np.argsort(np.arange(n) + delays, kind="stable").tolist(), window)


@pytest.mark.parametrize("name", MONOIDS)
def test_oracle_times_that_run_backwards(name: str) -> None:
    # Every event is older than all before it: it enters at the left edge and, once full, leaves at once.
    check(MONOIDS[name], list(range(600, 0, -1)), 400)


def test_oracle_equal_times_keep_their_order_of_arrival() -> None:
    check(AFFINE, [i // 90 for i in range(400)], 250)
    check(AFFINE, [7] * 400, 100)


def test_differential_in_order_it_agrees_with_two_stacks() -> None:
    fast, columns = lifted(AFFINE, np.random.default_rng(5).integers(0, 10**6, 2500))
    by_tree = elements(fast, slide(fast, columns, 900, algorithm="fiba"))
    assert by_tree == elements(fast, slide(fast, columns, 900, algorithm="two_stacks"))


def test_there_must_be_one_time_for_each_element() -> None:
    with pytest.raises(ArgumentError, match="times must be one per element, 3"):
        slide_by_time(compiled(TOTAL), (np.arange(3),), np.arange(4), 2)
