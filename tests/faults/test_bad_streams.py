"""Input that nobody wants, on streams: every row is in a window, late, or in a window that is still open.

The last file of each stream is one row, far ahead of all others: it closes their windows and stays open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import UnitError, UnknownColumn, Unsupported
from tests.faults.accounts import event_table, ids_of, in_windows, tumbling_over
from tests.runtimes.micro_batches import Delivered, Ran, stream_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CLOSING = 4_000_000_000
"""In seconds: the year 2096."""


def everything_counted(
    spark: SparkSession, batches: Sequence[pa.Table], *, closing: float = CLOSING, **aggregates: sash.Monoid
) -> tuple[pa.Table, pa.Table]:
    """The reports and the late rows of a stream; its own counts say the same."""
    files = [*batches, event_table([closing], keys=["closing"])]
    query = tumbling_over(stream_batches(spark, files), **aggregates)
    ran = Delivered(query, "late")
    reports, late = ran.table("sink", query.bound.output), ran.table("late", query.bound.late_output)
    rows = sum(file.num_rows for file in files)
    assert in_windows(reports) + late.num_rows + 1 == rows
    batches_read = [progress.numInputRows for progress in ran.progress]
    assert batches_read[: len(files)] == [file.num_rows for file in files]
    counts = [ran.counted(count) for count in ("events", "late", "reports")]
    assert counts == [rows, late.num_rows, reports.num_rows]
    return reports, late


def rows_of(reports: pa.Table) -> list[str]:
    return sorted(map(repr, reports.to_pylist()))


def test_differential_nulls_nan_and_times_before_1970_are_as_in_process(spark: SparkSession) -> None:
    nan, inf = math.nan, math.inf
    batches = [
        event_table([None, None], keys=["a", None]),
        event_table(
            [-62_135_596_800, -10.5, -10, -1, 0, 1, None], keys=["a", "a", None, None, "a", None, "a"],
            x=[nan, 1.0, None, inf, -inf, inf, nan],
        ),
        event_table([1_000, 1_001, None, 1_002], keys=[None, "", None, None], x=[-inf, nan, 2.0, inf]),
    ]  # fmt: skip
    aggregates = {"known": sash.count("x"), "total": sash.sum("x"), "high": sash.max("x")}
    reports, late = everything_counted(spark, batches, **aggregates)
    whole = tumbling_over(pa.concat_tables(batches), **aggregates)
    assert rows_of(reports) == rows_of(whole.collect())
    assert rows_of(late) == rows_of(whole.late().collect())
    assert late["late_reason"].to_pylist() == ["time is null"] * 4


FAR = 253_402_300_700
"""In seconds: the last minutes of the year 9999."""


@pytest.fixture(scope="module")
def eventful(spark: SparkSession) -> tuple[pa.Table, pa.Table]:
    """
    seconds     0         10            100       110            FAR
    batch 0     |─ 1, 2 ──|
    batch 1     (no rows)
    batch 2                              |─ 105 ──|               closes window 0
    batch 3        3, 4                                           all behind the watermark of 105
    batch 4                               107                FAR  on time, both
    batch 5        5                      108                     behind the watermark of FAR
    """
    return everything_counted(
        spark,
        [
            event_table([1, 2]),
            event_table([]),
            event_table([105]),
            event_table([3, 4], keys=["a", None]),
            event_table([107, FAR], keys=["a", "b"]),
            event_table([5, 108], keys=["a", "c"]),
        ],
        closing=FAR + 99,
    )


def test_an_empty_batch_and_a_batch_that_is_all_late_lose_nothing(
    eventful: tuple[pa.Table, pa.Table],
) -> None:
    reports, late = eventful
    by_window = sorted(zip(ids_of(reports), reports["n"].to_pylist(), strict=True))
    assert by_window[:2] == [(0, 2), (10, 2)]
    assert {3, 4} <= set(seconds_of(late))
    assert set(late["late_reason"].to_pylist()) == {"behind the watermark"}


def test_an_event_of_the_year_9999_is_in_its_window_and_what_follows_is_late(
    eventful: tuple[pa.Table, pa.Table],
) -> None:
    reports, late = eventful
    assert max(zip(ids_of(reports), reports["k"].to_pylist(), strict=True)) == (FAR // 10, "b")
    assert seconds_of(late) == [3, 4, 5, 108]


def seconds_of(late: pa.Table) -> list[int]:
    return sorted(time // 1_000_000 for time in late["t"].cast(pa.int64()).to_pylist())


def test_a_hundred_thousand_keys_a_hot_one_and_giant_ones_keep_all_their_rows(spark: SparkSession) -> None:
    many = event_table([1] * 100_000, keys=[f"key {number}" for number in range(100_000)])
    hot = event_table(
        [12] * 100_000, keys=["hot" if number % 100 else f"cold {number}" for number in range(100_000)]
    )
    ours, theirs = "x" * 2**20 + "a", "x" * 2**20 + "b"
    giant = event_table([21, 22, 23], keys=[ours, theirs, ours])
    reports, late = everything_counted(spark, [many, hot, giant])
    counts: dict[int, dict[str, int]] = {0: {}, 1: {}, 2: {}}
    for key, window, n in zip(
        reports["k"].to_pylist(), ids_of(reports), reports["n"].to_pylist(), strict=True
    ):
        counts[window][key] = n
    assert (len(counts[0]), set(counts[0].values())) == (100_000, {1})
    assert counts[1].pop("hot") == 99_000
    assert (len(counts[1]), set(counts[1].values())) == (1_000, {1})
    assert counts[2] == {ours: 2, theirs: 1}
    assert late.num_rows == 0


def test_integer_times_that_sparks_clock_cannot_tell_stop_the_query(spark: SparkSession) -> None:
    from pyspark.errors import StreamingQueryException

    files = [pa.table({"t": pa.array([1, 2**53], pa.int64())})]
    query = (
        sash.stream(stream_batches(spark, files), time="t").window(sash.tumbling(10)).agg(n=sash.count())
    )
    with pytest.raises(StreamingQueryException, match=r"within ±2\*\*52, as Spark's clock does; got 9007"):
        Ran(query.dataframe())


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda data: tumbling_over(data, total=sash.sum("price")), UnknownColumn, "no column 'price'"),
        (lambda data: tumbling_over(data, total=sash.sum("k")), Unsupported, "got 'string'"),
        (lambda data: sash.stream(data, time="k").window(sash.rows(2)).agg(n=sash.count()),
         Unsupported, "a timestamp or an integer column; got 'k: string'"),
        (lambda data: sash.stream(data, time="t").window(sash.tumbling(10)).agg(n=sash.count()),
         UnitError, "durations such as '1 hour'"),
    ],
)  # fmt: skip
def test_a_column_that_is_missing_or_of_the_wrong_type_is_refused_before_a_stream_starts(
    spark: SparkSession, make: Callable[[Any], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make(stream_batches(spark, [event_table([1])]))
