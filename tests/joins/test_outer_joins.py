"""Outer joins as users write them: in process, and on Spark against Spark's own outer interval join."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError
from sash.semantics.join import How
from tests.joins.test_join_spark import LEFT, QUOTES, RIGHT, TRADES, settled, tables
from tests.runtimes.micro_batches import Ran, stream_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUTER: list[How] = ["left", "right", "full"]


def test_keys_of_a_row_are_those_of_the_event_that_it_has() -> None:
    # a   1 ─ 2         a's events meet
    # b   4             b has a left one, c (as a wider integer) a right one
    # c            9
    left = pa.table({"t": [1, 4], "k": pa.array([1, 2], pa.int32()), "x": [0.5, 1.5]})
    right = pa.table({"t": [2, 9], "id": pa.array([1, 2**40], pa.int64()), "y": ["u", "v"]})
    query = sash.stream(left, time="t", key="k").join(
        sash.stream(right, time="t", key="id"), within=3, how="full"
    )
    answer = query.collect()
    assert answer.schema.field("k").type == pa.int64()
    assert [tuple(row.values()) for row in answer.to_pylist()] == [
        (1, 2, 1, 0.5, 2, "u"), (2, 7, 4, 1.5, None, None), (2**40, 12, None, None, 9, "v"),
    ]  # fmt: skip
    assert repr(query).startswith("<sash full outer join within 3")
    assert "events of both sides without a pair, with nulls, at τ + 3" in query.explain()


def test_an_empty_side_leaves_all_rows_of_the_other_alone() -> None:
    left, right = pa.table({"t": [3, 1], "x": [7, 8]}), pa.table({"t": pa.array([], pa.int64())})
    joined = sash.stream(left, time="t").join(sash.stream(right, time="t"), within=0, how="left").collect()
    assert joined.to_pydict() == {"time": [1, 3], "t_left": [1, 3], "x": [8, 7], "t_right": [None, None]}


def test_a_how_that_there_is_not_is_refused() -> None:
    stream = sash.stream(pa.table({"t": [1]}), time="t")
    with pytest.raises(ArgumentError, match="how must be 'inner', 'left', 'right' or 'full'"):
        stream.join(stream, within=1, how="outer")  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match=r"within must be at most 2\*\*61 for an outer join"):
        stream.join(stream, within=2**62, how="left")


def joined(left: Any, right: Any, how: How, *, key: bool, where: Any = None) -> Any:
    names = ("symbol", "name") if key else (None, None)
    trades = sash.stream(left, time="ts", key=names[0], delay="30 seconds")
    quotes = sash.stream(right, time="ts", key=names[1], delay="25 seconds")
    return trades.join(quotes, within="2 seconds", where=where, how=how)


CONDITIONS: dict[str, Any] = {
    "hash": lambda p, q: p.x >= q.a,
    "band cells": lambda p, q: abs(p.x - q.a) <= 2,
    "join matrix": lambda p, q: p.x + 36 < q.a,
}


def in_process(how: How, find: str) -> Any:
    whole = [pa.Table.from_pylist(made, schema=s) for made, s in ((TRADES, LEFT), (QUOTES, RIGHT))]
    return joined(*whole, how, key=find == "hash", where=CONDITIONS[find]).collect()


def spark_outer(spark: SparkSession, how: How) -> Counter[str]:
    """Spark's own outer join on the key and the interval; it has no time of a pair."""
    from pyspark.sql import functions as F

    frames = [
        spark.createDataFrame(pa.Table.from_pylist(made, schema=schema)).alias(name)
        for name, made, schema in (("l", TRADES, LEFT), ("r", QUOTES, RIGHT))
    ]
    near = F.expr("r.ts BETWEEN l.ts - INTERVAL 2 SECONDS AND l.ts + INTERVAL 2 SECONDS")
    same = F.col("l.symbol").eqNullSafe(F.col("r.name")) & (F.col("l.x") >= F.col("r.a"))
    found = frames[0].join(frames[1], near & same, how)
    picked = found.select(
        F.coalesce("l.symbol", "r.name").alias("symbol"),
        *(F.col(name) for name in ("l.ts", "l.x", "l.y", "r.ts", "r.a", "r.b")),
    )
    return Counter(str([*row.values()]) for row in _rows(picked.toArrow()))


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    named = table.rename_columns([str(number) for number in range(table.num_columns)])
    return [{name: _plain(value) for name, value in row.items()} for row in named.to_pylist()]


def _plain(value: Any) -> Any:
    return value.astimezone(dt.UTC).isoformat() if isinstance(value, dt.datetime) else value


@pytest.mark.spark
@pytest.mark.parametrize("how", OUTER)
def test_differential_rows_are_those_of_sparks_own_outer_interval_join(
    spark: SparkSession, how: How
) -> None:
    ours = in_process(how, "hash")
    assert Counter(str([*row.values()]) for row in _rows(ours.drop_columns("time"))) == spark_outer(
        spark, how
    )
    alone = sum(row["ts_left"] is None or row["ts_right"] is None for row in ours.to_pylist())
    assert 50 < alone < ours.num_rows


@pytest.mark.spark
@pytest.mark.parametrize(
    ("how", "find"), [("full", "hash"), ("right", "band cells"), ("left", "join matrix")]
)
def test_differential_static_frames_and_streams_give_the_rows_of_the_process(
    spark: SparkSession, how: How, find: str
) -> None:
    expected = in_process(how, find).to_pylist()
    frames = [
        spark.createDataFrame(pa.Table.from_pylist(made, schema=schema))
        for made, schema in ((TRADES, LEFT), (QUOTES, RIGHT))
    ]
    static = joined(*frames, how, key=find == "hash", where=CONDITIONS[find])
    assert static.bound.strategy.how == find
    assert static.collect().to_pylist() == expected
    streams = [stream_batches(spark, tables(s, made, 3)) for s, made in ((LEFT, TRADES), (RIGHT, QUOTES))]
    query = joined(*streams, how, key=find == "hash", where=CONDITIONS[find])
    ran = Ran(query.dataframe())
    assert sorted(map(str, ran.table.cast(query.bound.output).to_pylist())) == settled(expected)
    assert ran.counted("events") == 580


@pytest.mark.spark
def test_differential_a_full_theta_join_on_spark_has_one_bucket(spark: SparkSession) -> None:
    streams = [stream_batches(spark, tables(s, made, 2)) for s, made in ((LEFT, TRADES), (RIGHT, QUOTES))]
    query = joined(*streams, "full", key=False, where=CONDITIONS["join matrix"])
    assert "pack blocks for 1 buckets" in query.explain("plan")
    ran = Ran(query.dataframe())
    expected = settled(in_process("full", "join matrix").to_pylist())
    assert sorted(map(str, ran.table.cast(query.bound.output).to_pylist())) == expected
