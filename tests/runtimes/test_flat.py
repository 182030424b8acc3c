"""`query.flat()`: windows as plain columns, on every runtime."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash
from sash.dashboard.report_folder import ReportFolder
from sash.errors import ArgumentError
from tests.runtimes.micro_batches import stream_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = pa.table({"t": [1, 2, 6, 11], "k": ["a", "b", "a", "a"], "x": [1.0, 2.0, 3.0, 4.0]})
FLAT = ["k", "window_id", "window_start", "window_end", "s"]


def query(data: Any, *windows: Any) -> sash.WindowQuery:
    return sash.stream(data, time="t", key="k").window(*windows or [sash.tumbling(5)]).agg(s=sash.sum("x"))


def flattened(reports: pa.Table) -> list[dict[str, Any]]:
    """What flat reports must be, from those that are not."""
    rows = reports.to_pylist()
    return [
        {"k": row["k"], **{f"window_{name}": value for name, value in row["window"].items()}, "s": row["s"]}
        for row in rows
    ]


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["k"], row["window_id"]))


def test_flat_reports_have_plain_columns_in_the_place_of_the_struct() -> None:
    flat = query(EVENTS).flat()
    assert flat.collect().column_names == FLAT
    assert flat.collect().to_pylist() == flattened(query(EVENTS).collect())
    assert flat.head(2).total == 4
    assert flat.late().collect().equals(query(EVENTS).late().collect())


def test_several_windows_have_a_name_too() -> None:
    windows = sash.tumbling(5).named("short"), sash.rows(2).named("pair")
    flat = query(EVENTS, *windows).flat().collect()
    assert flat.column_names[:3] == ["k", "window_name", "window_id"]
    assert flat.to_pylist() == flattened(query(EVENTS, *windows).collect())


@pytest.mark.parametrize("windows", [[sash.tumbling(5)], [sash.tumbling(5), sash.rows(2)]], ids=len)
def test_the_live_page_reads_flat_reports_as_others(tmp_path: Path, windows: list[Any]) -> None:
    found = []
    for name, reports in (("nested", query(EVENTS, *windows)), ("flat", query(EVENTS, *windows).flat())):
        (tmp_path / name).mkdir()
        pq.write_table(reports.collect(), tmp_path / name / "0.parquet")
        found.append(ReportFolder(tmp_path / name, keys=("k",), values=("s",), count=None).look())
    assert found[0] == found[1]
    assert found[0]["seen"] == query(EVENTS, *windows).collect().num_rows


@pytest.mark.parametrize("form", [pd.DataFrame, polars.DataFrame])
def test_frames_are_flat_in_their_own_form(form: Any) -> None:
    frame = query(form(EVENTS.to_pydict())).flat().dataframe()
    assert isinstance(frame, form)
    assert list(frame.columns) == FLAT


def test_look_backs_are_flat_as_they_are() -> None:
    rolling = sash.stream(EVENTS, time="t", key="k").rolling(5).agg(n=sash.count())
    assert rolling.flat().collect().equals(rolling.collect())


def test_a_name_that_is_taken_is_refused() -> None:
    windowed = sash.stream(EVENTS, time="t").window(sash.tumbling(5))
    with pytest.raises(ArgumentError, match="another name with flat"):
        windowed.agg(window_end=sash.max("t")).flat()


@pytest.mark.spark
def test_differential_a_static_dataframe_is_flat_too(spark: SparkSession) -> None:
    flat = query(spark.createDataFrame(EVENTS)).flat()
    assert flat.dataframe().columns == FLAT
    assert flat.collect().to_pylist() == flattened(query(EVENTS).collect())


@pytest.mark.spark
@pytest.mark.parametrize("elastic", [None, sash.Elastic(max=2, buckets=4)], ids=["fixed", "elastic"])
def test_differential_a_stream_writes_flat_reports(
    spark: SparkSession, tmp_path: Path, elastic: Any
) -> None:
    running = query(stream_batches(spark, [EVENTS])).flat().start(
        tmp_path / "out", checkpoint=tmp_path / "checkpoint", elastic=elastic, trigger="availableNow"
    )  # fmt: skip
    running.awaitTermination()
    tables = [pq.ParquetFile(path).read() for path in (tmp_path / "out").rglob("*.parquet")]
    found = [row for table in tables for row in table.to_pylist()]
    closed = [row for row in flattened(query(EVENTS).collect()) if row["window_end"] <= 11]
    assert ordered(found) == ordered(closed)
