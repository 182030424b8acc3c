"""What every aggregator refuses, and the edges of its contract: empty windows, nulls, times, stores."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sash import aggregators, errors
from sash.aggregation import monoids
from sash.aggregation.algorithms import ABSENT
from sash.aggregation.algorithms.aligned_blocks import Block
from sash.aggregation.monoid import Monoid
from sash.aggregators import (
    AMTA,
    Aggregator,
    DABALite,
    FiBA,
    LogMTA,
    Recalculate,
    SubtractOnEvict,
    TwoStacks,
    tracked,
)

TOTAL = Monoid(
    "sum",
    ("x",),
    int,
    lambda x: x,
    lambda a, b: a + b,
    lambda s: s,
    inverse=lambda total, old: total - old,
)
FIFO = [SubtractOnEvict, TwoStacks, DABALite, LogMTA, AMTA]
every = pytest.mark.parametrize("algorithm", [*FIFO, FiBA, Recalculate])
fifo = pytest.mark.parametrize("algorithm", FIFO)
any_order = pytest.mark.parametrize("algorithm", [FiBA, Recalculate])


@every
def test_an_empty_window_has_no_value_and_folds_to_the_identity(algorithm: type[Aggregator]) -> None:
    window = algorithm(TOTAL)
    assert (len(window), window.query(), window.fold()) == (0, None, 0)
    window.insert(7)
    window.evict()
    assert (len(window), window.query(), window.fold()) == (0, None, 0)
    assert window.bulk_evict(0) == 0
    assert window.bulk_evict(until=10) == 0


@every
def test_evicting_more_than_there_is_is_refused(algorithm: type[Aggregator]) -> None:
    window = algorithm(TOTAL)
    with pytest.raises(errors.ArgumentError, match="the window is empty"):
        window.evict()
    window.insert_many([1, 2])
    with pytest.raises(errors.ArgumentError, match=r"n must be at most 2, .*; got 3"):
        window.bulk_evict(3)
    with pytest.raises(errors.ArgumentError, match="n must be at least 0; got -1"):
        window.bulk_evict(-1)
    assert window.query() == 3


@every
def test_bulk_eviction_wants_a_count_or_a_time_and_not_both(algorithm: type[Aggregator]) -> None:
    window = algorithm(TOTAL)
    with pytest.raises(errors.ArgumentError, match="one of the two"):
        window.bulk_evict()
    with pytest.raises(errors.ArgumentError, match="one of the two"):
        window.bulk_evict(1, until=2)


@fifo
def test_an_element_older_than_the_newest_is_refused_and_fiba_is_named(algorithm: type[Aggregator]) -> None:
    window = algorithm(TOTAL)
    window.insert(1, time=5)
    window.insert(2, time=5)
    with pytest.raises(errors.OutOfOrder, match=r"time must be at least 5, .* got 4\. FiBA"):
        window.insert(3, time=4)
    with pytest.raises(errors.OutOfOrder):
        window.insert_many([1, 2, 3], times=[6, 8, 7])
    with pytest.raises(errors.OutOfOrder):
        window.insert_many([1, 2, 3], times=np.array([6, 8, 7]))
    assert (len(window), window.query()) == (2, 3)
    window.insert(4, time=6)
    assert window.bulk_evict(until=6) == 2


@pytest.mark.parametrize("algorithm", [LogMTA, AMTA])
def test_a_refused_vectorised_batch_leaves_the_window_as_it_was(
    algorithm: type[LogMTA] | type[AMTA],
) -> None:
    window = algorithm(TOTAL, pairwise=np.add)
    window.insert_elements(np.array([1, 2]), times=np.array([4, 5]))
    for times in ([3, 9], [9, 8]):
        with pytest.raises(errors.OutOfOrder):
            window.insert_elements(np.array([5, 5]), times=np.array(times))
    assert (len(window), window.query()) == (2, 3)


@any_order
def test_late_elements_go_where_their_time_says_and_ties_keep_their_order(
    algorithm: type[Aggregator],
) -> None:
    window = algorithm(monoids.collect("x"))
    for name, time in (("c", 3), ("a", 1), ("b", 2), ("a2", 1), ("c2", 3)):
        window.insert(name, time=time)
    assert list(window.query()) == ["a", "a2", "b", "c", "c2"]


@every
def test_until_is_the_start_of_what_stays(algorithm: type[Aggregator]) -> None:
    """Half open: [until, …) stays.

    time    1   2   2   3
            │   └───┴───┴ stay: both twos are the start of the new window
            └ leaves
    """
    window = algorithm(TOTAL)
    window.insert_many([1, 10, 100, 1_000], times=[1, 2, 2, 3])
    assert window.bulk_evict(until=2) == 1
    assert window.query() == 1_110
    assert window.bulk_evict(until=2) == 0
    assert window.bulk_evict(until=2.5) == 2
    assert window.bulk_evict(until=99) == 1


@every
def test_without_times_the_position_in_the_stream_is_the_time(algorithm: type[Aggregator]) -> None:
    window = algorithm(TOTAL)
    window.insert_many([1, 10])
    window.evict()
    window.insert(100)
    assert window.bulk_evict(until=2) == 1
    assert window.query() == 100


@every
def test_times_are_given_for_all_elements_or_for_none(algorithm: type[Aggregator]) -> None:
    window = algorithm(TOTAL)
    window.insert(1, time=3)
    with pytest.raises(errors.ArgumentError, match=r"every element or for none.*with times"):
        window.insert(2)
    with pytest.raises(errors.ArgumentError, match="every element or for none"):
        window.insert_many([2])
    window = algorithm(TOTAL)
    window.insert(1)
    with pytest.raises(errors.ArgumentError, match=r"every element or for none.*without times"):
        window.insert(2, time=3)


@every
def test_any_ordered_type_is_a_time_but_nan_is_not(algorithm: type[Aggregator]) -> None:
    window = algorithm(TOTAL)
    noon = datetime(2024, 5, 1, 12)
    window.insert_many([1, 2, 3], times=[noon, noon + timedelta(hours=1), noon + timedelta(hours=2)])
    assert window.bulk_evict(until=noon + timedelta(minutes=61)) == 2
    window = algorithm(TOTAL)
    with pytest.raises(errors.ArgumentError, match="ordered"):
        window.insert(1, time=math.nan)
    with pytest.raises(errors.ArgumentError, match="NaN"):
        window.insert_many([1, 2], times=[0.0, math.nan])
    assert len(window) == 0


@every
def test_a_null_holds_its_place_and_adds_nothing(algorithm: type[Aggregator]) -> None:
    window = algorithm(TOTAL)
    window.insert(None)
    assert (len(window), window.query()) == (1, None)
    window.insert(5)
    window.insert(None)
    assert (len(window), window.query()) == (3, 5)
    window.bulk_evict(2)
    assert (len(window), window.query(), window.fold()) == (1, None, 0)


@every
def test_columns_may_be_lists_numpy_or_arrow(algorithm: type[Aggregator]) -> None:
    for column in ([1, 2, 3], np.array([1, 2, 3]), pa.array([1, 2, 3, None]), range(1, 4)):
        window = algorithm(TOTAL)
        window.insert_many(column)
        assert window.query() == 6
        assert type(window.query()) is int


@every
def test_numpy_integers_do_not_wrap_around(algorithm: type[Aggregator]) -> None:
    window = algorithm(TOTAL)
    window.insert_many(np.full(4, 2**62))
    assert window.query() == 2**64
    window = algorithm(TOTAL)
    window.insert_elements(np.full(4, 2**62))
    assert window.query() == 2**64


@every
def test_the_number_of_values_and_columns_is_checked(algorithm: type[Aggregator]) -> None:
    window = algorithm(replace(TOTAL, columns=("x", "y"), lift=lambda x, y: x * y))
    with pytest.raises(errors.ArgumentError, match=r"\['x', 'y'\] of sum"):
        window.insert(1)
    with pytest.raises(errors.ArgumentError, match="one length"):
        window.insert_many([1, 2], [1])
    with pytest.raises(errors.ArgumentError, match="as many as elements, 2"):
        window.insert_many([1, 2], [1, 2], times=[1])
    assert len(window) == 0


@every
def test_a_monoid_without_columns_counts_events(algorithm: type[Aggregator]) -> None:
    window = algorithm(monoids.count())
    window.insert(time=1)
    window.insert_many(times=[2, 3])
    window.bulk_evict(until=2)
    assert window.query() == 2
    with pytest.raises(errors.ArgumentError, match="or times"):
        window.insert_many()


@pytest.mark.parametrize(
    "monoid", [monoids.max("x"), monoids.sum("x").bind(("float",))], ids=["max", "sum of floats"]
)
def test_subtraction_needs_an_inverse(monoid: Monoid) -> None:
    with pytest.raises(errors.NotInvertible, match=r"SubtractOnEvict.*declares no inverse"):
        SubtractOnEvict(monoid)


def test_fiba_needs_an_arity_of_two() -> None:
    with pytest.raises(errors.ArgumentError, match="arity must be at least 2; got 1"):
        FiBA(TOTAL, arity=1)


# Slide policies.


@pytest.mark.parametrize("algorithm", [LogMTA, AMTA, Recalculate])
def test_a_policy_that_fails_is_named_with_what_it_was_asked(
    algorithm: type[LogMTA] | type[AMTA] | type[Recalculate],
) -> None:
    window = algorithm(TOTAL)
    window.insert_many([1, 2])
    with pytest.raises(errors.PredicateError, match=r"ZeroDivisionError.*total=3, old="):
        window.evict_by_policy(lambda total, old: 1 // 0 > 0)
    with pytest.raises(errors.PredicateError, match="answered 3"):
        window.evict_by_policy(lambda total, old: total)
    assert window.evict_by_policy(lambda total, old: np.bool_(old <= 1)) == 1
    assert len(window) == 1


def test_a_policy_is_not_asked_about_an_empty_window() -> None:
    assert AMTA(TOTAL).evict_by_policy(lambda total, old: 1 // 0 > 0) == 0


def test_tracked_parts_skip_the_nulls_of_their_own_columns_only() -> None:
    folds = tracked(a=monoids.sum("a"), b=monoids.count("b"), n=monoids.count())
    window = AMTA(folds)
    window.insert_many([1, None, 3], ["x", "y", None])
    value = window.query()
    assert (value.a, value.b, value.n) == (4, 2, 3)
    window.bulk_evict(3)
    assert (window.query().a, window.query().b, window.query().n) == (None, 0, 0)


def test_tracking_nothing_is_refused() -> None:
    with pytest.raises(errors.ArgumentError, match="at least one monoid"):
        tracked()


# A store under the tree.


class ByteStore:
    """A key-value store of bytes behind the three calls of `Nodes`, as a remote one would be."""

    def __init__(self, monoid: Monoid) -> None:
        assert monoid.encode is not None
        assert monoid.decode is not None
        self.encode, self.decode = monoid.encode, monoid.decode
        self.data: dict[Block, bytes] = {}

    def get_many(self, ids: Sequence[Block]) -> list[Any]:
        found = [self.data[block] for block in ids]
        return [self.decode(value) if value else ABSENT for value in found]

    def put(self, level: int, first: int, values: Sequence[Any]) -> None:
        for index, value in enumerate(values, start=first):
            self.data[level, index] = b"" if value is ABSENT else self.encode(value)

    def delete_before(self, level: int, index: int) -> None:
        self.data = {block: v for block, v in self.data.items() if block[0] != level or block[1] >= index}


@pytest.mark.parametrize("algorithm", [LogMTA, AMTA])
def test_oracle_a_tree_over_a_store_of_bytes_slides_as_in_memory(
    algorithm: type[LogMTA] | type[AMTA],
) -> None:
    monoid = monoids.collect("x")
    store = ByteStore(monoid)
    window, oracle = algorithm(monoid, nodes=store), Recalculate(monoid)
    for i in range(900):
        for each in (window, oracle):
            each.insert(None if i % 7 == 0 else i)
            each.bulk_evict(max(0, len(each) - 40) if i % 3 else 0)
        assert window.query() == oracle.query()
    assert len(store.data) <= 2 * (42 + 256)


def test_the_facade_is_light_and_exports_what_it_says() -> None:
    assert all(hasattr(aggregators, name) for name in aggregators.__all__)
    script = "import sys, sash.aggregators; print({'numba', 'pyspark'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
