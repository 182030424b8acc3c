"""What a function may do with the rows of a batch in epochs, and what is left of one that is done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.types import _parse_datatype_string

import sash
from sash.errors import DifferentQuery
from sash.runtimes.spark.sinks.task_files import as_spark_writes, codec_of
from sash.runtimes.spark.sql_folding.pane_fold_sql import carries_late
from tests.runtimes.micro_batches import read_batches, stream_batches, write_batches
from tests.runtimes.test_spark_streaming import SCHEMA, cut, trades

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def rolling(df: Any) -> Any:
    stream = sash.stream(df, time="ts", key="symbol", delay="10 seconds")
    return stream.rolling("1 minute", emit="arrival").agg(n=sash.count())


def bars(df: Any) -> Any:
    stream = sash.stream(df, time="ts", key="symbol", delay="10 seconds")
    return stream.window(sash.tumbling("1 minute")).agg(n=sash.count())


@pytest.mark.parametrize(
    "reshaped", [lambda rows: rows.coalesce(1), lambda rows: rows.limit(0).union(rows)]
)
def test_a_function_may_reshape_the_rows_in_which_the_step_runs(
    spark: SparkSession, tmp_path: Path, reshaped: Any
) -> None:
    tables = cut(trades(120), 3)
    found: list[str] = []

    def sink(rows: DataFrame, batch: int) -> None:
        found.extend(map(str, reshaped(rows.select("symbol", "ts", "n_1_minute")).toArrow().to_pylist()))

    handle = rolling(stream_batches(spark, tables)).start(
        sink, checkpoint=tmp_path / "c", trigger="available now"
    )
    handle.awaitTermination()
    assert len(found) >= 120


def test_the_rows_of_a_batch_that_is_done_are_not_computed_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    held: list[DataFrame] = []

    def run(first: int, some: list[pa.Table]) -> None:
        write_batches(tmp_path / "in", some, first=first)
        df = read_batches(spark, tmp_path / "in", SCHEMA)
        handle = rolling(df).start(
            lambda rows, batch: held.append(rows), checkpoint=tmp_path / "c", trigger="available now"
        )
        handle.awaitTermination()

    tables = cut(trades(120), 3)
    run(0, tables[:2])
    with pytest.raises(Exception, match="its rows can be read only in the function"):
        held[-1].count()
    run(2, tables[2:])


def test_a_folder_object_is_of_one_query(spark: SparkSession, tmp_path: Path) -> None:
    sink = sash.sinks.folder(str(tmp_path / "out"))
    tables = cut(trades(120), 2)
    bars(stream_batches(spark, tables)).start(
        sink, checkpoint=tmp_path / "a", trigger="available now"
    ).awaitTermination()
    with pytest.raises(DifferentQuery, match="has batches of another query"):
        bars(stream_batches(spark, tables)).start(sink, checkpoint=tmp_path / "b", trigger="available now")


def test_a_checkpoint_in_files_is_not_continued_over_sparks_state_store(
    spark: SparkSession, tmp_path: Path
) -> None:
    df = stream_batches(spark, cut(trades(60), 2))
    bars(df).start(tmp_path / "o", checkpoint=tmp_path / "c", trigger="available now").awaitTermination()
    stream = sash.stream(df, time="ts", key="symbol", delay="10 seconds", idle="1 minute")
    query = stream.window(sash.tumbling("1 minute")).agg(n=sash.count())
    with pytest.raises(DifferentQuery, match="time follows the clock"):
        query.start(tmp_path / "o", checkpoint=tmp_path / "c", trigger="available now")


@pytest.mark.parametrize(
    ("type_", "carried"),
    [
        ("x double", True), ("x array<string>", True), ("x struct<a: int>", True),
        ("x decimal(9, 2)", True),
        ("x map<string, int>", False), ("x struct<m: map<string, int>>", False), ("x array<double>", False),
        ("x array<map<string, int>>", False), ("x variant", False),
    ],
)  # fmt: skip
def test_late_rows_are_grouped_only_where_that_changes_nothing(
    spark: SparkSession, type_: str, carried: bool
) -> None:
    struct = _parse_datatype_string(type_)
    assert carries_late(struct, ["x"]) is carried


def test_tasks_write_what_spark_would_read_as_its_own() -> None:
    assert as_spark_writes(pa.schema([("x", pa.list_(pa.struct([("t", pa.timestamp("us", "UTC"))])))]))
    assert not as_spark_writes(pa.schema([("x", pa.struct([("d", pa.duration("us"))]))]))
    assert not as_spark_writes(pa.schema([("x", pa.time64("us"))]))
    assert [codec_of(each) for each in ("zstd", "UNCOMPRESSED", "lz4raw")] == ["zstd", "none", None]
