"""What goes in and what comes out: Arrow types, refusals, and Spark's rules for small windows."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from sash.aggregation import built_in as m
from sash.errors import ArgumentError, Unsupported
from sash.semantics.monoid import fold
from sash.testing.sameness import same

MOMENT = pa.timestamp("us", tz="UTC")


@pytest.mark.parametrize(
    "given", [MOMENT, pa.date32(), pa.string(), pa.decimal128(10, 2), pa.int16(), pa.float32(), pa.bool_()]
)
@pytest.mark.parametrize("name", ["min", "max", "first", "last"])
def test_values_that_are_passed_on_keep_their_type(name, given):
    assert getattr(m, name)("x").result((given,)) == given


def test_argmax_has_the_type_of_its_value_not_of_its_order():
    assert m.argmax("who", "price").result((pa.string(), pa.float64())) == pa.string()


@pytest.mark.parametrize(
    ("monoid", "given", "expected"),
    [
        (m.sum("x"), pa.int8(), pa.int64()),
        (m.sum("x"), pa.float32(), pa.float64()),
        (m.sum("x"), pa.decimal128(10, 2), pa.decimal128(20, 2)),
        (m.sum("x"), pa.decimal128(35, 2), pa.decimal128(38, 2)),
        (m.sum("x"), pa.duration("us"), pa.duration("us")),
        (m.count("x"), pa.string(), pa.int64()),
        (m.mean("x"), pa.int64(), pa.float64()),
        (m.range("x"), MOMENT, pa.duration("us")),
        (m.range("x"), pa.int32(), pa.int64()),
        (m.range("x"), pa.decimal128(10, 2), pa.decimal128(11, 2)),
        (m.collect("x"), pa.date32(), pa.list_(pa.date32())),
        (m.top_k("x", 2), MOMENT, pa.list_(MOMENT)),
        (m.distinct("x"), pa.string(), pa.int64()),
        (m.bloom("x"), pa.string(), pa.binary()),
        (m.quantile("x", 0.5), pa.int64(), pa.float64()),
        (m.longest_increasing_run("x"), pa.string(), pa.int64()),
        (
            m.frequent_items("x"),
            pa.string(),
            pa.list_(pa.struct([("item", pa.string()), ("count", pa.int64())])),
        ),
    ],
)
def test_result_types_of_one_column(monoid, given, expected):
    assert monoid.result((given,)) == expected


def test_structured_results_name_their_fields():
    line = m.linear_regression("y", "x").result((pa.float64(), pa.int64()))
    assert [field.name for field in line] == ["slope", "intercept", "r2"]
    points = m.skyline("price", "km").result((pa.int64(), pa.float64()))
    assert points == pa.list_(pa.struct([("price", pa.int64()), ("km", pa.float64())]))


@pytest.mark.parametrize(
    ("monoid", "given", "message"),
    [
        (m.sum("x"), pa.string(), r"the input of sum must be .*decimals or durations; got 'string'"),
        (m.sum("x"), MOMENT, r"the input of sum .*timestamp"),
        (m.sum("x"), pa.bool_(), r"the input of sum .*Cast the column first"),
        (m.mean("x"), pa.decimal128(10, 2), r"the input of mean .*decimal128\(10, 2\)"),
        (m.stddev("x"), pa.string(), r"the input of stddev must be an integer or floating-point column"),
        (m.range("x"), pa.date32(), r"Cast dates to timestamps first"),
        (m.quantile("x", 0.5), MOMENT, r"the input of quantile"),
    ],
)
def test_columns_that_an_aggregate_cannot_take_are_refused_before_any_data_flows(monoid, given, message):
    with pytest.raises(Unsupported, match=message):
        monoid.result((given,))


@pytest.mark.parametrize("name", ["mean", "geomean", "variance", "stddev", "skewness", "quantile"])
@pytest.mark.parametrize("kind", ["bool", "object"])
def test_numeric_aggregates_refuse_to_be_bound_to_other_kinds(name, kind):
    monoid = m.quantile("x", 0.5) if name == "quantile" else getattr(m, name)("x")
    with pytest.raises(Unsupported, match=f"the input of {name} must be a column of integers or floats"):
        monoid.bind((kind,))


@pytest.mark.parametrize("value", ["1", True, Decimal(1)])
def test_an_unbound_numeric_aggregate_refuses_values_that_are_not_numbers(value):
    with pytest.raises(Unsupported, match=r"the input of mean must be an integer or a float"):
        fold(m.mean("x"), [{"x": value}])


def test_text_cannot_be_summed_nor_subtracted():
    with pytest.raises(Unsupported, match="the input of sum"):
        fold(m.sum("x"), [{"x": "a"}])
    with pytest.raises(Unsupported, match="the input of range"):
        fold(m.range("x"), [{"x": "a"}])


def test_dates_times_and_decimals_pass_through_unbound():
    days = [date(2024, 2, 29), date(2023, 1, 1)]
    moments = [datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in (3, 1)]
    rows = [{"d": d, "t": t, "n": Decimal(n)} for d, t, n in zip(days, moments, (5, 7), strict=True)]
    assert fold(m.min("d"), rows) == days[1]
    assert fold(m.first("t"), rows) == moments[0]
    assert fold(m.argmax("d", "n"), rows) == days[1]
    assert fold(m.range("t"), rows) == timedelta(hours=2)
    assert fold(m.sum("n"), rows) == Decimal(12)
    assert fold(m.sum("w"), [{"w": timedelta(hours=1)}, {"w": timedelta(hours=2)}]) == timedelta(hours=3)


# Spark 4.3 gives these answers for the same rows (ANSI mode, the default), computed once by hand.
ONE = [{"x": 5.0, "y": 2.0}]
CONSTANT_X = [{"x": 5.0, "y": 2.0}, {"x": 5.0, "y": 3.0}]
CONSTANT_Y = [{"x": 2.0, "y": 5.0}, {"x": 3.0, "y": 5.0}]
INFINITE = [{"x": math.inf, "y": 2.0}, {"x": 5.0, "y": 3.0}, {"x": 1.0, "y": 1.0}]
WITH_NAN = [{"x": math.nan, "y": 2.0}, {"x": 5.0, "y": 3.0}, {"x": 1.0, "y": 1.0}]
NULL_LINE = (math.nan,) * 3


@pytest.mark.parametrize(
    ("monoid", "rows", "spark"),
    [
        (m.variance("x"), ONE, None),
        (m.stddev("x"), ONE, None),
        (m.skewness("x"), ONE, None),
        (m.covariance("x", "y"), ONE, None),
        (m.correlation("x", "y"), ONE, None),
        (m.linear_regression("y", "x"), ONE, None),
        (m.variance("x"), CONSTANT_X, 0.0),
        (m.skewness("x"), CONSTANT_X, None),
        (m.covariance("x", "y"), CONSTANT_X, 0.0),
        (m.correlation("x", "y"), CONSTANT_X, None),
        (m.linear_regression("y", "x"), CONSTANT_X, None),
        (m.linear_regression("y", "x"), CONSTANT_Y, (0.0, 5.0, 1.0)),
        *[(m.variance("x"), rows, math.nan) for rows in (INFINITE, WITH_NAN)],
        *[(m.stddev("x"), rows, math.nan) for rows in (INFINITE, WITH_NAN)],
        *[(m.skewness("x"), rows, math.nan) for rows in (INFINITE, WITH_NAN)],
        *[(m.covariance("x", "y"), rows, math.nan) for rows in (INFINITE, WITH_NAN)],
        *[(m.correlation("x", "y"), rows, math.nan) for rows in (INFINITE, WITH_NAN)],
        *[(m.linear_regression("y", "x"), rows, NULL_LINE) for rows in (INFINITE, WITH_NAN)],
        (m.sum("x"), INFINITE, math.inf),
        (m.mean("x"), INFINITE, math.inf),
        (m.max("x"), WITH_NAN, math.nan),
        (m.min("x"), WITH_NAN, 1.0),
        (m.argmax("y", "x"), WITH_NAN, 2.0),
        (m.argmin("y", "x"), WITH_NAN, 1.0),
        (m.quantile("x", 1.0), WITH_NAN, math.nan),
        (m.quantile("x", 0.5), WITH_NAN, 5.0),
        (m.distinct("x"), [{"x": x} for x in (math.nan, -math.nan, 0.0, -0.0)], 2),
        (m.mean("x"), [{"x": 2**63 - 1}, {"x": 2**63 - 1}], 9.223372036854776e18),
    ],
)
def test_small_and_odd_windows_have_the_value_that_spark_gives(monoid, rows, spark):
    assert same(fold(monoid, rows), spark)


def test_ties_go_to_the_earliest_event_where_spark_takes_the_last_that_it_sees():
    rows = [{"who": w, "t": t} for w, t in (("a", 1), ("b", 1), ("c", 0), ("d", 0))]
    assert fold(m.argmax("who", "t"), rows) == "a"
    assert fold(m.argmin("who", "t"), rows) == "c"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: m.top_k("x", 0), r"k must be a positive integer; got 0"),
        (lambda: m.quantile("x", 1.5), r"q must be a number from 0 to 1; got 1.5"),
        (lambda: m.quantile("x", 0.5, sketch="p2"), r"sketch must be 'kll' or 'tdigest'; got 'p2'"),
        (lambda: m.quantile("x", 0.5, k=3), r"k must be an integer from 10 to 65535; got 3"),
        (lambda: m.distinct("x", lg_k=3), r"lg_k must be an integer from 7 to 21; got 3"),
        (lambda: m.frequent_items("x", k=0), r"k must be a positive integer; got 0"),
        (lambda: m.frequent_items("x", lg_size=40), r"lg_size must be an integer from 3 to 26; got 40"),
        (lambda: m.bloom("x", capacity=0), r"capacity must be a positive integer; got 0"),
        (lambda: m.bloom("x", error=2.0), r"error must be a probability between 0 and 1; got 2.0"),
        (lambda: m.skyline(), r"columns must be at least one column"),
        (
            lambda: m.skyline("x", "y", prefer="best"),
            r"prefer must be 'min', 'max', or one of them for each",
        ),
        (lambda: m.skyline("x", "y", prefer=("max",)), r"prefer must be .* \['x', 'y'\]; got \('max',\)"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_by_name(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()
