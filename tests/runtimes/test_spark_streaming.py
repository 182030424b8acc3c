"""Streaming DataFrames on Spark: the same rows as the batch, late rows, restarts, refusals, chains."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, SettingError, Unsupported
from sash.runtimes.spark.packing.balanced_bucket_ids import murmur3
from sash.runtimes.spark.session_requirements import PROVIDER, ROCKSDB, SEVERAL_STATEFUL
from tests.runtimes.micro_batches import Delivered, Ran, read_batches, stream_batches, write_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

pytestmark = pytest.mark.spark

UTC = pa.timestamp("us", "UTC")
OPENING = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)
SCHEMA = pa.schema([("ts", UTC), ("symbol", pa.string()), ("price", pa.float64()), ("size", pa.int64())])
DELAY = dt.timedelta(seconds=30)


def at(seconds: float) -> dt.datetime:
    return OPENING + dt.timedelta(seconds=seconds)


def trades(count: int = 240) -> list[dict[str, Any]]:
    """Trades of three symbols (one of them null), one a second, a few values missing."""
    return [
        {
            "ts": at(number + number % 7 / 8),
            "symbol": ["A", "B", None][number % 3],
            "price": None if number % 11 == 0 else number * 0.25,
            "size": None if number % 13 == 0 else number % 5,
        }
        for number in range(count)
    ]


def disordered(rows: list[dict[str, Any]], *, seed: int = 5) -> list[dict[str, Any]]:
    """The rows as they could arrive: each up to twenty seconds late, which is less than the delay."""
    rng = random.Random(seed)
    return sorted(rows, key=lambda row: row["ts"] + dt.timedelta(seconds=rng.uniform(0, 20)))


def cut(rows: list[dict[str, Any]], pieces: int) -> list[pa.Table]:
    """In so many tables of uneven length; the second is empty when there are several."""
    edges = [len(rows) * number * number // (pieces * pieces) for number in range(pieces + 1)]
    tables = [pa.Table.from_pylist(rows[lo:hi], schema=SCHEMA) for lo, hi in pairwise(edges)]
    return tables if pieces == 1 else [tables[0], SCHEMA.empty_table(), *tables[1:]]


def several(data: Any) -> Any:
    """Windows of three kinds over one stream, in one pass."""
    return (
        sash.stream(data, time="ts", key="symbol", delay=DELAY)
        .window(
            sash.sliding("1 minute", every="20 seconds").named("sliding"),
            sash.rows(10).named("rows"),
            sash.session("2 seconds").named("session"),
            flush=False,
        )
        .agg(
            n=sash.count(), total=sash.sum("size"), high=sash.max("price"), last=sash.last("size"),
            sizes=sash.collect("size"), newest=sash.max("ts"),
        )
    )  # fmt: skip


def closed(query: Any) -> list[str]:
    """What a bounded input reports without a flush, sorted."""
    return sorted(map(str, query.collect().to_pylist()))


def test_differential_micro_batches_in_any_order_give_the_rows_and_types_of_the_batch(
    spark: SparkSession,
) -> None:
    rows = disordered(trades())
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    expected = closed(several(table))
    streamed = several(stream_batches(spark, cut(rows, 4)))
    ran = Ran(streamed.dataframe())
    assert sorted(map(str, ran.table.cast(streamed.bound.output).to_pylist())) == expected
    assert len(expected) > 100
    assert streamed.dataframe().schema == several(spark.createDataFrame(table)).dataframe().schema
    assert (ran.counted("events"), ran.counted("late")) == (240, 0)
    assert ran.counted("reports") == len(expected)


def test_differential_one_micro_batch_gives_the_rows_of_the_batch(spark: SparkSession) -> None:
    rows = disordered(trades())
    ran = Ran(several(stream_batches(spark, cut(rows, 1))).dataframe())
    assert sorted(map(str, ran.rows)) == closed(several(pa.Table.from_pylist(rows, schema=SCHEMA)))


@pytest.fixture(scope="module")
def with_late_rows(spark: SparkSession) -> DataFrame:
    """One trade is a minute late and one has no time; both come with the second batch."""
    # t       0 s        40 s   90 s       watermark after the first batch: 60 s
    #         first batch   ^      ^
    # late            20 s, null
    first = [{"ts": at(second), "symbol": "A", "price": 1.0, "size": second} for second in (0, 40, 90)]
    second = [
        {"ts": at(20), "symbol": "A", "price": 2.0, "size": 7},
        {"ts": None, "symbol": None, "price": None, "size": None},
        {"ts": at(95), "symbol": "B", "price": 3.0, "size": 8},
    ]
    tables = [pa.Table.from_pylist(rows, schema=SCHEMA) for rows in (first, second)]
    return stream_batches(spark, tables)


def by_minute(data: Any) -> Any:
    return (
        sash.stream(data, time="ts", key="symbol", delay=DELAY)
        .window(sash.tumbling("1 minute"))
        .agg(n=sash.count())
    )


def test_late_rows_are_in_the_late_output_as_they_came(with_late_rows: DataFrame) -> None:
    ran = Delivered(by_minute(with_late_rows), "late")
    assert sorted(ran.rows("late"), key=str) == [
        {"ts": None, "symbol": None, "price": None, "size": None, "late_window": None,
         "late_reason": "time is null"},
        {"ts": at(20), "symbol": "A", "price": 2.0, "size": 7, "late_window": None,
         "late_reason": "behind the watermark"},
    ]  # fmt: skip


def test_late_rows_are_in_no_window_and_are_counted(with_late_rows: DataFrame) -> None:
    ran = Ran(by_minute(with_late_rows).dataframe())
    assert [(row["symbol"], row["n"], row["window"]["start"]) for row in ran.rows] == [("A", 2, OPENING)]
    assert (ran.counted("events"), ran.counted("late"), ran.counted("reports")) == (6, 2, 1)


class Stopped:
    """A query that was stopped after half of its input, with its checkpoint and its sink."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        for name in ("input", "sink"):
            (folder / name).mkdir()
        self.rows = disordered(trades())
        self.batches = cut(self.rows, 4)
        self.arrive(self.batches[:4])
        self.go_on(by_minute)

    def arrive(self, batches: list[pa.Table], *, first: int = 0) -> None:
        write_batches(self.folder / "input", batches, first=first)

    def go_on(self, query: Any) -> None:
        source = read_batches(self.spark, self.folder / "input", SCHEMA)
        writing = query(source).dataframe().writeStream.format("parquet").outputMode("append")
        writing = writing.option("checkpointLocation", str(self.folder / "checkpoint"))
        started = writing.trigger(availableNow=True).start(str(self.folder / "sink"))
        started.awaitTermination()

    @property
    def sink(self) -> list[str]:
        return sorted(map(str, self.spark.read.parquet(str(self.folder / "sink")).toArrow().to_pylist()))


