"""What brings gigabytes to the driver is warned of while it comes, and never what is small."""

from __future__ import annotations

import sys
import time
import warnings
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

import sash
from sash.errors import SashWarning
from sash.runtimes.spark import compat
from sash.runtimes.spark.batch import driver_memory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def rows_of(spark: SparkSession, form: str, folder: Path) -> DataFrame:
    """The same rows, of whose size Spark's planner has all kinds of ideas."""
    rows = spark.range(1_000).selectExpr("id AS t", "id % 3 AS k")
    if form == "local rows":
        return spark.createDataFrame([(t, t % 3) for t in range(1_000)], "t long, k long")
    if form == "an RDD":
        return spark.createDataFrame(rows.rdd, rows.schema)
    if form == "files":
        rows.write.parquet(str(folder / "rows"))
        return spark.read.parquet(str(folder / "rows"))
    return rows.join(rows.select("t"), "t") if form == "a join" else rows


@pytest.mark.parametrize("form", ["a range", "local rows", "an RDD", "files", "a join"])
def test_what_is_small_is_not_warned_of_whatever_spark_expects(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    stream = sash.stream(rows_of(spark, form, tmp_path), time="t", key="k")
    assert stream.rolling(5).agg(n=sash.count()).collect().num_rows == 1_000


def test_many_rows_are_warned_of_once_and_are_all_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(spark, "files", tmp_path)
    stream = sash.stream(rows, time="t", key="k")
    windows = stream.window(sash.tumbling(500)).agg(n=sash.count())
    expected = windows.collect()
    monkeypatch.setattr(driver_memory, "MANY", 10_000)
    with pytest.warns(SashWarning, match=r"collect\(\) has brought .* continues; dataframe\(\)") as warned:
        features = stream.rolling(5).agg(n=sash.count()).collect()
    assert len(warned) == 1
    assert features.num_rows == 1_000
    with pytest.warns(SashWarning, match="explain_window has brought"):
        windows.explain_window(key=1, at=7)
    assert windows.collect() == expected, "six rows, however many events there are"


def test_rows_are_counted_while_others_are_still_computed(spark: SparkSession, tmp_path: Path) -> None:
    """The second of two tasks ends after rows of the first one were counted, of which Spark buffers few."""
    counted, half = tmp_path / "counted", 100_000

    def second_waits(batches: Any) -> Any:
        for batch in batches:
            deadline = time.monotonic() + 120
            while batch.column(0)[0].as_py() >= half and not counted.exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield batch

    rows = spark.range(0, 2 * half, numPartitions=2).mapInArrow(second_waits, "id long")
    table = compat.counted_arrow(rows, lambda size: counted.touch())
    assert table["id"].to_pylist() == list(range(2 * half))


@pytest.mark.parametrize("kind", ["windows", "flat windows", "look-backs", "latest", "join"])
def test_differential_the_first_rows_come_without_the_others(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    rows = spark.range(20_000).selectExpr("(id * 7919) % 20000 AS t", "id % 3 AS k", "id % 11 AS x")
    stream = sash.stream(rows, time="t", key="k")
    query: Any = {
        "windows": lambda: stream.window(sash.sliding(20, every=2), sash.rows(3)).agg(n=sash.count()),
        "flat windows": lambda: stream.window(sash.tumbling(4)).agg(n=sash.count()).flat(),
        "look-backs": lambda: stream.rolling(5).agg(n=sash.count()),
        "latest": lambda: stream.latest(5).agg(n=sash.count()),
        "join": lambda: stream.join(stream, within=1),
    }[kind]()
    expected = query.collect()
    monkeypatch.setattr(driver_memory, "MANY", 20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SashWarning)
        head = query.head(7)
    assert head.table == expected.slice(0, 7)
    assert head.total == expected.num_rows


def test_an_input_of_this_process_is_warned_of_before_it_becomes_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = pa.table({"t": range(1000), "k": [0] * 1000})
    query = sash.stream(table, time="t", key="k").window(sash.tumbling(10)).agg(n=sash.count())
    query.explain_window(key=0, at=7)
    monkeypatch.setattr(sys.modules["sash.api.explain_window"], "MANY", 100_000)
    with pytest.warns(SashWarning, match="of all 1,000 events, about 0 MB; filter them"):
        query.explain_window(key=0, at=7)


def test_a_failing_job_is_the_same_error_as_ever(spark: SparkSession) -> None:
    rows = spark.range(10).selectExpr("id AS t", "assert_true(id < 5, 'too many') AS x", "1 AS k")
    stream = sash.stream(rows, time="t", key="k").rolling(5).agg(n=sash.count("x"))
    with pytest.raises(Exception, match="too many"):
        stream.collect()


def test_on_connect_rows_are_counted_before_others_have_come(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = iter([pa.table({"x": [1] * 100}), pa.table({"x": [2] * 100}), pa.table({"x": [3] * 100})])
    remote = SimpleNamespace(
        schema=StructType().add("x", "long"),
        sparkSession=SimpleNamespace(
            client=SimpleNamespace(
                to_table_as_iterator=lambda plan, observations: chain([StructType()], batches)
            )
        ),
        _plan=SimpleNamespace(to_proto=lambda client: "a plan", observations={}),
    )
    monkeypatch.setattr(driver_memory, "MANY", 1_000)
    monkeypatch.setattr(compat, "is_connect", lambda df: True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SashWarning)
        with pytest.raises(SashWarning, match=r"collect\(\) has brought 0 MB to this process"):
            driver_memory.brought(remote)  # type: ignore[arg-type]
    assert [table["x"][0].as_py() for table in batches] == [3], "what had not come yet"


def payments(spark: SparkSession) -> DataFrame:
    """Events of 24 bytes, in rows of a thousand."""
    return spark.range(1_000).selectExpr("id AS t", "id % 3 AS k", "id AS x", "repeat('-', 1000) AS note")


def features(data: Any) -> Any:
    return sash.stream(data, time="t", key="k").rolling(5, 50).agg(n=sash.count("x"), top=sash.max("x"))


def test_differential_publish_brings_what_it_publishes_and_nothing_else(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features(payments(spark).toArrow()).publish(tmp_path / "from a table")
    monkeypatch.setattr(driver_memory, "MANY", 100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SashWarning)
        features(payments(spark)).publish(tmp_path / "from Spark")
    with sash.online(tmp_path / "from a table") as table, sash.online(tmp_path / "from Spark") as same:
        for at in (970, 998, 999, 1_020):
            assert same.get([0, 1, 2, 3], at=at) == table.get([0, 1, 2, 3], at=at)


def test_publish_is_warned_of_in_its_own_words(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_memory, "MANY", 10_000)
    with pytest.warns(SashWarning, match=r"^publish\(\) has brought .*; filter the DataFrame") as warned:
        features(payments(spark)).publish(tmp_path / "features")
    assert len(warned) == 1
