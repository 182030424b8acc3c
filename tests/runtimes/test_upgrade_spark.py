"""A changed query on the checkpoint of another, on Spark: compared on the driver, before anything runs."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import DifferentQuery
from tests.runtimes.micro_batches import Delivered, read_batches, write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("x", pa.int64())])
OPENING = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)


def events(*seconds: int) -> pa.Table:
    rows = [{"ts": OPENING + dt.timedelta(seconds=each), "k": "a", "x": each} for each in seconds]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


class Place:
    """A stream of files and a checkpoint, for one query after another."""

    def __init__(self, spark: SparkSession, folder: Path, elastic: sash.Elastic | None = None) -> None:
        self.spark, self.folder, self.files = spark, folder, 0
        self.under(elastic)
        (folder / "in").mkdir()

    def under(self, elastic: sash.Elastic | None) -> Place:
        self.options = {} if elastic is None else {"elastic": elastic}
        return self

    def run(self, *seconds: int, size: str = "10 seconds", workers: int | None = None, **agg: Any) -> Any:
        if seconds:
            write_batches(self.folder / "in", [events(*seconds)], first=self.files)
            self.files += 1
        stream = sash.stream(read_batches(self.spark, self.folder / "in", SCHEMA), time="ts", key="k")
        query = stream.window(sash.tumbling(size)).agg(**agg or {"n": sash.count()})
        if workers is not None:
            query = query.parallel(sash.KeyFarm(workers))
        return Delivered(query, checkpoint=self.folder / "checkpoint", **self.options).rows()


@pytest.fixture(params=["fixed", "elastic"])
def place(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Place:
    return Place(spark, tmp_path, sash.Elastic(max=2) if request.param == "elastic" else None)


def test_another_window_is_refused_by_start_although_no_data_has_come(place: Place) -> None:
    place.run(1, 2)
    with pytest.raises(DifferentQuery, match=r"windows were tumbling\(10 seconds.* and are tumbling\(20"):
        place.run(size="20 seconds")


ELASTIC = sash.Elastic(max=2)


@pytest.mark.parametrize(
    ("first", "then", "reason"),
    [
        (None, ELASTIC, "no state in lmdb"),
        (ELASTIC, None, "an elastic query"),
        (ELASTIC, sash.Elastic(max=2, store="files"), "no state in files"),
    ],
    ids=["fixed, then elastic", "elastic, then fixed", "elastic, then in another store"],
)
def test_state_that_lies_elsewhere_is_missed_by_start_although_no_data_has_come(
    spark: SparkSession, tmp_path: Path, first: sash.Elastic | None, then: sash.Elastic | None, reason: str
) -> None:
    place = Place(spark, tmp_path, first)
    place.run(1, 2)
    with pytest.raises(DifferentQuery, match=reason):
        place.under(then).run()
    assert [row["n"] for row in place.under(first).run(3, 12)] == [3]


def test_an_aggregate_is_added_and_another_removed_while_the_stream_is_stopped(place: Place) -> None:
    place.run(1, 2, n=sash.count(), low=sash.min("x"))
    rows = place.run(3, 12, 25, 40, n=sash.count(), high=sash.max("x"))
    values = [(row["n"], row.get("high"), "low" in row) for row in rows]
    assert values == [(3, None, False), (1, 12, False), (1, 25, False)]


def test_a_checkpoint_keeps_its_buckets_whatever_the_session_has(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than partitions too, so that Spark can spread them over more of those later."""
    setting, before = "spark.sql.shuffle.partitions", spark.conf.get("spark.sql.shuffle.partitions")
    for number, workers in enumerate((None, 5)):
        folder = tmp_path / str(number)
        folder.mkdir()
        place = Place(spark, folder)
        try:
            place.run(1, 2, workers=workers)
            spark.conf.set(setting, "3")
            assert [row["n"] for row in place.run(3, 12, workers=workers)] == [3]
        finally:
            spark.conf.set(setting, before)


def test_a_query_together_with_others_is_compared_too(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_batches(tmp_path / "in", [events(1, 2)])

    def run(size: str) -> None:
        stream = sash.stream(read_batches(spark, tmp_path / "in", SCHEMA), time="ts", key="k")
        one = stream.window(sash.tumbling("5 seconds")).agg(n=sash.count())
        other = stream.window(sash.tumbling(size)).agg(n=sash.count())
        sinks = {"one": tmp_path / "one", "other": tmp_path / "other"}
        query = sash.together(one=one, other=other).start(
            sinks, checkpoint=tmp_path / "checkpoint", trigger="available now"
        )
        query.awaitTermination()

    run("10 seconds")
    with pytest.raises(DifferentQuery, match="windows were"):
        run("20 seconds")
