"""As-of joins of static and of streaming DataFrames: the same answers as in process."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, Unsupported
from sash.semantics.asof import DIRECTIONS, Direction
from tests.joins.test_join_spark import LEFT, QUOTES, RIGHT, TRADES, at, tables
from tests.runtimes.micro_batches import Delivered, Ran, read_batches, stream_batches, write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def joined(left: Any, right: Any, direction: Direction, *, key: bool = True) -> Any:
    names = ("symbol", "name") if key else (None, None)
    trades = sash.stream(left, time="ts", key=names[0], delay="30 seconds")
    quotes = sash.stream(right, time="ts", key=names[1], delay="25 seconds")
    return trades.join_asof(quotes, direction=direction, tolerance="1500 milliseconds")


def in_process(direction: Direction, *, key: bool = True) -> list[dict[str, Any]]:
    whole = [pa.Table.from_pylist(made, schema=s) for made, s in ((TRADES, LEFT), (QUOTES, RIGHT))]
    answers: list[dict[str, Any]] = joined(*whole, direction, key=key).collect().to_pylist()
    return answers


def settled(answers: list[dict[str, Any]], direction: Direction) -> list[str]:
    """Those that the last watermark has settled; Spark's watermark has milliseconds."""
    newest = [max(row["ts"] for row in made) for made in (TRADES, QUOTES)]
    watermark = min(newest[0] - dt.timedelta(seconds=30), newest[1] - dt.timedelta(seconds=25))

    def at_last(row: dict[str, Any]) -> dt.datetime:
        if direction == "backward":
            return row["ts"]
        if row["ts_right"] is None:
            return row["ts"] + dt.timedelta(seconds=1.5)
        return row["ts"] + abs(row["ts"] - row["ts_right"])

    return sorted(str(row) for row in answers if at_last(row) < watermark)


def frames(spark: SparkSession) -> list[Any]:
    sides = ((TRADES, LEFT), (QUOTES, RIGHT))
    return [spark.createDataFrame(pa.Table.from_pylist(made, schema=schema)) for made, schema in sides]


@pytest.mark.parametrize(("direction", "key"), [("backward", True), ("nearest", True), ("forward", False)])
def test_differential_static_frames_give_the_answers_of_the_process_in_order(
    spark: SparkSession, direction: Direction, key: bool
) -> None:
    query = joined(*frames(spark), direction, key=key)
    expected = in_process(direction, key=key)
    assert query.collect().to_pylist() == expected
    assert len(expected) == len(TRADES)
    assert sum(row["ts_right"] is None for row in expected) > 30 if key else True
    assert query.dataframe().columns == query.bound.output.names


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_differential_streams_give_the_answers_of_the_process(
    spark: SparkSession, direction: Direction
) -> None:
    streams = [stream_batches(spark, tables(s, made, 3)) for s, made in ((LEFT, TRADES), (RIGHT, QUOTES))]
    key = direction != "forward"
    query = joined(*streams, direction, key=key)
    ran = Ran(query.dataframe())
    expected = settled(in_process(direction, key=key), direction)
    assert sorted(map(str, ran.table.cast(query.bound.output).to_pylist())) == expected
    assert len(expected) > 200
    assert (ran.counted("events"), ran.counted("late")) == (580, 0)


def test_a_restart_from_the_checkpoint_gives_every_answer_once_and_another_join_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    pieces = {"left": tables(LEFT, TRADES, 3), "right": tables(RIGHT, QUOTES, 3)}
    for name in pieces:
        (tmp_path / name).mkdir()

    def run(direction: Direction, first: int, last: int) -> Ran:
        for name, batches in pieces.items():
            write_batches(tmp_path / name, batches[first:last], first=first)
        streams = (read_batches(spark, tmp_path / n, s) for n, s in (("left", LEFT), ("right", RIGHT)))
        return Ran(joined(*streams, direction).dataframe(), checkpoint=str(tmp_path / "checkpoint"))

    begun, went_on = run("nearest", 0, 2), run("nearest", 2, 3)
    assert begun.rows
    assert went_on.rows
    both = sorted(map(str, begun.rows + went_on.rows))
    assert both == settled(in_process("nearest"), "nearest")

    pieces = {name: [*batches, batches[-1]] for name, batches in pieces.items()}
    with pytest.raises(StreamingQueryException, match="direction was 'nearest' and is 'backward'"):
        run("backward", 3, 4)


def test_late_rows_go_to_their_sinks_in_the_same_pass(spark: SparkSession) -> None:
    # trades  0 s … 90 s | 95 s          watermark after the first batches: min(90 − 30, 90 − 25) = 60 s
    # quotes  0 s … 90 s | 20 s, null
    ends = (LEFT, [[0, 90], [95]]), (RIGHT, [[0, 90], [20, None]])
    streams = []
    for schema, batches in ends:
        made = [
            [
                dict(zip(schema.names, (None if s is None else at(s), "A", 1, 1.0), strict=True))
                for s in batch
            ]
            for batch in batches
        ]
        streams.append(stream_batches(spark, [pa.Table.from_pylist(rows, schema=schema) for rows in made]))
    ran = Delivered(joined(*streams, "backward"), "left", "right")
    late = sorted((str(row["ts"] and row["ts"].second), row["late_reason"]) for row in ran.rows("right"))
    assert late == [("20", "behind the watermark"), ("None", "time is null")]
    assert ran.rows("left") == []


def test_what_would_wait_for_ever_or_has_no_such_form_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    own = sash.stream(stream_batches(spark, [pa.Table.from_pylist(TRADES, schema=LEFT)]), time="ts")
    for direction in ("forward", "nearest"):
        with pytest.raises(Unsupported, match="would wait for ever"):
            own.join_asof(own, direction=direction)  # type: ignore[arg-type]
    query = own.join_asof(own, suffix="_2")
    with pytest.raises(ArgumentError, match="elastic must be"):
        query.start(tmp_path / "out", checkpoint=tmp_path / "checkpoint", elastic=2)
    assert "the newest right row of each key" in query.explain("plan")
