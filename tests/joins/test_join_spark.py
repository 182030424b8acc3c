"""Joins of static and of streaming DataFrames on Spark: the same pairs as in process."""

from __future__ import annotations

import datetime as dt
import random
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import PredicateError, Unsupported
from tests.runtimes.micro_batches import Delivered, Ran, read_batches, stream_batches, write_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

UTC = pa.timestamp("us", "UTC")
OPENING = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)
LEFT = pa.schema([("ts", UTC), ("symbol", pa.string()), ("x", pa.int64()), ("y", pa.float64())])
RIGHT = pa.schema([("ts", UTC), ("name", pa.string()), ("a", pa.int32()), ("b", pa.float64())])
Rows = list[dict[str, Any]]


def at(seconds: float) -> dt.datetime:
    return OPENING + dt.timedelta(seconds=seconds)


def rows(schema: pa.Schema, count: int, *, seed: int, spread: int = 20) -> Rows:
    """About one row a second, a few values missing, each up to `spread` seconds out of order."""
    rng = random.Random(seed)
    made = [
        (
            at(number + rng.randrange(8) / 8),
            rng.choice(["A", "B", None]),
            None if number % 17 == 0 else rng.randrange(40),
            rng.randrange(80) / 2,
        )
        for number in range(count)
    ]
    arrived = sorted(made, key=lambda row: row[0] + dt.timedelta(seconds=rng.uniform(0, spread)))
    return [dict(zip(schema.names, row, strict=True)) for row in arrived]


