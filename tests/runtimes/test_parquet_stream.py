"""Streams of parquet files that Python reads: the rows of Spark's own source, each file once; refusals."""

from __future__ import annotations

import datetime as dt
import os
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash
from sash.errors import ArgumentError, Unsupported
from tests.runtimes.micro_batches import Delivered, Ran, write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OPENING = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)
SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("n", pa.int64()), ("x", pa.float64())]
)


def events(count: int = 90) -> pa.Table:
    """One a second, of three keys (one of them null); every tenth comes a minute late."""
    rows = [
        {"ts": OPENING + dt.timedelta(seconds=number - (60 if number % 10 == 9 else 0)),
         "k": ["a", "b", None][number % 3], "n": number, "x": number / 8}
        for number in range(count)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def cut(table: pa.Table, pieces: int) -> list[pa.Table]:
    edges = [table.num_rows * number // pieces for number in range(pieces + 1)]
    return [table.slice(lo, hi - lo) for lo, hi in pairwise(edges)]


def windows(data: Any) -> Any:
    """Windows by time and by count, with the events that each holds."""
    return (
        sash.stream(data, time="ts", key="k", delay="5 seconds")
        .window(sash.sliding("20 seconds", every="10 seconds"), sash.rows(7, every=3))
        .agg(n=sash.count(), total=sash.sum("x"), held=sash.collect("n"))
    )


def row_texts(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files, in a folder and with names that need care."""
    folder = tmp_path_factory.mktemp("stream") / "a b%20c+é"
    folder.mkdir()
    write_batches(folder, cut(events(), 3))
    (folder / "0001.parquet").rename(folder / "0001 %41.parquet")
    return folder


@pytest.fixture(scope="module")
def ran(spark: SparkSession, folder: Path) -> Ran:
    """The windows over the files, one file a micro-batch, without a stop."""
    return Ran(windows(sash.read_stream_parquet(folder, maxFilesPerTrigger=1)).dataframe())


def test_differential_reports_and_late_events_are_those_of_sparks_own_source(
    spark: SparkSession, folder: Path, ran: Ran
) -> None:
    ours = sash.read_stream_parquet(folder, maxFilesPerTrigger=1)
    theirs = spark.readStream.schema(ours.spark_schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    assert ours.schema == SCHEMA
    assert windows(ours).bound == windows(theirs).bound
    expected = Ran(windows(theirs).dataframe())
    assert row_texts(ran.table) == row_texts(expected.table)
    counts = [ran.counted(count) for count in ("events", "late", "reports")]
    assert counts == [expected.counted(count) for count in ("events", "late", "reports")]
    assert counts[0] == 90
    assert min(counts) > 0
    late = Delivered(windows(ours), "late").rows("late")
    assert len(late) == counts[1]
    assert list(late[0])[:4] == SCHEMA.names


def test_differential_the_dataframe_has_the_rows_and_types_of_sparks_own_reader(
    spark: SparkSession, folder: Path
) -> None:
    df = sash.read_stream_parquet(folder).dataframe()
    theirs = spark.read.parquet(str(folder))
    assert df.isStreaming
    assert df.schema == theirs.schema
    assert row_texts(Ran(df).table) == row_texts(theirs.toArrow())


def test_spark_itself_reads_nothing_but_the_names_of_the_files(spark: SparkSession, folder: Path) -> None:
    # Spark refuses to load a file that is longer than this.
    limit = "spark.sql.sources.binaryFile.maxLength"
    spark.conf.set(limit, "1")
    try:
        assert Ran(sash.read_stream_parquet(folder).dataframe()).table.num_rows == 90
    finally:
        spark.conf.unset(limit)


def test_explain_says_who_reads_the_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "1. read the files of each batch with pyarrow" in windows(
        sash.read_stream_parquet(folder)
    ).explain("plan")


class Restarted:
    """A query that ends with the files that are there, and goes on when there are more."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark, self.input, self.home = spark, home / "input", home
        self.input.mkdir()

    def go_on(self, *, by_spark: bool = False) -> None:
        data: Any = sash.read_stream_parquet(self.input, maxFilesPerTrigger=1)
        if by_spark:
            reader = self.spark.readStream.schema(data.spark_schema).option("maxFilesPerTrigger", 1)
            data = reader.parquet(str(self.input))
        writing = windows(data).dataframe().writeStream.format("parquet")
        writing = writing.option("checkpointLocation", str(self.home / "checkpoint"))
        writing.trigger(availableNow=True).start(str(self.home / "sink")).awaitTermination()

    @property
    def sink(self) -> list[str]:
        return row_texts(self.spark.read.parquet(str(self.home / "sink")).toArrow())


def test_differential_restarts_read_each_file_once_whoever_reads_it(
    spark: SparkSession, ran: Ran, tmp_path: Path
) -> None:
    # The keys must fall into the same buckets on either way, or the second run would not find its state.
    query = Restarted(spark, tmp_path)
    for number, (batch, by_spark) in enumerate(zip(cut(events(), 3), (True, False, False), strict=True)):
        write_batches(query.input, [batch], first=number)
        query.go_on(by_spark=by_spark)
    assert query.sink == row_texts(ran.table)
    before = query.sink
    query.go_on()
    assert query.sink == before


def test_options_reach_sparks_file_source(tmp_path: Path) -> None:
    write_batches(tmp_path, cut(events(), 4))
    os.utime(tmp_path / "0003.parquet", (1_800_000_000, 1_800_000_000))
    seen = Ran(
        sash.read_stream_parquet(
            tmp_path, maxFilesPerTrigger=2, latestFirst=True, pathGlobFilter="000[1-3].parquet",
            cleanSource="delete",
        ).dataframe()
    )  # fmt: skip
    assert max(seen.tables[0]["n"].to_pylist()) == 89
    assert sum(table.num_rows for table in seen.tables) == 90 - 22
    assert len(seen.tables) == 2
    # Spark cleans up behind a batch when the next one is done, on a thread of its own.
    deadline = time.monotonic() + 20
    while (tmp_path / "0003.parquet").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    left = {path.name for path in tmp_path.glob("*.parquet")}
    assert "0000.parquet" in left
    assert "0003.parquet" not in left


def test_a_partitioned_folder_is_read_with_the_columns_of_its_schema(tmp_path: Path) -> None:
    for number, batch in enumerate(cut(events(), 2)):
        (tmp_path / f"day=2026-01-0{number}").mkdir()
        pq.write_table(batch, tmp_path / f"day=2026-01-0{number}" / "0.parquet")
    with pytest.raises(ArgumentError, match=r"schema must be given for a partitioned folder, .*\['day'\]"):
        sash.read_stream_parquet(tmp_path)
    days = sash.read_stream_parquet(tmp_path, schema="ts timestamp, day string")
    counted = sash.stream(days, time="ts", key="day").window(sash.rows(45)).agg(n=sash.count())
    assert sorted((row["day"], row["n"]) for row in Ran(counted.dataframe()).rows) == [
        ("2026-01-00", 45), ("2026-01-01", 45),
    ]  # fmt: skip


def test_a_file_that_differs_stops_the_stream_with_its_name(tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    write_batches(tmp_path, [events(5), events(5).drop_columns("x")])
    with pytest.raises(StreamingQueryException, match=r"BadFile: file:.*0001\.parquet: .* no column 'x'"):
        Ran(windows(sash.read_stream_parquet(tmp_path, maxFilesPerTrigger=1)).dataframe())


def test_a_schema_that_is_given_is_the_streams(tmp_path: Path) -> None:
    from pyspark.sql.types import StructType

    given = StructType.fromDDL("ts timestamp NOT NULL, x double")
    for schema in ("ts timestamp, x double", given, pa.schema([SCHEMA.field("ts"), SCHEMA.field("x")])):
        stream = sash.read_stream_parquet(tmp_path, schema=schema)
        assert stream.schema == pa.schema([SCHEMA.field("ts"), SCHEMA.field("x")])
    with pytest.raises(ArgumentError, match="schema must be DDL"):
        sash.read_stream_parquet(tmp_path, schema=["ts"])  # type: ignore[arg-type]


def test_an_empty_folder_has_no_schema_to_ask_for(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="schema must be given, because there is no file yet"):
        sash.read_stream_parquet(tmp_path)


def test_an_option_that_spark_would_ignore_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"Did you mean 'maxFilesPerTrigger'\?"):
        sash.read_stream_parquet(tmp_path, maxFilePerTrigger=1)


def test_a_file_system_that_only_spark_knows_is_refused_before_anything_runs() -> None:
    with pytest.raises(Unsupported, match=r"spark\.readStream\.parquet"):
        sash.read_stream_parquet("wibble://host/folder")
