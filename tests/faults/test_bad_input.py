"""Input that nobody wants, in process and on static DataFrames: no row is lost without being counted.

rows in tumbling windows + late rows = rows in
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sash
from sash.errors import DataError, UnitError, UnknownColumn, Unsupported
from tests.faults.accounts import event_table, everything_counted, ids_of, tumbling_over

Given = Callable[[pa.Table], Any]

YEAR_1, YEAR_9999 = -62_135_596_800, 253_402_300_799
"""In seconds: the first second of the calendar that Python and Spark share, and the last."""


@pytest.fixture(params=["in process", pytest.param("on Spark", marks=pytest.mark.spark)])
def given(request: pytest.FixtureRequest) -> Given:
    """A table as the input of one runtime or the other."""
    if request.param == "in process":
        return lambda table: table
    return request.getfixturevalue("spark").createDataFrame


def test_a_null_key_is_a_group_of_its_own(given: Given) -> None:
    table = event_table([1, 2, 3, 4, 11], keys=["a", None, "", None, None])
    reports, late = everything_counted(tumbling_over(given(table)), rows=5)
    assert sorted(
        zip(ids_of(reports), reports["k"].to_pylist(), reports["n"].to_pylist(), strict=True), key=repr
    ) == [
        (0, "", 1),
        (0, "a", 1),
        (0, None, 2),
        (1, None, 1),
    ]
    assert late.num_rows == 0


def test_a_key_with_a_null_in_one_of_its_columns_is_a_group_of_its_own(given: Given) -> None:
    table = event_table([1, 2, 3, 4], keys=["a", None, "a", None]).append_column(
        "k2", pa.array([None, 1, 1, None], pa.int64())
    )
    query = (
        sash.stream(given(table), time="t", key=["k", "k2"])
        .window(sash.tumbling("10 seconds"))
        .agg(n=sash.count())
    )
    reports, _ = everything_counted(query, rows=4)
    assert reports["n"].to_pylist() == [1, 1, 1, 1]


def test_an_event_without_a_time_is_late_and_says_why(given: Given) -> None:
    table = event_table([1, None, 3, None], keys=["a", "a", None, None], x=[1.0, 2.0, 3.0, 4.0])
    _, late = everything_counted(tumbling_over(given(table)), rows=4)
    assert sorted(late["x"].to_pylist()) == [2.0, 4.0]
    assert set(late["late_reason"].to_pylist()) == {"time is null"}


def test_a_table_without_any_time_is_all_late(given: Given) -> None:
    reports, late = everything_counted(tumbling_over(given(event_table([None] * 7))), rows=7)
    assert (reports.num_rows, late.num_rows) == (0, 7)


def test_nan_and_infinities_are_values_like_any_other(given: Given) -> None:
    nan, inf = math.nan, math.inf
    table = event_table(
        range(12), keys=["nan"] * 4 + ["inf"] * 4 + ["both"] * 2 + ["late"] * 2,
        x=[1.0, nan, None, 2.0, inf, 1.0, 2.0, 3.0, inf, -inf, -inf, None],
    )  # fmt: skip
    query = tumbling_over(
        given(table), known=sash.count("x"), total=sash.sum("x"), low=sash.min("x"), high=sash.max("x")
    )
    reports, _ = everything_counted(query, rows=12)
    found = {row["k"]: tuple(row.values())[2:] for row in reports.to_pylist()}
    # NaN is greater than every number, as in Spark.
    assert repr(found["nan"]) == repr((4, 3, nan, 1.0, nan))
    assert found["inf"] == (4, 4, inf, 1.0, inf)
    assert repr(found["both"]) == repr((2, 2, nan, -inf, inf))
    assert found["late"] == (2, 1, -inf, -inf, -inf)


@pytest.mark.spark
def test_differential_nan_and_infinities_are_folded_as_by_sparks_own_windows(spark) -> None:
    from pyspark.sql import functions as F

    values = np.random.default_rng(1).choice([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5], 200)
    df = spark.createDataFrame(event_table(range(200), x=values.tolist()))
    ours = tumbling_over(
        df, s=sash.sum("x"), lo=sash.min("x"), hi=sash.max("x"), m=sash.mean("x")
    ).dataframe()
    theirs = df.groupBy(F.window("t", "10 seconds")).agg(
        F.count("*").alias("n"), F.sum("x").alias("s"), F.min("x").alias("lo"), F.max("x").alias("hi"),
        F.avg("x").alias("m"),
    )  # fmt: skip
    columns = ["window.start", "n", "s", "lo", "hi", "m"]
    # −0.0 + 0.0 is 0.0: two equal numbers may be written in two ways.
    written = [
        sorted(
            tuple(str(v + 0.0 if isinstance(v, float) else v) for v in row)
            for row in df.select(columns).collect()
        )
        for df in (ours, theirs)
    ]
    assert written[0] == written[1]


def test_nan_is_one_key_and_so_is_zero_whatever_its_sign(given: Given) -> None:
    table = event_table([1, 2, 3, 4, 5, 6]).drop_columns("k")
    keys = pa.array([math.nan, 0.0, -0.0, math.nan, None, math.inf], pa.float64())
    reports, _ = everything_counted(tumbling_over(given(table.append_column("k", keys))), rows=6)
    assert sorted(reports["n"].to_pylist()) == [1, 1, 2, 2]


def test_times_before_1970_and_at_both_ends_of_the_calendar_are_in_their_windows(given: Given) -> None:
    """
    seconds   -20       -10         0         10      a window holds its start, not its end
    window     |── -2 ───|── -1 ────|── 0 ────|
    events         -10.5  -10     -1  0
    """
    table = event_table([YEAR_1, -10.5, -10, -1, 0, YEAR_9999 - 9, YEAR_9999])
    reports, late = everything_counted(tumbling_over(given(table)), rows=7)
    by_window = dict(zip(ids_of(reports), reports["n"].to_pylist(), strict=True))
    assert by_window == {YEAR_1 // 10: 1, -2: 1, -1: 2, 0: 1, YEAR_9999 // 10: 2}
    window = reports["window"].combine_chunks()
    starts = pc.cast(window.field("start"), pa.int64()).to_pylist()
    assert starts == [number * 10_000_000 for number in ids_of(reports)]
    assert late.num_rows == 0


def test_times_that_window_arithmetic_could_not_bear_are_refused() -> None:
    table = pa.table({"t": pa.array([0, 2**62], pa.int64())})
    query = sash.stream(table, time="t").window(sash.tumbling(10)).agg(n=sash.count())
    with pytest.raises(DataError, match=r"±2\*\*61; got 0 to 4611686018427387904"):
        query.collect()


def test_an_empty_input_has_an_empty_answer_of_the_right_types(given: Given) -> None:
    query = tumbling_over(given(event_table([])), total=sash.sum("x"))
    reports, late = everything_counted(query, rows=0)
    assert (reports.num_rows, late.num_rows) == (0, 0)
    assert reports.schema.names == ["k", "window", "n", "total"]
    assert reports.schema.field("total").type == pa.float64()


def test_a_hundred_thousand_keys_have_a_window_each(given: Given) -> None:
    keys = [f"key {number}" for number in range(100_000)]
    reports, _ = everything_counted(
        tumbling_over(given(event_table([5] * 100_000, keys=keys))), rows=100_000
    )
    assert reports.num_rows == len(set(reports["k"].to_pylist())) == 100_000
    assert set(reports["n"].to_pylist()) == {1}


def test_a_key_with_almost_all_rows_keeps_them_all(given: Given) -> None:
    keys = ["hot" if number % 100 else f"cold {number}" for number in range(100_000)]
    reports, _ = everything_counted(
        tumbling_over(given(event_table([5] * 100_000, keys=keys))), rows=100_000
    )
    counts = dict(zip(reports["k"].to_pylist(), reports["n"].to_pylist(), strict=True))
    assert counts.pop("hot") == 99_000
    assert set(counts.values()) == {1}


def test_keys_of_a_megabyte_that_differ_in_their_last_letter_are_two_keys(given: Given) -> None:
    ours, theirs = "x" * 2**20 + "a", "x" * 2**20 + "b"
    table = event_table([1, 2, 3, 11], keys=[ours, theirs, ours, theirs])
    reports, _ = everything_counted(tumbling_over(given(table)), rows=4)
    found = zip(reports["k"].to_pylist(), ids_of(reports), reports["n"].to_pylist(), strict=True)
    assert sorted(found) == [(ours, 0, 2), (theirs, 0, 1), (theirs, 1, 1)]


MakeQuery = Callable[[Any], sash.WindowQuery]
TUMBLING = sash.tumbling("10 seconds")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda data: sash.stream(data, time="tt").window(TUMBLING).agg(n=sash.count()),
         UnknownColumn, r"time: there is no column 'tt'\. Did you mean 't'\?"),
        (lambda data: sash.stream(data, time="t", key=["k", "user"]).window(TUMBLING).agg(n=sash.count()),
         UnknownColumn, r"key: there is no column 'user'"),
        (lambda data: sash.stream(data, time="t").window(TUMBLING).agg(total=sash.sum("price")),
         UnknownColumn, r"total = sum\('price'\): there is no column 'price'"),
        (lambda data: sash.stream(data, time="t").window(sash.delta("price", 2, 1)).agg(n=sash.count()),
         UnknownColumn, r"there is no column 'price'"),
        (lambda data: sash.stream(data, time="t").window(sash.delta("k", 2, 1)).agg(n=sash.count()),
         Unsupported, r"a column of numbers; got 'k: string'"),
        (lambda data: sash.stream(data, time="k").window(TUMBLING).agg(n=sash.count()),
         Unsupported, r"time must be a timestamp or an integer column; got 'k: string'"),
        (lambda data: sash.stream(data, time="x").window(TUMBLING).agg(n=sash.count()),
         Unsupported, r"time must be a timestamp or an integer column; got 'x: double'"),
        (lambda data: sash.stream(data, time="t").window(sash.tumbling(10)).agg(n=sash.count()),
         UnitError, r"durations such as '1 hour'"),
        (lambda data: sash.stream(data, time="t").window(TUMBLING).agg(total=sash.sum("k")),
         Unsupported, r"sum must be .* got 'string'"),
        (lambda data: sash.stream(data, time="t").window(TUMBLING).agg(spread=sash.stddev("k")),
         Unsupported, r"stddev must be .* got 'string'"),
    ],
)  # fmt: skip
def test_a_column_that_is_missing_or_of_the_wrong_type_is_refused_before_anything_runs(
    given: Given, make: MakeQuery, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(given(event_table([1, 2])))