def tables(schema: pa.Schema, made: Rows, pieces: int) -> list[pa.Table]:
    edges = [len(made) * number // pieces for number in range(pieces + 1)]
    return [pa.Table.from_pylist(made[lo:hi], schema=schema) for lo, hi in pairwise(edges)]


TRADES, QUOTES = rows(LEFT, 300, seed=1), rows(RIGHT, 280, seed=2)
PREDICATES = {
    "hash": lambda p, q: (abs(p.x - q.a) <= 5) & (p.y >= q.b),
    "band cells": lambda p, q: (abs(p.x - q.a) <= 2) & (abs(p.y - q.b) <= 9),
    "join matrix": lambda p, q: p.x + 36 < q.a + q.b / 20,
}


def joined(left: Any, right: Any, where: Any, *, key: bool = False) -> Any:
    keys = ("symbol", "name") if key else (None, None)
    trades = sash.stream(left, time="ts", key=keys[0], delay="30 seconds")
    quotes = sash.stream(right, time="ts", key=keys[1], delay="25 seconds")
    return trades.join(quotes, within="20 seconds", where=where)


def bounded(where: Any, *, key: bool = False) -> Any:
    whole = [pa.Table.from_pylist(made, schema=s) for made, s in ((TRADES, LEFT), (QUOTES, RIGHT))]
    return joined(*whole, where, key=key)


def in_process(where: Any, *, key: bool = False) -> Rows:
    return bounded(where, key=key).collect().to_pylist()


def settled(pairs: Rows) -> list[str]:
    """What the last watermark has passed, sorted; Spark's watermark has milliseconds."""
    newest = [max(row["ts"] for row in made) for made in (TRADES, QUOTES)]
    watermark = min(newest[0] - dt.timedelta(seconds=30), newest[1] - dt.timedelta(seconds=25))
    return sorted(str(pair) for pair in pairs if pair["time"] < watermark)


@pytest.mark.parametrize("how", PREDICATES)
def test_differential_static_frames_give_the_pairs_of_the_process_in_order(
    spark: SparkSession, how: str
) -> None:
    frames = [
        spark.createDataFrame(pa.Table.from_pylist(made, schema=schema))
        for made, schema in ((TRADES, LEFT), (QUOTES, RIGHT))
    ]
    query = joined(*frames, PREDICATES[how], key=how == "hash")
    expected = in_process(PREDICATES[how], key=how == "hash")
    assert query.bound.strategy.how == how
    assert query.collect().to_pylist() == expected
    assert len(expected) > 50
    assert query.dataframe().columns == query.bound.output.names


@pytest.mark.parametrize("how", PREDICATES)
def test_differential_streams_give_the_pairs_of_the_process(spark: SparkSession, how: str) -> None:
    left = stream_batches(spark, tables(LEFT, TRADES, 3))
    right = stream_batches(spark, tables(RIGHT, QUOTES, 3))
    query = joined(left, right, PREDICATES[how], key=how == "hash")
    ran = Ran(query.dataframe())
    expected = settled(in_process(PREDICATES[how], key=how == "hash"))
    assert sorted(map(str, ran.table.cast(query.bound.output).to_pylist())) == expected
    assert len(expected) > 50
    # Rows that go to several buckets are counted once.
    assert (ran.counted("events"), ran.counted("late")) == (580, 0)
    assert ran.counted("reports") == len(expected)


@pytest.mark.parametrize("how", PREDICATES)
def test_differential_elastic_streams_give_the_pairs_of_the_process_at_every_degree(
    spark: SparkSession, how: str, tmp_path: Path
) -> None:
    left = stream_batches(spark, tables(LEFT, TRADES, 3))
    right = stream_batches(spark, tables(RIGHT, QUOTES, 3))
    query = joined(left, right, PREDICATES[how], key=how == "hash")
    pairs: Rows = []
    elastic = sash.Elastic(max=3, controller=lambda samples: (2, 1, 3)[len(samples) % 3], buckets=6)
    running = query.start(
        lambda reports, batch: pairs.extend(reports.toArrow().to_pylist()),
        checkpoint=tmp_path, elastic=elastic, trigger="available now",
    )  # fmt: skip
    running.awaitTermination()
    expected = settled(in_process(PREDICATES[how], key=how == "hash"))
    assert sorted(map(str, pa.Table.from_pylist(pairs, query.bound.output).to_pylist())) == expected
    assert list(running.degrees.values()) == [2, 1, 3]
    assert sum(batch.events for batch in running.metrics) == 580


def test_a_stream_joined_with_itself_meets_itself(spark: SparkSession) -> None:
    def near(data: Any) -> Any:
        own = sash.stream(data, time="ts", delay="30 seconds")
        return own.join(own, within="2 seconds", where=lambda p, q: abs(p.x - q.x) <= 3)

    ran = Ran(near(stream_batches(spark, tables(LEFT, TRADES, 2))).dataframe())
    pairs = near(pa.Table.from_pylist(TRADES, schema=LEFT)).collect().to_pylist()
    watermark = max(row["ts"] for row in TRADES) - dt.timedelta(seconds=30)
    expected = sorted(str(pair) for pair in pairs if pair["time"] < watermark)
    assert sorted(map(str, ran.rows)) == expected
    with_x = sum(row["x"] is not None for row in TRADES)
    assert sum(pair["ts_left"] == pair["ts_right"] for pair in pairs) >= with_x


@pytest.fixture(scope="module")
def with_late_rows(spark: SparkSession) -> list[DataFrame]:
    """A quote is late by a minute, and one has no time; both come with the second batch."""
    # trades  0 s … 90 s | 95 s          watermark after the first batches: min(90 − 30, 90 − 25) = 60 s
    # quotes  0 s … 90 s | 20 s, null
    ends = [[0, 90], [95]], [[0, 90], [20, None]]
    frames = []
    for schema, batches in zip((LEFT, RIGHT), ends, strict=True):
        values = [
            [(None if second is None else at(second), "A", 1, 1.0) for second in batch] for batch in batches
        ]
        made = [[dict(zip(schema.names, row, strict=True)) for row in batch] for batch in values]
        frames.append(stream_batches(spark, [pa.Table.from_pylist(rows, schema=schema) for rows in made]))
    return frames


def test_late_rows_are_told_once_with_the_reason_and_counted(with_late_rows: list[DataFrame]) -> None:
    # A theta join sends copies of every row to several buckets.
    query = joined(*with_late_rows, lambda p, q: p.x <= q.a)
    ran = Delivered(query, "left", "right")
    late = ran.rows("right")
    found = sorted((str(row["ts"] and row["ts"].second), row["late_reason"]) for row in late)
    assert found == [("20", "behind the watermark"), ("None", "time is null")]
    assert ran.rows("left") == []
    assert ran.counted("late") == 2


def test_started_a_join_and_its_late_rows_go_to_their_sinks(
    spark: SparkSession, with_late_rows: list[DataFrame], tmp_path: Path
) -> None:
    query = joined(*with_late_rows, lambda p, q: p.x <= q.a)
    seen: list[int] = []
    pairs = query.start(
        tmp_path / "pairs", late={"right": lambda batch, number: seen.append(batch.count())},
        checkpoint=tmp_path / "checkpoint", trigger="available now", name="pairs",
    )  # fmt: skip
    pairs.awaitTermination()
    written = spark.read.parquet(str(tmp_path / "pairs")).drop("batch").toArrow().cast(query.bound.output)
    expected = Ran(query.dataframe()).table.cast(query.bound.output)
    assert written.num_rows > 0
    assert sorted(map(str, written.to_pylist())) == sorted(map(str, expected.to_pylist()))
    assert (pairs.name, sum(seen)) == ("pairs", 2)


def test_a_join_of_bounded_inputs_has_nothing_to_start(tmp_path: Path) -> None:
    query = bounded(PREDICATES["band cells"])
    with pytest.raises(Unsupported, match=r"start\(\) needs a streaming DataFrame"):
        query.start(tmp_path / "out", checkpoint=tmp_path / "checkpoint")


def test_a_restart_from_the_checkpoint_gives_every_pair_once_and_another_join_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    pieces = {"left": tables(LEFT, TRADES, 3), "right": tables(RIGHT, QUOTES, 3)}
    for name in pieces:
        (tmp_path / name).mkdir()

    def run(where: Any, first: int, last: int) -> Ran:
        for name, batches in pieces.items():
            write_batches(tmp_path / name, batches[first:last], first=first)
        left = read_batches(spark, tmp_path / "left", LEFT)
        right = read_batches(spark, tmp_path / "right", RIGHT)
        return Ran(joined(left, right, where).dataframe(), checkpoint=str(tmp_path / "checkpoint"))

    begun = run(PREDICATES["band cells"], 0, 2)
    went_on = run(PREDICATES["band cells"], 2, 3)
    assert begun.rows
    assert went_on.rows
    assert sorted(map(str, begun.rows + went_on.rows)) == settled(in_process(PREDICATES["band cells"]))

    pieces = {name: [*batches, batches[-1]] for name, batches in pieces.items()}
    with pytest.raises(StreamingQueryException, match="DifferentQuery") as refused:
        run(lambda p, q: abs(p.x - q.a) <= 3, 3, 4)
    assert "where was '((abs((left.x - right.a)) <= 2)" in str(refused.value)


def test_a_predicate_that_raises_on_spark_names_the_rows(spark: SparkSession) -> None:
    frames = [
        spark.createDataFrame(pa.Table.from_pylist(made, schema=schema))
        for made, schema in ((TRADES, LEFT), (QUOTES, RIGHT))
    ]
    with pytest.raises(PredicateError, match="ZeroDivisionError") as raised:
        joined(*frames, lambda p, q: p.x // (q.a - q.a) == 1).collect()
    assert "Row(ts=" in str(raised.value)


def test_what_cannot_be_joined_is_refused(spark: SparkSession) -> None:
    table = pa.Table.from_pylist(TRADES, schema=LEFT)
    static, stream = spark.createDataFrame(table), stream_batches(spark, [table])
    for left, right in ((static, stream), (stream, static), (table, static), (stream, table)):
        with pytest.raises(Unsupported, match="an input of the same kind"):
            joined(left, right, None)
    query = joined(stream, stream, None)
    with pytest.raises(Unsupported, match=r"use \.start"):
        query.collect()
    with pytest.raises(Unsupported, match=r"are written by start\(sink, late=…\)"):
        query.late("left")
    with pytest.raises(Unsupported, match="left out on Spark"):
        query.parallel(2)
    assert "\nruns     on Spark, streaming\n" in query.explain()
    text = query.explain("plan")
    assert (
        "that of the side that is further behind, with a delay of 30 seconds on the left and 25 seconds"
        in text
    )
    assert "join matrix" in text
