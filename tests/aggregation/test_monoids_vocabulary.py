"""Smoothing, counters, histograms, last n, exact distinct counts: each against another way to say it."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from sash.aggregation import built_in as m
from sash.aggregation.built_in.membership import might_contain
from sash.errors import ArgumentError, IntegerOverflow, UnitError, Unsupported
from sash.semantics.monoid import fold
from sash.testing import laws
from tests.aggregation.values_of_monoids import BOTH, INT64, QUARTERS, some, steady, value

FLOATS = st.floats(-1e6, 1e6)


@BOTH
@steady
@given(xs=some(FLOATS), alpha=st.floats(0.01, 1.0))
def test_oracle_ewm_by_events_is_that_of_pandas(bind, xs, alpha):
    expected = pd.Series(xs).ewm(alpha=alpha).mean().iloc[-1]
    assert math.isclose(
        value(m.ewm("x", alpha=alpha), xs, ("float",), bind=bind), expected, rel_tol=1e-9, abs_tol=1e-6
    )


@steady
@given(xs=some(FLOATS), half_life=st.floats(0.1, 50.0))
def test_oracle_a_half_life_of_events_is_that_of_pandas(xs, half_life):
    expected = pd.Series(xs).ewm(halflife=half_life).mean().iloc[-1]
    found = value(m.ewm("x", half_life=half_life), xs, ("float",))
    assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6)


@BOTH
@steady
@given(
    rows=some(st.tuples(FLOATS, st.integers(0, 10**9))),
    order=st.randoms(use_true_random=False),
)
def test_oracle_ewm_by_time_is_that_of_pandas_in_any_order(bind, rows, order):
    rows = sorted(rows, key=lambda row: row[1])
    times = pd.to_datetime([t for _, t in rows], unit="us")
    expected = pd.Series([x for x, _ in rows]).ewm(halflife="10s", times=times).mean().iloc[-1]
    smooth = m.ewm("x", half_life="10 seconds")
    for _ in range(2):
        found = value(smooth, rows, ("float", "int"), bind=bind)
        assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6)
        order.shuffle(rows)


def test_ewm_skips_nulls_without_ageing_others_and_is_nan_as_soon_as_a_value_is_not_finite():
    rows = [{"x": 0.0}, {"x": None}, {"x": None}, {"x": 3.0}]
    assert fold(m.ewm("x", alpha=0.5), rows) == 2.0
    assert pd.Series([0.0, None, None, 3.0]).ewm(alpha=0.5, ignore_na=True).mean().iloc[-1] == 2.0
    for odd in (math.inf, math.nan):
        for alpha in (0.3, 1.0):
            assert math.isnan(fold(m.ewm("x", alpha=alpha), [{"x": odd}, {"x": 1.0}]))


def test_a_window_that_is_longer_than_floats_can_weigh_keeps_its_newest_values():
    xs = [1.0] * 100_000 + [5.0]
    assert math.isclose(value(m.ewm("x", alpha=0.9), xs, ("float",)), 4.6, rel_tol=1e-12)
    rows = [(1.0, 0), (5.0, 10**18)]
    assert value(m.ewm("x", half_life="1 second"), rows, ("float", "int")) == 5.0


def steps(xs):
    return [y - x if y >= x else y for x, y in pairwise(xs)]


@BOTH
@steady
@given(xs=some(st.one_of(INT64, st.integers(0, 20))))
def test_oracle_the_increase_of_an_integer_counter_is_exact_or_an_overflow(bind, xs):
    exact = sum(steps(xs)) if len(xs) > 1 else None
    if exact is None or -(2**63) <= exact < 2**63:
        assert value(m.increase("x"), xs, ("int",), bind=bind) == exact
    else:
        with pytest.raises(IntegerOverflow):
            value(m.increase("x"), xs, ("int",), bind=bind)


@BOTH
@steady
@given(xs=some(st.floats(0, 1e12), size=2))
def test_oracle_the_increase_of_a_float_counter(bind, xs):
    expected = math.fsum(steps(xs))
    assert math.isclose(value(m.increase("x"), xs, ("float",), bind=bind), expected, rel_tol=1e-12)


def test_the_increase_of_decimals_is_exact():
    xs = [Decimal("0.10"), Decimal("0.30"), Decimal("0.05")]
    assert value(m.increase("x"), xs, ("object",)) == Decimal("0.25")
    assert m.increase("x").result((pa.decimal128(10, 2),)) == pa.decimal128(20, 2)


@BOTH
@steady
@given(rows=some(st.tuples(st.integers(0, 50), st.integers(0, 5).map(lambda s: s * 500_000))))
def test_oracle_the_rate_is_the_increase_per_second(bind, rows):
    rows = sorted(rows, key=lambda row: row[1])
    found = value(m.rate("x"), rows, ("int", "int"), bind=bind)
    seconds = (rows[-1][1] - rows[0][1]) / 1e6
    if not seconds:
        assert found is None
    else:
        assert math.isclose(found, sum(steps([x for x, _ in rows])) / seconds, rel_tol=1e-12)


@pytest.mark.parametrize("per_second", [1, 10**3, 10**6, 10**9])
def test_the_unit_of_the_time_column_does_not_change_what_is_read_from_it(per_second):
    rows = [(3.0, 0), (7.0, 20), (9.0, 60)]
    for made in (m.rate("x"), m.ewm("x", half_life="1 minute")):
        plain = value(made, [(x, t * 10**6) for x, t in rows], ("float", "int"))
        timed = made.at("t", per_second)
        assert timed.columns == ("x", "t")
        assert value(timed, [(x, t * per_second) for x, t in rows], ("float", "int")) == plain
        epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        stamps = [{"x": x, "t": epoch + dt.timedelta(seconds=t)} for x, t in rows]
        assert math.isclose(fold(timed, stamps), plain, rel_tol=1e-15)


def test_a_half_life_and_the_time_column_must_be_of_one_kind():
    with pytest.raises(UnitError, match="half_life must be a number with by='time'"):
        m.ewm("x", half_life="1 minute").at("t", None)
    with pytest.raises(UnitError, match="half_life must be a duration such as '1 hour'"):
        m.ewm("x", half_life=60, by="time").at("t", 10**6)
    assert m.ewm("x", half_life=60, by="time").at("t", None).columns == ("x", "t")


@BOTH
@steady
@given(xs=some(QUARTERS))
def test_oracle_kurtosis(bind, xs):
    n, mean = len(xs), sum(map(Fraction, xs)) / len(xs)
    m2, m4 = (sum((Fraction(x) - mean) ** k for x in xs) for k in (2, 4))
    found = value(m.kurtosis("x"), xs, ("float",), bind=bind)
    if m2 == 0:
        assert found is None
    else:
        assert math.isclose(found, float(n * m4 / (m2 * m2)) - 3, rel_tol=1e-9, abs_tol=1e-9)


@steady
@given(xs=some(st.one_of(st.integers(0, 4), st.text(max_size=1))), n=st.integers(1, 6))
def test_oracle_the_first_and_last_n(xs, n):
    assert value(m.first("x", n), xs, ("object",)) == xs[:n]
    assert value(m.last("x", n), xs, ("object",)) == xs[-n:]
    assert value(m.first("x", n, distinct=True), xs, ("object",)) == list(dict.fromkeys(xs))[:n]
    latest = list(dict.fromkeys(reversed(xs)))[:n]
    assert value(m.last("x", n, distinct=True), xs, ("object",)) == latest[::-1]


def test_what_differs_is_what_spark_tells_apart():
    nan, zeros = [math.nan, -math.nan], [0.0, -0.0]
    assert value(m.count_distinct("x"), nan + zeros, ("float",)) == 2
    assert len(value(m.last("x", 5, distinct=True), nan + zeros, ("float",))) == 2
    assert value(m.last("x", 5, distinct=True), [[1], [2], [1]], ("object",)) == [[2], [1]]


@steady
@given(xs=some(st.one_of(st.floats(), st.sampled_from([0.0, -0.0, math.nan]))))
def test_oracle_an_exact_count_of_what_differs(xs):
    different = {x + 0.0 for x in xs if x == x}
    assert value(m.count_distinct("x"), xs, ("float",)) == len(different) + any(x != x for x in xs)
    exact = m.count_distinct("x")
    element = reduce(exact.combine, [exact.lift(x) for x in xs])
    again = exact.decode(exact.encode(element))
    assert exact.lower(exact.combine(again, element)) == exact.lower(element)


NEAR = st.one_of(st.integers(-10, 10).map(float), st.floats(-20, 20))
FINITE = st.floats(allow_nan=False, allow_infinity=False)
EDGES = st.lists(NEAR, min_size=2, max_size=25, unique=True).map(sorted)


@BOTH
@steady
@given(xs=some(st.one_of(st.integers(-12, 12).map(float), FLOATS)), edges=EDGES)
def test_oracle_a_histogram_by_edges_is_that_of_numpy(bind, xs, edges):
    found = value(m.histogram("x", edges=edges), xs, ("float",), bind=bind)
    assert list(found) == np.histogram(xs, edges)[0].tolist()


def test_the_ends_of_a_histogram_may_be_infinite():
    rows = [{"x": x} for x in (-math.inf, -5.0, 0.0, 5.0, math.inf, math.nan)]
    assert fold(m.histogram("x", edges=[-math.inf, 0, math.inf]), rows) == (2, 3)
    assert fold(m.histogram("x", edges=[-math.inf, math.inf]), rows) == (5,)
    assert fold(m.histogram("x", bins=4), [{"x": math.nan}]) == []


@BOTH
@steady
@given(
    xs=some(st.one_of(FLOATS, st.integers(-100, 100).map(float), FINITE)),
    bins=st.integers(2, 12),
)
def test_oracle_bins_are_as_narrow_as_their_number_allows_and_hold_every_value(bind, xs, bins):
    found = value(m.histogram("x", bins=bins), xs, ("float",), bind=bind)
    assert len(found) <= bins
    assert sum(count for _, _, count in found) == len(xs)
    assert all(count == sum(start <= x < end for x in xs) for start, end, count in found)
    if not all(math.isfinite(edge) for start, end, _ in found for edge in (start, end)):
        return  # around the largest floats a bin ends where floats do
    (width,) = {Fraction(end) - Fraction(start) for start, end, _ in found}
    assert math.frexp(float(width))[0] == 0.5
    narrower = width / 2
    if narrower >= Fraction(math.ulp(max(map(abs, xs)))):
        lowest, highest = (Fraction(x) // narrower for x in (min(xs), max(xs)))
        assert highest - lowest >= bins


def test_a_bloom_filter_can_be_asked():
    made = fold(m.bloom("x", where="x != 'c'"), [{"x": "a"}, {"x": "b"}, {"x": "c"}])
    assert might_contain(made, "a")
    assert not might_contain(made, "c")


@pytest.mark.parametrize(
    "made",
    [
        m.ewm("x", alpha=0.3),
        m.increase("x"),
        m.kurtosis("x"),
        m.histogram("x", bins=5),
        m.histogram("x", edges=[0, 1, 2]),
        m.last("x", 2),
        m.first("x", 2, distinct=True),
        m.count_distinct("x"),
    ],
    ids=str,
)
def test_laws_hold_on_plain_numbers(made):
    samples = [0.5, 1.5, 0.25, 7.0, 1.5, 0.0]
    assert laws(made, samples) > 0
    assert laws(made.bind(("float",)), samples) > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: m.ewm("x"), r"alpha must be given, or else half_life"),
        (lambda: m.ewm("x", alpha=0.5, half_life=3), r"one of the two"),
        (lambda: m.ewm("x", alpha=0), r"alpha must be a number above 0 and at most 1; got 0"),
        (lambda: m.ewm("x", half_life=0), r"half_life must be a positive number of events"),
        (lambda: m.ewm("x", half_life="0 s"), r"half_life must be longer than zero"),
        (lambda: m.ewm("x", half_life=3, by="rows"), r"by must be 'events' or 'time'"),
        (lambda: m.ewm("x", alpha=0.5, by="time"), r"half_life must be a duration"),
        (
            lambda: m.ewm("x", half_life="1 h", by="events"),
            r"half_life must be a positive number of events",
        ),
        (lambda: m.histogram("x"), r"bins must be given, or else edges"),
        (lambda: m.histogram("x", bins=1), r"bins must be an integer of at least 2"),
        (lambda: m.histogram("x", edges=[1]), r"edges must be at least two numbers that increase"),
        (lambda: m.histogram("x", edges=[1, 1]), r"edges must be at least two numbers that increase"),
        (lambda: m.histogram("x", edges="ab"), r"edges must be at least two numbers that increase"),
        (lambda: m.last("x", 0), r"n must be a positive integer; got 0"),
        (lambda: m.first("x", distinct=True), r"n must be given with distinct=True"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_by_name(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


NUMERIC = [
    m.ewm("x", alpha=0.5), m.rate("x"), m.kurtosis("x"), m.histogram("x", bins=3), m.increase("x"),
]  # fmt: skip


@pytest.mark.parametrize("made", NUMERIC, ids=str)
def test_columns_that_are_no_numbers_are_refused(made):
    types = (pa.string(), pa.timestamp("us"))[: len(made.columns)]
    with pytest.raises(Unsupported):
        made.result(types)
    with pytest.raises(Unsupported):
        made.lift(*["a", 1][: len(made.columns)])


def test_result_types():
    assert m.last("x", 3).result((pa.timestamp("us"),)) == pa.list_(pa.timestamp("us"))
    assert m.increase("x").result((pa.int32(),)) == pa.int64()
    assert m.increase("x").result((pa.float32(),)) == pa.float64()
    assert m.histogram("x", edges=[0, 1]).result((pa.int32(),)) == pa.list_(pa.int64())
    with pytest.raises(Unsupported, match="not a struct, list or map"):
        m.count_distinct("x").result((pa.list_(pa.int64()),))