@pytest.fixture(scope="module")
def stopped(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    return Stopped(spark, tmp_path_factory.mktemp("stopped"))


def test_a_restart_from_the_checkpoint_gives_what_an_uninterrupted_run_gives(stopped: Stopped) -> None:
    before = stopped.sink
    stopped.arrive(stopped.batches[4:], first=4)
    stopped.go_on(by_minute)
    rows = pa.Table.from_pylist(stopped.rows, schema=SCHEMA)
    uninterrupted = (
        sash.stream(rows, time="ts", key="symbol", delay=DELAY)
        .window(sash.tumbling("1 minute"), flush=False)
        .agg(n=sash.count())
    )
    assert stopped.sink == closed(uninterrupted)
    assert 0 < len(before) < len(stopped.sink)


def test_a_checkpoint_of_another_query_is_refused_and_the_difference_named(stopped: Stopped) -> None:
    from pyspark.errors import StreamingQueryException

    def by_two_minutes(data: Any) -> Any:
        return (
            sash.stream(data, time="ts", key="symbol", delay=DELAY)
            .window(sash.tumbling("2 minutes"))
            .agg(n=sash.count())
        )

    rows = [{"ts": at(1000), "symbol": symbol} for symbol in ("A", "B", None)]
    stopped.arrive([pa.Table.from_pylist(rows, schema=SCHEMA)], first=100)
    with pytest.raises(StreamingQueryException, match="DifferentQuery") as refused:
        stopped.go_on(by_two_minutes)
    assert "windows were tumbling(1 minute) and are" in str(refused.value)


def test_windows_of_windows_share_one_watermark(spark: SparkSession) -> None:
    # trades ──tumbling 10 s, by symbol──▶ n ──tumbling 1 minute──▶ total
    rows = disordered(trades())
    fine = (
        sash.stream(stream_batches(spark, cut(rows, 4)), time="ts", key="symbol", delay=DELAY)
        .window(sash.tumbling("10 seconds"))
        .agg(n=sash.count())
        .dataframe()
        .selectExpr("symbol", "window.end AS closed", "n")
    )
    coarse = sash.stream(fine, time="closed").window(sash.tumbling("1 minute")).agg(total=sash.sum("n"))
    ran = Ran(coarse.dataframe())

    watermark = max(row["ts"] for row in rows) - DELAY
    expected: dict[dt.datetime, int] = {}
    for row in rows:
        second = (row["ts"] - OPENING) // dt.timedelta(seconds=1)
        minute = at((second // 10 * 10 + 10) // 60 * 60)
        expected[minute] = expected.get(minute, 0) + 1
    assert {row["window"]["start"]: row["total"] for row in ran.rows} == {
        minute: total for minute, total in expected.items() if minute + dt.timedelta(minutes=1) <= watermark
    }
    assert ran.counted("late") == 0


def test_a_watermark_of_the_users_own_is_kept(spark: SparkSession) -> None:
    rows = disordered(trades(90))
    df = stream_batches(spark, cut(rows, 2)).withWatermark("ts", "30 seconds")
    ran = Ran(
        sash.stream(df, time="ts").window(sash.tumbling("10 seconds")).agg(n=sash.count()).dataframe()
    )
    assert {(row["window"]["start"], row["n"]) for row in ran.rows} == {
        (at(start), 10) for start in range(0, 50, 10)
    }


def test_look_backs_are_told_for_every_event_that_is_settled(spark: SparkSession) -> None:
    def features(data: Any) -> Any:
        return sash.stream(data, time="ts", key="symbol", delay=DELAY).rolling("30 seconds", "2 minutes")

    rows = disordered(trades(120))
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    aggregates = {"n": sash.count(), "s": sash.sum("size")}
    ran = Ran(features(stream_batches(spark, cut(rows, 3))).agg(**aggregates).dataframe())
    settled = max(row["ts"] for row in rows) - DELAY
    expected = [
        row for row in features(table).agg(**aggregates).collect().to_pylist() if row["ts"] <= settled
    ]
    assert sorted(map(str, ran.rows)) == sorted(map(str, expected))


def test_bucket_numbers_fall_where_spark_hashes_them(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    numbers = [0, 1, 7, 123_456, 2**31, 2**40 + 3]
    df = spark.createDataFrame([(number,) for number in numbers], "id long")
    hashes = {row["id"]: row["h"] for row in df.select("id", F.hash("id").alias("h")).collect()}
    assert hashes == {number: murmur3(number) for number in numbers}


# What is refused, before anything runs


@pytest.fixture(scope="module")
def rate(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


def counts(data: DataFrame, **changes: Any) -> Any:
    arguments = {"time": "timestamp"} | changes
    return sash.stream(data, **arguments).window(sash.tumbling("1 minute")).agg(n=sash.count())


@pytest.fixture
def setting(spark: SparkSession) -> Iterator[Any]:
    """Change settings of the session for the length of a test."""
    before: dict[str, str] = {}

    def change(name: str, value: str) -> None:
        before[name] = spark.conf.get(name)
        spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        spark.conf.set(name, value)


def test_a_state_store_that_cannot_work_is_refused_by_name(rate: DataFrame, setting: Any) -> None:
    setting(PROVIDER, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    with pytest.raises(SettingError, match=ROCKSDB) as refused:
        counts(rate).dataframe()
    assert refused.value.argument == PROVIDER


def test_a_chain_in_a_session_that_allows_none_is_refused_by_name(rate: DataFrame, setting: Any) -> None:
    first = counts(rate).dataframe().selectExpr("window.end AS timestamp", "n")
    setting(SEVERAL_STATEFUL, "false")
    with pytest.raises(SettingError, match=SEVERAL_STATEFUL):
        counts(first).dataframe()


def test_collecting_a_stream_is_refused(rate: DataFrame) -> None:
    with pytest.raises(Unsupported, match=r"use \.start"):
        counts(rate).collect()


def test_late_rows_of_a_stream_as_an_answer_of_their_own_are_refused(rate: DataFrame) -> None:
    with pytest.raises(
        Unsupported, match=r"Late rows of a streaming DataFrame are written by start\(sink, late=…\)"
    ):
        counts(rate).late()


def test_flushing_a_stream_is_refused(rate: DataFrame) -> None:
    with pytest.raises(Unsupported, match="flush must be False for a stream"):
        sash.stream(rate, time="timestamp").window(sash.tumbling("1 minute"), flush=True)


def test_a_time_that_the_watermark_is_not_on_is_refused(rate: DataFrame) -> None:
    marked = rate.selectExpr("timestamp", "value", "timestamp AS other").withWatermark("other", "1 minute")
    with pytest.raises(ArgumentError, match=r"watermark is on \(other\)"):
        counts(marked).dataframe()


def test_an_integer_time_after_windows_over_timestamps_is_refused(rate: DataFrame) -> None:
    first = counts(rate).dataframe().selectExpr("window.id AS number", "n")
    second = sash.stream(first, time="number").window(sash.tumbling(5)).agg(n=sash.sum("n"))
    with pytest.raises(ArgumentError, match="a timestamp of the windows before"):
        second.dataframe()


def test_explain_names_the_stages_of_a_stream(rate: DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    text = counts(rate, key="value", delay="10 seconds").explain("plan")
    assert "watermark: a delay of 10 seconds" in text
    assert "2 buckets to 2 tasks" in text
    assert "in files of the checkpoint" in text
    sessions = sash.stream(rate, time="timestamp", key="value").window(sash.session("1 minute"))
    growing = sessions.agg(n=sash.count()).explain("plan")
    assert "with running aggregates in files of the checkpoint" in growing
    slow = counts(rate, key="value", idle="1 minute").explain("plan")
    assert "2 buckets to 2 partitions" in slow
    assert "in Spark's state store, RocksDB: time follows the clock" in slow


def test_windows_of_an_idle_stream_close_by_the_clock(spark: SparkSession, tmp_path: Path) -> None:
    now = dt.datetime.now(dt.UTC)
    rows = [{"ts": now, "symbol": symbol, "price": 1.0, "size": 1} for symbol in ("A", "B", None)]
    df = stream_batches(spark, [pa.Table.from_pylist(rows, schema=SCHEMA)])
    stream = sash.stream(df, time="ts", key="symbol", delay="1 second", idle="1 second")
    counted = stream.window(sash.tumbling("1 second")).agg(n=sash.count()).dataframe()
    found: list[Row] = []
    query = (
        counted.writeStream.foreachBatch(lambda batch, number: found.extend(batch.collect()))
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    try:
        # No event comes after these three, and all of their windows are reported nevertheless.
        while len(found) < 3 and query.isActive:
            query.awaitTermination(1)
    finally:
        query.stop()
    assert sorted((row.symbol or "", row.n) for row in found) == [("", 1), ("A", 1), ("B", 1)]


def test_windows_of_an_idle_stream_whose_rows_are_folded_before_the_shuffle_close_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    now = dt.datetime.now(dt.UTC)
    rows = [{"ts": now, "symbol": symbol, "price": 1.0, "size": 1} for symbol in "AB" for _ in range(2_000)]
    df = stream_batches(spark, [pa.Table.from_pylist(rows, schema=SCHEMA)])
    stream = sash.stream(df, time="ts", key="symbol", delay="1 second", idle="1 second")
    query = stream.window(sash.tumbling("1 second")).agg(n=sash.count())
    assert "first folded into panes" in query.explain("plan")
    found: list[Row] = []
    running = query.start(lambda batch, number: found.extend(batch.collect()), checkpoint=tmp_path)
    try:
        while len(found) < 2 and running.isActive:
            running.awaitTermination(1)
    finally:
        running.stop()
    assert sorted((row.symbol, row.n) for row in found) == [("A", 2_000), ("B", 2_000)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lambda rate: pa.table({"timestamp": pa.array([OPENING], UTC)}), "bounded"),
        (lambda rate: rate.selectExpr("value AS timestamp"), "integer times"),
        (lambda rate: rate.withWatermark("timestamp", "1 minute"), "watermark of its own"),
    ],
    ids=["bounded", "integers", "own watermark"],
)
def test_time_goes_on_by_the_clock_only_where_there_is_one(
    rate: DataFrame, data: Any, message: str
) -> None:
    size: Any = 10 if message == "integer times" else "10 seconds"

    def build() -> None:
        stream = sash.stream(data(rate), time="timestamp", idle="1 minute")
        stream.window(sash.tumbling(size)).agg(n=sash.count()).dataframe()

    with pytest.raises(Unsupported, match=message):
        build()


def test_how_long_a_stream_may_be_idle_is_told_by_the_clock(rate: DataFrame) -> None:
    with pytest.raises(ArgumentError, match="duration of the clock"):
        sash.stream(rate, time="timestamp", idle=60)


def test_of_several_sources_the_slowest_decides_what_is_late(spark: SparkSession) -> None:
    # quick   0 ── 60 ── 120 ── 180       a delay of nothing
    # slow    0 ── 10 ──  20 ── 130       a delay of 100 s: what quick has passed is not late
    def source(seconds: list[int], symbol: str, delay: str) -> DataFrame:
        rows = [{"ts": at(second), "symbol": symbol, "price": 1.0, "size": 1} for second in seconds]
        batches = [pa.Table.from_pylist([row], schema=SCHEMA) for row in rows]
        return stream_batches(spark, batches).withWatermark("ts", delay)

    quick, slow = (
        source([0, 60, 120, 180], "quick", "0 seconds"),
        source([0, 10, 20, 130], "slow", "100 seconds"),
    )
    counted = (
        sash.stream(quick.unionByName(slow), time="ts", key="symbol")
        .window(sash.tumbling("10 seconds"))
        .agg(n=sash.count())
    )
    ran = Ran(counted.dataframe())
    assert ran.counted("late") == 0
    # The watermark ends at 130 − 100: what lies before it has closed, in both streams.
    assert sorted((row["symbol"], row["window"]["start"]) for row in ran.rows) == [
        ("quick", at(0)), ("slow", at(0)), ("slow", at(10)), ("slow", at(20)),
    ]  # fmt: skip
