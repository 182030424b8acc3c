"""Sketches on windows that are too large for them to be exact, and what they are written as."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, strategies as st

from sash.aggregation import built_in as m
from sash.aggregation.built_in.membership import might_contain
from sash.errors import CorruptValue

RNG = random.Random(7)
NORMAL = [RNG.gauss(0, 1) for _ in range(20_000)]


def fold_in_runs(monoid, values, *, run):
    """Folds of runs, then the fold of these: as panes do it."""
    folds = [
        reduce(monoid.combine, map(monoid.lift, values[i : i + run])) for i in range(0, len(values), run)
    ]
    return reduce(monoid.combine, folds)


def test_distinct_is_within_its_error():
    monoid = m.distinct("x")
    values = [RNG.randrange(30_000) for _ in range(20_000)]
    estimate = monoid.lower(fold_in_runs(monoid, values, run=1000))
    assert abs(estimate / len(set(values)) - 1) < 3 * 1.04 / math.sqrt(2**12)


@pytest.mark.parametrize("n", [100, 300, 400, 1000, 20_000])
def test_differential_distinct_depends_on_the_set_of_values_alone(n):
    monoid = m.distinct("x")
    values = list(range(n))
    straight = monoid.lower(reduce(monoid.combine, map(monoid.lift, values)))
    RNG.shuffle(values)
    assert monoid.lower(fold_in_runs(monoid, values, run=137)) == straight
    doubled = fold_in_runs(monoid, values * 2, run=61)
    assert monoid.lower(doubled) == straight
    assert monoid.lower(monoid.decode(monoid.encode(doubled))) == straight


@pytest.mark.parametrize("sketch", ["kll", "tdigest"])
@pytest.mark.parametrize("q", [0.01, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("run", [1, 500])
def test_a_quantile_of_a_large_window_is_within_its_rank_error(sketch, q, run):
    monoid = m.quantile("x", q, sketch=sketch)
    found = monoid.lower(fold_in_runs(monoid, NORMAL, run=run))
    rank = sum(x <= found for x in NORMAL) / len(NORMAL)
    assert abs(rank - q) < (0.03 if sketch == "kll" else 0.01)


@pytest.mark.parametrize("sketch", ["kll", "tdigest"])
def test_infinities_and_nan_take_their_places_in_a_quantile(sketch):
    values = [math.nan, -math.inf, 1.0, 2.0, 3.0, math.inf, math.inf, -math.inf, 4.0, math.nan]
    expected = {
        0.0: -math.inf,
        0.2: -math.inf,
        0.65: math.inf,
        0.8: math.inf,
        0.85: math.nan,
        1.0: math.nan,
    }
    for q, answer in expected.items():
        monoid = m.quantile("x", q, sketch=sketch)
        found = monoid.lower(fold_in_runs(monoid, values, run=3))
        assert found == answer or (found != found and answer != answer)
    middle = m.quantile("x", 0.45, sketch=sketch)
    assert 1.0 <= middle.lower(fold_in_runs(middle, values, run=3)) <= 4.0


def test_frequent_items_finds_the_heavy_ones_among_many():
    monoid = m.frequent_items("x", k=3, lg_size=6)
    values = ["a"] * 900 + ["b"] * 700 + ["c"] * 500 + [str(i) for i in range(2000)]
    RNG.shuffle(values)
    found = monoid.lower(fold_in_runs(monoid, values, run=100))
    assert [item for item, _ in found] == ["a", "b", "c"]
    error = 3.5 / 2**6 * len(values)
    assert all(abs(count - values.count(item)) <= error for item, count in found)


def test_frequent_items_gives_back_values_of_any_type():
    monoid = m.frequent_items("x")
    values = ["", "é\x00", 1, 1.5, True, None.__class__.__name__, datetime(2024, 1, 1, tzinfo=UTC), b"\xff"]
    found = monoid.lower(reduce(monoid.combine, map(monoid.lift, values)))
    assert {repr(item) for item, _ in found} == set(map(repr, values))


def test_a_bloom_filter_holds_all_that_went_in_and_little_else():
    monoid = m.bloom("x", capacity=2000, error=0.02)
    inside = [f"user{i}" for i in range(2000)]
    found = monoid.lower(fold_in_runs(monoid, inside, run=100))
    assert all(might_contain(found, user) for user in inside)
    wrong = sum(might_contain(found, f"other{i}") for i in range(5000)) / 5000
    assert wrong < 2 * 0.02


def test_a_timestamp_is_found_whether_it_went_in_as_an_integer_or_as_an_object():
    moment = datetime(2024, 1, 1, 12, tzinfo=UTC)
    microseconds = int(moment.timestamp()) * 1_000_000
    monoid = m.bloom("t")
    assert might_contain(monoid.lower(monoid.lift(microseconds)), moment)
    assert might_contain(monoid.lower(monoid.lift(moment)), microseconds)


EQUAL_VALUES = [
    (1.0, 1),
    (1, 1.0),
    (Decimal("1.50"), Decimal("1.5")),
    (Decimal("1.50"), 1.5),
    (Decimal("0.10"), Decimal("0.1")),
    (Decimal("100"), Decimal("1E+2")),
    (2.0**70, 2**70),
    (np.float32(0.5), Decimal("0.5")),
    (-0.0, 0),
    (math.nan, Decimal("NaN")),
    (math.inf, Decimal("Infinity")),
    (True, 1),
    ([1.0, None], [1, None]),
    ({"a": 2.0}, {"a": 2}),
    (datetime(2024, 1, 1, tzinfo=UTC), np.datetime64("2024-01-01T00:00:00.000000000")),
    (timedelta(seconds=5), np.timedelta64(5 * 10**9, "ns")),
    (date(2024, 1, 1), np.datetime64("2024-01-01")),
]


@pytest.mark.parametrize(("inside", "candidate"), EQUAL_VALUES)
def test_a_bloom_filter_finds_what_compares_equal(inside, candidate):
    monoid = m.bloom("x")
    assert might_contain(monoid.lower(monoid.lift(inside)), candidate)
    assert might_contain(monoid.lower(monoid.lift(candidate)), inside)


@given(st.integers() | st.floats() | st.decimals(allow_nan=False))
def test_a_number_in_any_type_is_found_in_a_bloom_filter(number):
    monoid = m.bloom("x")
    found = monoid.lower(monoid.lift(number))
    forms = [int, float, Decimal, lambda x: Decimal(x) * Decimal("1.000")]
    for form in forms:
        try:
            other = form(number)
        except (ArithmeticError, ValueError):
            continue
        if other == number:
            assert might_contain(found, other)


def test_nothing_is_in_a_null_filter():
    assert might_contain(None, "a") is False


def test_a_bloom_filter_that_was_hashed_by_type_is_refused():
    old = b"SBF\x01" + m.bloom("x").encode(3)[4:]
    with pytest.raises(CorruptValue, match=r"old layout, in which 1 and 1\.0 differ"):
        might_contain(old, 1)


@pytest.mark.parametrize("damaged", [b"", b"SBF\x02", b"something else entirely"])
def test_bytes_that_are_not_a_bloom_filter_are_refused(damaged):
    with pytest.raises(CorruptValue):
        might_contain(damaged, 1)


def test_a_bloom_filter_of_another_shape_is_refused():
    stored = m.bloom("x", capacity=10).encode(3)
    with pytest.raises(CorruptValue, match=r"\[7, 96\] \(hashes, bits\) was stored, not of \[7, 959\]"):
        m.bloom("x", capacity=100).decode(stored)


def test_a_quantile_that_is_cut_off_is_refused():
    with pytest.raises(CorruptValue, match="at least 24 bytes, not 3"):
        m.quantile("x", 0.5).decode(b"abc")
