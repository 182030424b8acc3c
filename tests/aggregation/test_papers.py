"""Worked examples of the Monoid Tree Aggregator paper.

Villalba, Berral, Carrera: 'Constant-Time Sliding Window Framework with Reduced Memory Footprint and
Efficient Bulk Evictions' (IEEE TPDS 2019). The policies and the sequence of ten are the paper's, the times
of the bulk eviction are ours, with its window of 4. What the trees hold is written out for the implicit
forest of aligned blocks, which stands here for the paper's linked pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sash.aggregation import algorithms, built_in
from sash.aggregation.algorithms import MemoryNodes
from sash.aggregation.algorithms.mta.aligned_blocks import LevelAndIndex, blocks
from sash.aggregation.monoid import Monoid
from sash.aggregators import AMTA, Aggregator, LogMTA, Recalculate, tracked

MAX = Monoid("max", ("x",), lambda: -(2**63), lambda x: x, max, lambda m: m)
SUM = Monoid("sum", ("x",), int, lambda x: x, lambda a, b: a + b, lambda s: s)


@pytest.mark.parametrize("algorithm", [AMTA, LogMTA, Recalculate])
def test_a_four_arrives_at_2_2_3_3_and_the_sum_may_be_at_most_ten(
    algorithm: type[AMTA] | type[LogMTA] | type[Recalculate],
) -> None:
    """The longest suffix whose sum is at most 10.

    2   2   3   3   4      sum 14
    │   │   └───┴───┴ stay: they sum to 10, and their max is 4
    │   └ leaves: the suffix from here on sums to 12
    └ leaves: the suffix from here on sums to 14
    """
    folds = tracked(
        s=built_in.sum("x"), last=built_in.last("x"), hi=built_in.max("x"), all=built_in.collect("x")
    )

    def at_most_ten(total: Any, old: Any) -> bool:
        return bool(total.s - old.s + old.last > 10)

    window = algorithm(folds)
    for value in (2, 2, 3, 3):
        window.insert(value)
        assert window.evict_by_policy(at_most_ten) == 0
    window.insert(4)
    assert window.evict_by_policy(at_most_ten) == 2
    assert list(window.query().all) == [3, 3, 4]
    assert window.query().hi == 4
    assert window.query().s == 10


@pytest.mark.parametrize("algorithm", [AMTA, LogMTA, Recalculate])
def test_the_hour_policy_of_the_paper_keeps_the_last_hour(
    algorithm: type[AMTA] | type[LogMTA] | type[Recalculate],
) -> None:
    """With t the newest time: what is an hour older than the newest, or more, leaves."""
    window = algorithm(tracked(t=built_in.max("t"), n=built_in.count()))
    hour, minute = 3_600, 60
    for time in range(0, 4 * hour, 7 * minute):
        window.insert(time)
        window.evict_by_policy(lambda total, old: total.t - old.t >= hour)
        kept = [t for t in range(0, time + 1, 7 * minute) if time - t < hour]
        assert window.query().n == len(window) == len(kept)


class LookedAt(MemoryNodes):
    """Remembers which nodes were read."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[LevelAndIndex] = []

    def get_many(self, ids: Sequence[LevelAndIndex]) -> list[Any]:
        self.read += ids
        return super().get_many(ids)


def test_log_mta_evicts_in_bulk_by_time_with_a_window_of_four() -> None:
    """A window of 4 time units: when time t arrives, what is not in (t − 4, t] leaves.

        time      1   2   3   4   5   6   9
        value     5   1   4   2   3   1   2
        position  0   1   2   3   4   5   6
                  │   │   └───┴───┴ leave at once when 9 arrives: one eviction of three elements
                  │   └ leaves when 6 arrives
                  └ leaves when 5 arrives

    What is left, [5, 7), is covered by two leaves, and they are all that the query combines.
    """
    nodes = LookedAt()
    window = algorithms.LogForest(MAX, nodes=nodes)
    evicted, values = [], []
    for time, value in ((1, 5), (2, 1), (3, 4), (4, 2), (5, 3), (6, 1), (9, 2)):
        window.insert(value, time=time)
        evicted.append(window.bulk_evict(until=time - 4 + 1))
        nodes.read.clear()
        values.append(window.query())
    assert evicted == [0, 0, 0, 0, 1, 1, 3]
    assert values == [5, 5, 5, 5, 4, 4, 2]
    assert list(blocks(5, 7)) == [(0, 5), (0, 6)]
    # The newest leaf waits among the tails, the other is the one node that is fetched.
    assert nodes.read == [(0, 5)]


EXAMPLE = [1, 3, 2, 1, 2, 1, 1, 0, 3, 1]


def test_amta_example_makes_the_pairs_of_the_paper() -> None:
    """Sums of complete pairs after the ten insertions.

    level 3                  11
    level 2         7                 4
    level 1     4       3       3       1       4
    level 0   1   3   2   1   2   1   1   0   3   1
              └────────── tail of level 3 ──────┘  └ tail of level 1
    """
    nodes = MemoryNodes()
    window = algorithms.AmortizedForest(SUM, nodes=nodes)
    for value in EXAMPLE:
        window.insert(value)
    assert nodes.get_many([(0, i) for i in range(10)]) == EXAMPLE
    assert nodes.get_many([(1, i) for i in range(5)]) == [4, 3, 3, 1, 4]
    assert nodes.get_many([(2, i) for i in range(2)]) == [7, 4]
    assert nodes.get_many([(3, 0)]) == [11]
    assert list(blocks(0, 10)) == [(3, 0), (1, 4)]
    assert window.query() == sum(EXAMPLE)


def test_amta_example_unfolds_its_left_edge_on_the_stack() -> None:
    """The first eviction cuts the tree of eight: its right siblings are stacked, newest below.

    evicted 1:   [1,2)  [2,4)  [4,8)  [8,10)     each with its sum up to the end
    """
    window = algorithms.AmortizedForest(SUM)
    window.insert_many(EXAMPLE)
    window.evict()
    assert window._stack == [(8, 4), (4, 8), (2, 11), (1, 14)]
    window.evict()
    assert window._stack == [(8, 4), (4, 8), (2, 11)]
    window.evict()
    assert window._stack == [(8, 4), (4, 8), (3, 9)]
    window.insert(5)
    assert window._stack == [(8, 4), (4, 8), (3, 9)]
    assert window.query() == 9 + 5


@pytest.mark.parametrize("algorithm", [AMTA, LogMTA, Recalculate])
@pytest.mark.parametrize(("monoid", "plain"), [(SUM, sum), (MAX, max)], ids=["sum", "max"])
def test_oracle_every_window_of_the_amta_example_has_its_plain_fold(
    algorithm: type[Aggregator], monoid: Monoid, plain: Any
) -> None:
    for evictions in range(len(EXAMPLE)):
        one_by_one, at_once = algorithm(monoid), algorithm(monoid)
        for window in (one_by_one, at_once):
            window.insert_many(EXAMPLE)
        for _ in range(evictions):
            one_by_one.evict()
        at_once.bulk_evict(evictions)
        assert one_by_one.query() == at_once.query() == plain(EXAMPLE[evictions:])


@pytest.mark.parametrize("size", [1, 3, 4, 7])
def test_oracle_the_amta_example_slides_through_windows_of_a_fixed_size(size: int) -> None:
    window = AMTA(MAX)
    for i, value in enumerate(EXAMPLE):
        window.insert(value)
        if len(window) > size:
            window.evict()
        assert window.query() == max(EXAMPLE[max(0, i + 1 - size) : i + 1])
