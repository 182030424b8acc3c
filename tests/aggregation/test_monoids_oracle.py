"""Each monoid against a formula written in another way, on plain lists."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from sash.aggregation import built_in as m
from sash.errors import IntegerOverflow
from sash.testing.sameness import same
from tests.aggregation.values_of_monoids import BOTH, INT64, QUARTERS, some, steady, value

FLOATS = st.floats(-1e12, 1e12)
ANY_FLOAT = st.floats()


@BOTH
@steady
@given(xs=some(st.one_of(INT64, st.sampled_from([2**63 - 1, -(2**63)]))))
def test_oracle_an_integer_sum_is_exact_or_an_overflow(bind, xs):
    exact = sum(xs)
    if -(2**63) <= exact < 2**63:
        assert value(m.sum("x"), xs, ("int",), bind=bind) == exact
    else:
        with pytest.raises(IntegerOverflow, match="does not fit in 64 bits"):
            value(m.sum("x"), xs, ("int",), bind=bind)


@BOTH
def test_a_sum_that_only_overflows_on_the_way_is_right(bind):
    assert value(m.sum("x"), [2**63 - 1, 2**63 - 1, -(2**63), -(2**63), 7], ("int",), bind=bind) == 5


@steady
@given(xs=some(INT64, size=2))
def test_oracle_the_inverse_of_an_integer_sum_takes_out_exactly_the_oldest(xs):
    total = m.sum("x").bind(("int",))
    elements = [total.lift(x) for x in xs]
    left = total.inverse(reduce(total.combine, elements), elements[0])
    assert left == reduce(total.combine, elements[1:])


@steady
@given(xs=some(st.integers(-(2**40), 2**40)))
def test_oracle_the_plain_variants_give_the_same_where_nothing_can_overflow(xs):
    for exact in (m.sum("x").bind(("int",)), m.mean("x").bind(("int",))):
        plain = exact.narrowed(magnitude=2**40, events=30)
        assert plain is exact.plain
        assert value(plain, xs, ("int",)) == value(exact, xs, ("int",))


def test_the_plain_variant_is_not_given_when_an_overflow_is_possible():
    exact = m.sum("x").bind(("int",))
    assert exact.narrowed(magnitude=2**62, events=2) is exact
    assert exact.narrowed(magnitude=2**62, events=1) is exact.plain


@BOTH
@steady
@given(xs=some(st.one_of(FLOATS, st.sampled_from([1e16, -1e16, 1e300, -1e300, 1.0]))))
def test_oracle_a_float_sum_is_what_exact_arithmetic_rounds_to(bind, xs):
    exact = math.fsum(xs)
    slack = math.ulp(exact) + 1e-30 * math.fsum(map(abs, xs))
    assert abs(value(m.sum("x"), xs, ("float",), bind=bind) - exact) <= slack


def test_a_float_sum_keeps_what_plain_addition_would_lose():
    xs = [1e16, 1.0, -1e16] * 1000
    assert sum(xs) != 1000.0
    assert value(m.sum("x"), xs, ("float",)) == 1000.0


@pytest.mark.parametrize(
    ("xs", "expected"),
    [
        ([math.inf, 1.0], math.inf),
        ([1.0, -math.inf], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([1e308, 1e308], math.inf),
    ],
)
@BOTH
def test_infinities_and_nan_sum_as_in_ieee_arithmetic(bind, xs, expected):
    assert same(value(m.sum("x"), xs, ("float",), bind=bind), expected)
    assert same(value(m.mean("x"), xs, ("float",), bind=bind), expected)


def test_decimals_are_summed_exactly_beyond_the_default_precision():
    xs = [Decimal("12345678901234567890123456789012345678"), Decimal("0.01"), Decimal("-1")]
    assert value(m.sum("x"), xs, ("object",)) == Decimal("12345678901234567890123456789012345677.01")
    assert value(m.range("x"), xs, ("object",)) == Decimal("12345678901234567890123456789012345679")


@BOTH
@steady
@given(xs=some(INT64))
def test_oracle_the_mean_of_integers_never_overflows(bind, xs):
    assert math.isclose(
        value(m.mean("x"), xs, ("int",), bind=bind), Fraction(sum(xs), len(xs)), rel_tol=4e-16
    )


@BOTH
@steady
@given(xs=some(FLOATS))
def test_oracle_the_mean_of_floats(bind, xs):
    expected = float(sum(map(Fraction, xs)) / len(xs))
    assert math.isclose(
        value(m.mean("x"), xs, ("float",), bind=bind), expected, rel_tol=1e-15, abs_tol=1e-30
    )


@steady
@given(xs=some(st.floats(1e-300, 1e300)))
def test_oracle_the_geometric_mean(xs):
    assert math.isclose(value(m.geomean("x"), xs, ("float",)), statistics.geometric_mean(xs), rel_tol=1e-12)


def test_the_geometric_mean_at_its_edges():
    largest = 1.7976931348623157e308
    assert math.isclose(value(m.geomean("x"), [largest] * 3, ("float",)), largest, rel_tol=1e-12)
    assert value(m.geomean("x"), [0.0, 5.0], ("float",)) == 0.0
    assert value(m.geomean("x"), [math.inf, 5.0], ("float",)) == math.inf
    assert math.isnan(value(m.geomean("x"), [-1.0, 5.0], ("float",)))


def spark_order(x):
    return (x != x, 0.0 if x != x else x)


@BOTH
@pytest.mark.parametrize(
    ("kind", "values"), [("int", INT64), ("float", ANY_FLOAT), ("bool", st.booleans())]
)
@steady
@given(data=st.data())
def test_oracle_extremes_follow_the_order_in_which_nan_is_largest(bind, kind, values, data):
    xs = data.draw(some(values))
    assert same(value(m.min("x"), xs, (kind,), bind=bind), min(xs, key=spark_order))
    assert same(value(m.max("x"), xs, (kind,), bind=bind), max(xs, key=spark_order))


@BOTH
@steady
@given(xs=some(INT64))
def test_oracle_the_range_of_integers_is_exact_or_an_overflow(bind, xs):
    exact = max(xs) - min(xs)
    if exact < 2**63:
        assert value(m.range("x"), xs, ("int",), bind=bind) == exact
    else:
        with pytest.raises(IntegerOverflow):
            value(m.range("x"), xs, ("int",), bind=bind)


@BOTH
@steady
@given(xs=some(ANY_FLOAT))
def test_oracle_the_range_of_floats(bind, xs):
    expected = max(xs, key=spark_order) - min(xs, key=spark_order)
    assert same(value(m.range("x"), xs, ("float",), bind=bind), expected)


@BOTH
@steady
@given(rows=some(st.tuples(INT64, st.one_of(ANY_FLOAT, st.sampled_from([0.0, -math.inf, math.nan])))))
def test_oracle_argmin_and_argmax_take_the_earliest_of_the_best(bind, rows):
    lowest = min(rows, key=lambda row: spark_order(row[1]))
    highest = max(rows, key=lambda row: spark_order(row[1]))
    assert value(m.argmin("v", "by"), rows, ("int", "float"), bind=bind) == lowest[0]
    assert value(m.argmax("v", "by"), rows, ("int", "float"), bind=bind) == highest[0]


@steady
@given(xs=some(st.integers()))
def test_oracle_order_is_kept(xs):
    assert value(m.collect("x"), xs, ("int",)) == xs
    assert value(m.first("x"), xs, ("int",)) == xs[0]
    assert value(m.last("x"), xs, ("int",)) == xs[-1]


@BOTH
@steady
@given(xs=some(st.one_of(st.integers(0, 5).map(float), st.just(math.nan))))
def test_oracle_the_longest_increasing_run_is_found_by_looking_at_all_runs(bind, xs):
    keys = [spark_order(x) for x in xs]
    runs = [
        hi - lo
        for lo in range(len(xs))
        for hi in range(lo + 1, len(xs) + 1)
        if all(keys[i] < keys[i + 1] for i in range(lo, hi - 1))
    ]
    assert value(m.longest_increasing_run("x"), xs, ("float",), bind=bind) == max(runs)


def exact_sums(rows):
    """n, means and S_xx, S_xy, S_yy as exact fractions."""
    n = len(rows)
    xs, ys = ([Fraction(row[i]) for row in rows] for i in (0, 1))
    mx, my = sum(xs) / n, sum(ys) / n
    pairs = list(zip(xs, ys, strict=True))
    sxx = sum((x - mx) ** 2 for x in xs)
    sxy = sum((x - mx) * (y - my) for x, y in pairs)
    return n, mx, my, sxx, sxy, sum((y - my) ** 2 for y in ys)


@steady
@given(xs=some(FLOATS, size=2))
def test_oracle_variance_and_deviation(xs):
    # The error of the merge is relative to the values' own size, not to their spread.
    slack = 1e-13 * max(map(abs, xs)) ** 2
    expected = float(statistics.variance(map(Fraction, xs)))
    assert math.isclose(value(m.variance("x"), xs, ("float",)), expected, rel_tol=1e-11, abs_tol=slack)
    assert value(m.stddev("x"), xs, ("float",)) == math.sqrt(value(m.variance("x"), xs, ("float",)))


def test_the_variance_of_large_close_values_survives_where_squares_would_cancel():
    xs = [1e9 + d for d in (4.0, 7.0, 13.0, 16.0)]
    assert value(m.variance("x"), xs, ("float",)) == 30.0
    naive = (sum(x * x for x in xs) - sum(xs) ** 2 / 4) / 3
    assert naive != 30.0


@steady
@given(xs=some(QUARTERS))
def test_oracle_skewness(xs):
    n, mean = len(xs), sum(map(Fraction, xs)) / len(xs)
    m2, m3 = (sum((Fraction(x) - mean) ** k for x in xs) for k in (2, 3))
    found = value(m.skewness("x"), xs, ("float",))
    if m2 == 0:
        assert found is None
    else:
        assert math.isclose(found, math.sqrt(n) * float(m3) / float(m2) ** 1.5, rel_tol=1e-9, abs_tol=1e-9)


@steady
@given(rows=some(st.tuples(QUARTERS, QUARTERS), size=2))
def test_oracle_covariance_and_correlation(rows):
    n, _, _, sxx, sxy, syy = exact_sums(rows)
    found = value(m.covariance("x", "y"), rows, ("float", "float"))
    assert math.isclose(found, sxy / (n - 1), rel_tol=1e-9, abs_tol=1e-6)
    r = value(m.correlation("x", "y"), rows, ("float", "float"))
    if sxx == 0 or syy == 0:
        assert r is None
    else:
        assert math.isclose(r, float(sxy) / math.sqrt(sxx * syy), rel_tol=1e-9, abs_tol=1e-9)


@steady
@given(rows=some(st.tuples(QUARTERS, QUARTERS), size=2))
def test_oracle_the_regression_line(rows):
    _, mx, my, sxx, sxy, syy = exact_sums([(x, y) for y, x in rows])
    found = value(m.linear_regression("y", "x"), rows, ("float", "float"))
    if sxx == 0:
        assert found is None
    else:
        slope = sxy / sxx
        r2 = 1 if syy == 0 else sxy * sxy / (sxx * syy)
        expected = (float(slope), float(my - slope * mx), float(r2))
        assert np.allclose(found, expected, rtol=1e-9, atol=1e-6)


@steady
@given(rows=some(st.tuples(QUARTERS, QUARTERS), size=3))
def test_differential_the_regression_line_is_that_of_numpy(rows):
    ys, xs = np.array(rows).T
    assume(xs.std() > 1)
    found = value(m.linear_regression("y", "x"), rows, ("float", "float"))
    assert np.allclose(found[:2], np.polyfit(xs, ys, 1), rtol=1e-6, atol=1e-6)


@steady
@given(xs=some(ANY_FLOAT), k=st.integers(1, 5))
def test_oracle_top_k(xs, k):
    expected = sorted(xs, key=spark_order, reverse=True)[:k]
    assert same(value(m.top_k("x", k), xs, ("float",)), expected)


@pytest.mark.parametrize("prefer", ["min", "max", ("max", "min", "min")])
@steady
@given(rows=some(st.tuples(*[st.integers(0, 4)] * 3)))
def test_oracle_the_skyline_is_what_nobody_dominates(prefer, rows):
    signs = [-1 if p == "max" else 1 for p in ([prefer] * 3 if isinstance(prefer, str) else prefer)]

    def dominates(q, p):
        better = [s * (a - b) for s, a, b in zip(signs, q, p, strict=True)]
        return max(better) <= 0 and min(better) < 0

    expected = sorted({p for p in rows if not any(dominates(q, p) for q in rows)})
    assert value(m.skyline("x", "y", "z", prefer=prefer), rows, ("int",) * 3) == expected


@steady
@given(xs=some(st.one_of(st.text(max_size=2), st.sampled_from(["", "a", "b"]))))
def test_oracle_small_windows_are_counted_exactly(xs):
    assert value(m.count("x"), xs, ("object",)) == len(xs)
    assert value(m.distinct("x"), xs, ("object",)) == len(set(xs))
    counts = Counter(xs)
    assert dict(value(m.frequent_items("x", k=100), xs, ("object",))) == counts
    assert value(m.frequent_items("x", k=1), xs, ("object",))[0][1] == max(counts.values())


@steady
@given(xs=some(st.floats(allow_nan=False)), q=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]))
def test_oracle_a_quantile_of_a_small_window_is_the_order_statistic(xs, q):
    place = max(1, math.ceil(q * len(xs)))
    assert value(m.quantile("x", q), xs, ("float",)) == sorted(xs)[place - 1]
