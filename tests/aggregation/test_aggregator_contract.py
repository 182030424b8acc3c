"""What every aggregator refuses, and the edges of its contract: empty windows, nulls, times, stores."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sash import aggregators, errors
from sash.aggregation import algorithms, built_in
from sash.aggregation.algorithms import ABSENT
from sash.aggregation.algorithms.mta import stored_nodes
from sash.aggregation.algorithms.mta.aligned_blocks import LevelAndIndex
from sash.aggregation.monoid import Monoid
from sash.aggregators import AMTA, SubtractOnEvict, tracked
from sash.stores import LMDB, Memory

from .kernel_monoids import MACHINE_CODE

TOTAL = Monoid(
    "sum",
    ("x",),
    int,
    lambda x: x,
    lambda a, b: a + b,
    lambda s: s,
    inverse=lambda total, old: total - old,
)
FIFO = ["SubtractOnEvict", "TwoStacks", "DABALite", "LogMTA", "AMTA"]
ANY_ORDER = ["FiBA", "Recalculate"]
Made = Callable[[Monoid], Any]


def in_both_forms(*names: str) -> pytest.MarkDecorator:
    """As exported, which is compiled over numbers, and interpreted."""
    forms = {"exported": vars(aggregators), "interpreted": algorithms.INTERPRETED}
    cases = [
        pytest.param(form_of[name], id=f"{name}-{form}")
        for name in names
        for form, form_of in forms.items()
    ]
    return pytest.mark.parametrize("algorithm", cases)


every = in_both_forms(*FIFO, *ANY_ORDER)
fifo = in_both_forms(*FIFO)
any_order = in_both_forms(*ANY_ORDER)
by_policy = in_both_forms("LogMTA", "AMTA", "Recalculate")
interpreted = pytest.mark.parametrize(
    "algorithm", [algorithms.INTERPRETED[name] for name in (*FIFO, *ANY_ORDER)]
)
exported = pytest.mark.parametrize(
    "algorithm", [getattr(aggregators, name) for name in (*FIFO, *ANY_ORDER)]
)
trees = pytest.mark.parametrize("algorithm", [algorithms.LogForest, algorithms.AmortizedForest])


@every
def test_an_empty_window_has_no_value_and_folds_to_the_identity(algorithm: Made) -> None:
    window = algorithm(TOTAL)
    assert (len(window), window.query(), window.fold()) == (0, None, 0)
    window.insert(7)
    window.evict()
    assert (len(window), window.query(), window.fold()) == (0, None, 0)
    assert window.bulk_evict(0) == 0
    assert window.bulk_evict(until=10) == 0


@every
def test_evicting_more_than_there_is_is_refused(algorithm: Made) -> None:
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
def test_bulk_eviction_wants_a_count_or_a_time_and_not_both(algorithm: Made) -> None:
    window = algorithm(TOTAL)
    with pytest.raises(errors.ArgumentError, match="one of the two"):
        window.bulk_evict()
    with pytest.raises(errors.ArgumentError, match="one of the two"):
        window.bulk_evict(1, until=2)


@fifo
def test_an_element_older_than_the_newest_is_refused_and_fiba_is_named(algorithm: Made) -> None:
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


@trees
def test_a_refused_vectorised_batch_leaves_the_window_as_it_was(
    algorithm: type[algorithms.LogForest] | type[algorithms.AmortizedForest],
) -> None:
    window = algorithm(TOTAL, pairwise=np.add)
    window.insert_elements(np.array([1, 2]), times=np.array([4, 5]))
    for times in ([3, 9], [9, 8]):
        with pytest.raises(errors.OutOfOrder):
            window.insert_elements(np.array([5, 5]), times=np.array(times))
    assert (len(window), window.query()) == (2, 3)


@any_order
def test_late_elements_go_where_their_time_says_and_ties_keep_their_order(
    algorithm: Made,
) -> None:
    window = algorithm(built_in.collect("x"))
    for name, time in (("c", 3), ("a", 1), ("b", 2), ("a2", 1), ("c2", 3)):
        window.insert(name, time=time)
    assert list(window.query()) == ["a", "a2", "b", "c", "c2"]


@every
def test_until_is_the_start_of_what_stays(algorithm: Made) -> None:
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
def test_without_times_the_position_in_the_stream_is_the_time(algorithm: Made) -> None:
    window = algorithm(TOTAL)
    window.insert_many([1, 10])
    window.evict()
    window.insert(100)
    assert window.bulk_evict(until=2) == 1
    assert window.query() == 100


@every
def test_times_are_given_for_all_elements_or_for_none(algorithm: Made) -> None:
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
def test_any_ordered_type_is_a_time_but_nan_is_not(algorithm: Made) -> None:
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
def test_a_null_holds_its_place_and_adds_nothing(algorithm: Made) -> None:
    window = algorithm(TOTAL)
    window.insert(None)
    assert (len(window), window.query()) == (1, None)
    window.insert(5)
    window.insert(None)
    assert (len(window), window.query()) == (3, 5)
    window.bulk_evict(2)
    assert (len(window), window.query(), window.fold()) == (1, None, 0)


@every
def test_columns_may_be_lists_numpy_or_arrow(algorithm: Made) -> None:
    for column in ([1, 2, 3], np.array([1, 2, 3]), pa.array([1, 2, 3, None]), range(1, 4)):
        window = algorithm(TOTAL)
        window.insert_many(column)
        assert window.query() == 6
        assert type(window.query()) is int


@interpreted
def test_numpy_integers_do_not_wrap_around(algorithm: Made) -> None:
    window = algorithm(TOTAL)
    window.insert_many(np.full(4, 2**62))
    assert window.query() == 2**64
    window = algorithm(TOTAL)
    window.insert_elements(np.full(4, 2**62))
    assert window.query() == 2**64


@every
def test_the_number_of_values_and_columns_is_checked(algorithm: Made) -> None:
    window = algorithm(replace(TOTAL, columns=("x", "y"), lift=lambda x, y: x * y))
    with pytest.raises(errors.ArgumentError, match=r"\['x', 'y'\] of sum"):
        window.insert(1)
    with pytest.raises(errors.ArgumentError, match="one length"):
        window.insert_many([1, 2], [1])
    with pytest.raises(errors.ArgumentError, match="as many as elements, 2"):
        window.insert_many([1, 2], [1, 2], times=[1])
    assert len(window) == 0


@every
def test_a_monoid_without_columns_counts_events(algorithm: Made) -> None:
    window = algorithm(built_in.count())
    window.insert(time=1)
    window.insert_many(times=[2, 3])
    window.bulk_evict(until=2)
    assert window.query() == 2
    with pytest.raises(errors.ArgumentError, match="or times"):
        window.insert_many()


@pytest.mark.parametrize(
    "monoid", [built_in.max("x"), built_in.sum("x").bind(("float",))], ids=["max", "sum of floats"]
)
def test_subtraction_needs_an_inverse(monoid: Monoid) -> None:
    with pytest.raises(errors.NotInvertible, match=r"SubtractOnEvict.*declares no inverse"):
        SubtractOnEvict(monoid)


def test_fiba_needs_an_arity_of_two() -> None:
    with pytest.raises(errors.ArgumentError, match="arity must be at least 2; got 1"):
        algorithms.FingerTree(TOTAL, arity=1)


# The form that runs.


@exported
def test_the_first_value_decides_between_machine_code_and_objects(algorithm: Any) -> None:
    window = algorithm(TOTAL)
    assert window.mode == "undecided"
    window.insert(None, time=1)
    assert window.mode == "undecided"
    window.insert(5, time=2)
    assert window.mode == ("compiled" if MACHINE_CODE else "interpreted")
    assert repr(window) == f"<{algorithm.__name__} of sum(x), {window.mode}: 2 held>"
    assert (window.bulk_evict(until=2), window.query()) == (1, 5)
    big = algorithm(TOTAL)
    big.insert(2**70)
    assert (big.mode, big.query()) == ("interpreted", 2**70)


@exported
def test_nulls_before_the_first_value_keep_their_places_and_their_times(algorithm: Any) -> None:
    window = algorithm(TOTAL)
    window.insert_many([None, None, None])
    window.evict()
    window.insert_many([7, None])
    assert (len(window), window.query()) == (4, 7)
    # Positions count from the beginning of the stream: 1 and 2 are the nulls that are left, 3 is the 7.
    assert (window.bulk_evict(until=3), window.query()) == (2, 7)
    assert (window.bulk_evict(until=4), window.query()) == (1, None)


@exported
def test_kinds_may_be_given_and_are_kept(algorithm: Any) -> None:
    window = algorithm(TOTAL, kinds=("float",))
    window.insert(1)
    window.insert(2.5)
    window.insert_many(np.array([True, False]))
    assert (window.query(), type(window.query())) == (4.5, float)
    window = algorithm(built_in.sum("x").bind(("int",)), kinds=("int",))
    window.insert_many([1, 2])
    assert window.query() == 3
    window = algorithm(TOTAL, kinds=["object"])
    window.insert_many([2**62] * 4)
    assert (window.mode, window.query()) == ("interpreted", 2**64)
    with pytest.raises(
        errors.ArgumentError, match="kinds must be one of bool, int, float, object for each"
    ):
        algorithm(TOTAL, kinds=("int", "int"))


@pytest.mark.skipif(not MACHINE_CODE, reason="interpreted windows take any value")
@exported
def test_values_that_do_not_fit_the_columns_are_refused_and_change_nothing(algorithm: Any) -> None:
    window = algorithm(TOTAL)
    window.insert_many([1, 2])
    for refused in ([2.5], ["a"], [3, 2**70], [0.5, None]):
        with pytest.raises(errors.ArgumentError, match="column x must be of kind int, as those before"):
            window.insert_many(refused)
        with pytest.raises(errors.SashError):
            window.insert(refused[-1] or refused[0])
    with pytest.raises(errors.IntegerOverflow):
        window.insert(2**70)
    assert (len(window), window.query()) == (2, 3)


@exported
def test_built_in_sums_of_integers_never_wrap_around(algorithm: Any) -> None:
    window = algorithm(built_in.sum("x").bind(("int",)))
    window.insert_many(np.full(4, 2**62))
    with pytest.raises(errors.IntegerOverflow):
        window.query()
    window.bulk_evict(3)
    assert window.query() == 2**62


@exported
def test_elements_may_come_first(algorithm: Any) -> None:
    window = algorithm(TOTAL)
    window.insert_element(3)
    window.insert_elements([ABSENT, 4])
    window.insert_elements(np.array([5, 6]))
    assert window.mode == ("compiled" if MACHINE_CODE else "interpreted")
    assert (len(window), window.fold(), window.query()) == (5, 18, 18)
    halves = algorithm(TOTAL)
    halves.insert_element(0.5)
    assert (halves.mode, halves.query()) == ("interpreted", 0.5)


@exported
def test_a_monoid_that_cannot_be_compiled_is_named_and_interpreted(algorithm: Any) -> None:
    seen: list[Any] = []
    watched = replace(TOTAL, name="watched", combine=lambda a, b: seen.append(a) or a + b)
    window = algorithm(watched)
    if MACHINE_CODE:
        with pytest.warns(errors.SashWarning, match="'watched': combine cannot be compiled"):
            window.insert_many([1, 2])
        # The monoid is kept with what was found out about it, and the next window warns no more.
        algorithm(watched).insert(1)
    else:
        window.insert_many([1, 2])
    assert (window.mode, window.query()) == ("interpreted", 3)


@pytest.mark.skipif(not MACHINE_CODE, reason="interpreted, a flip makes new numbers")
@pytest.mark.parametrize("algorithm", [getattr(aggregators, name) for name in (*FIFO, "FiBA")])
def test_a_single_operation_does_not_copy_what_is_held(algorithm: Any) -> None:
    window = algorithm(TOTAL, kinds=("int",))
    window.insert_many(np.arange(1 << 20))
    window.query()
    tracemalloc.start()
    try:
        window.insert(1)
        window.evict()
        window.bulk_evict(1_000)
        window.query()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A million elements are 8 MB.
    assert peak < 200_000


def test_memory_stays_in_proportion_to_the_window() -> None:
    window = AMTA(TOTAL, kinds=("int",))
    window.insert_many(np.arange(1 << 20))
    window.bulk_evict((1 << 20) - 100)
    for value in range(1_000):
        window.insert(value)
        window.evict()
    assert window.query() == sum(range(900, 1_000))
    if MACHINE_CODE:
        assert sum(column.nbytes for column in window._window._ring) <= 16 * 8 * 200


@pytest.mark.parametrize(
    "times",
    [
        [3, 1, 2],
        [3.5, -1.0, 0.0],
        [datetime(2024, 5, 3), datetime(2024, 5, 1), datetime(2024, 5, 2)],
        [
            datetime(2024, 5, 3, tzinfo=UTC),
            datetime(1924, 5, 1, tzinfo=UTC),
            datetime(2024, 5, 2, tzinfo=UTC),
        ],
        [Fraction(3, 2), Fraction(1, 3), Fraction(1, 2)],
        ["c", "a", "b"],
    ],
    ids=["int", "float", "datetime", "zoned", "fraction", "text"],
)
def test_the_tree_for_any_order_takes_any_type_of_time(times: list[Any]) -> None:
    window = aggregators.FiBA(built_in.last("x"), kinds=("int",))
    window.insert_many([30, 10], times=times[:2])
    window.insert(20, time=times[2])
    assert window.query() == 30
    assert window.bulk_evict(until=times[0]) == 2
    assert (len(window), window.query()) == (1, 30)
    coded = isinstance(times[0], int | float | datetime)
    assert window.mode == ("compiled" if coded and MACHINE_CODE else "interpreted")


@pytest.mark.skipif(not MACHINE_CODE, reason="interpreted trees take times of all types together")
def test_times_of_another_type_are_refused_by_a_tree_of_arrays() -> None:
    for first, other in ((1, 1.5), (1.5, "a"), (1.5, 2**53 + 1), (datetime(2024, 1, 1), 7)):
        window = aggregators.FiBA(TOTAL)
        window.insert(1, time=first)
        with pytest.raises(errors.ArgumentError, match="as the times before"):
            window.insert(2, time=other)
        assert (len(window), window.query()) == (1, 1)
    window = aggregators.FiBA(TOTAL)
    window.insert_many([1, 2], times=[5, 6.0])
    assert [window.bulk_evict(until=until) for until in (-math.inf, 5.5, math.inf)] == [0, 1, 1]


def test_slide_refuses_what_it_cannot_slide_over() -> None:
    with pytest.raises(errors.ArgumentError, match="window must be a positive number of events; got 0"):
        AMTA.slide(TOTAL, [1], window=0)
    with pytest.raises(errors.ArgumentError, match="arrays of one length"):
        AMTA.slide(TOTAL, [1], [2], window=2)
    with pytest.raises(errors.ArgumentError, match="times must be not given"):
        AMTA.slide(TOTAL, [1], window=2, times=[1])
    with pytest.raises(errors.ArgumentError, match="as many as events, 1"):
        aggregators.FiBA.slide(TOTAL, [1], window=2, times=[1, 2])
    with pytest.raises(errors.NotInvertible):
        SubtractOnEvict.slide(built_in.max("x"), [1], window=2)


# Slide policies.


@by_policy
def test_a_policy_that_fails_is_named_with_what_it_was_asked(algorithm: Any) -> None:
    window = algorithm(TOTAL)
    window.insert_many([1, 2])
    with pytest.raises(errors.PredicateError, match=r"ZeroDivisionError.*total=3, old="):
        window.evict_by_policy(lambda total, old: 1 // 0 > 0)
    with pytest.raises(errors.PredicateError, match="returned 3"):
        window.evict_by_policy(lambda total, old: total)
    assert window.evict_by_policy(lambda total, old: np.bool_(old <= 1)) == 1
    assert len(window) == 1


def test_a_policy_is_not_asked_about_an_empty_window() -> None:
    assert AMTA(TOTAL).evict_by_policy(lambda total, old: 1 // 0 > 0) == 0


def test_tracked_parts_skip_the_nulls_of_their_own_columns_only() -> None:
    folds = tracked(a=built_in.sum("a"), b=built_in.count("b"), n=built_in.count())
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
        self.data: dict[LevelAndIndex, bytes] = {}

    def get_many(self, ids: Sequence[LevelAndIndex]) -> list[Any]:
        found = [self.data[block] for block in ids]
        return [self.decode(value) if value else ABSENT for value in found]

    def put(self, level: int, first: int, values: Sequence[Any]) -> None:
        for index, value in enumerate(values, start=first):
            self.data[level, index] = b"" if value is ABSENT else self.encode(value)

    def delete_before(self, level: int, index: int) -> None:
        self.data = {block: v for block, v in self.data.items() if block[0] != level or block[1] >= index}


@trees
def test_oracle_a_tree_over_a_store_of_bytes_slides_as_in_memory(
    algorithm: type[algorithms.LogForest] | type[algorithms.AmortizedForest],
) -> None:
    monoid = built_in.collect("x")
    store = ByteStore(monoid)
    window, oracle = algorithm(monoid, nodes=store), algorithms.RecalculatedWindow(monoid)
    for i in range(900):
        for each in (window, oracle):
            each.insert(None if i % 7 == 0 else i)
            each.bulk_evict(max(0, len(each) - 40) if i % 3 else 0)
        assert window.query() == oracle.query()
    assert len(store.data) <= 2 * (42 + 256)


STORED = {
    "sum": built_in.sum("x").bind(("int",)),
    "stddev": built_in.stddev("x").bind(("int",)),
    "max": replace(TOTAL, combine=max, identity=lambda: -(2**63)),
    "collect": built_in.collect("x"),
}


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("algorithm", [aggregators.LogMTA, aggregators.AMTA])
@pytest.mark.parametrize("page", [1, 4, 64])
def test_oracle_a_tree_in_a_store_slides_as_in_memory(
    algorithm: Any, name: str, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_nodes, "PAGE", page)
    chance = random.Random(page)
    with Memory() as store:
        window, oracle = algorithm(STORED[name], store=store), algorithms.RecalculatedWindow(STORED[name])
        assert window.mode == "interpreted"
        clock = 0
        for step in range(150):
            values = [
                None if chance.random() < 0.2 else chance.randint(-9, 9)
                for _ in range(chance.randint(0, 9))
            ]
            times = [clock := clock + chance.randint(0, 2) for _ in values]
            leaving = chance.choice((0, 1, 3, 40))
            for each in (window, oracle):
                each.insert_many(values, times=times)
                each.bulk_evict(min(leaving, len(each)))
                each.bulk_evict(until=clock - 30)
            assert (len(window), window.query()) == (len(oracle), pytest.approx(oracle.query()))
            store.commit(step)
        # What left is no longer in the store: dropped every 256 evictions, by whole pages.
        assert len(list(store.keys())) <= 2 * (60 + 256) / page + 2 * 12


def test_a_tree_in_a_store_holds_a_few_pages(tmp_path: Path) -> None:
    n = 1 << 17
    with LMDB(tmp_path, durable=False) as store:
        window = AMTA(built_in.sum("x"), kinds=("int",), store=store)
        for epoch, start in enumerate(range(0, n, 1 << 14)):
            window.insert_many(np.arange(start, start + (1 << 14)))
            store.commit(epoch)
        assert len(window._window._nodes) <= 18 * stored_nodes.PAGE
        window.bulk_evict(n // 3)
        assert window.query() == sum(range(n // 3, n))
        assert len(window._window._nodes) <= 2 * 18 * stored_nodes.PAGE


@pytest.mark.parametrize("algorithm", [aggregators.LogMTA, aggregators.AMTA])
def test_a_bulk_eviction_of_any_size_deletes_few_pages_and_the_rest_with_the_next_ones(
    algorithm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 2^14 elements in pages of 4: 4,096 pages of elements, 2,048 of pairs, and so on.
    monkeypatch.setattr(stored_nodes, "PAGE", 4)
    n, deleted = 1 << 14, [0]

    class Counting(Memory):
        def delete_many(self, keys: Iterable[bytes]) -> None:
            keys = list(keys)
            deleted[-1] += len(keys)
            super().delete_many(keys)

    with Counting() as store:
        window = algorithm(TOTAL, store=store)
        window.insert_many(range(n))
        pages = len(list(store.keys()))
        window.bulk_evict(n - 10)
        assert window.query() == sum(range(n - 10, n))
        assert deleted[0] <= log2(n) * stored_nodes.DELETED_AT_ONCE < pages / 2
        for first in range(n, 2 * n, 64):
            window.insert_many(range(first, first + 64))
            window.bulk_evict(64)
            assert len(list(store.keys())) <= pages
        assert window.query() == sum(range(2 * n - 10, 2 * n))
        assert len(list(store.keys())) <= 2 * (10 + 256) / 4 + 2 * log2(n)


def test_two_windows_in_one_store_do_not_disturb_each_other() -> None:
    with Memory() as store:
        windows = [AMTA(TOTAL, store=store, prefix=prefix) for prefix in (b"a/", b"b/")]
        for factor, window in enumerate(windows, start=1):
            window.insert_many([factor * value for value in range(5_000)])
        for factor, window in enumerate(windows, start=1):
            window.bulk_evict(1_500)
            assert window.query() == factor * sum(range(1_500, 5_000))


def test_what_a_store_cannot_keep_is_refused_with_a_reason() -> None:
    with Memory() as store:
        texts = Monoid("text", ("x",), str, str, lambda a, b: a + b, lambda s: s)
        with pytest.raises(errors.Unsupported, match="encode and decode, to be kept in a store"):
            AMTA(texts, store=store).insert_many(["a"] * 2_000)
        noon = datetime(2024, 5, 1, 12)
        with pytest.raises(errors.Unsupported, match="times must be integers or floats"):
            AMTA(TOTAL, store=store).insert_many([1] * 2_000, times=[noon] * 2_000)


def test_a_store_that_lost_a_page_is_an_error() -> None:
    with Memory() as store:
        window = AMTA(TOTAL, store=store)
        window.insert_many(range(5_000))
        store.delete_many(list(store.keys()))
        with pytest.raises(errors.StoreError, match="lost the page"):
            window.bulk_evict(7)


def test_the_facade_is_light_and_exports_what_it_says() -> None:
    assert all(hasattr(aggregators, name) for name in aggregators.__all__)
    script = "import sys, sash.aggregators; print({'numba', 'pyspark'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
