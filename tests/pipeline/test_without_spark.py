"""`sash check` and `sash explain` of parquet files that are here: without Spark, and as with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sash.cli.commands import pipelines
from tests.pipeline.pipeline_files import refused, run_command, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = pa.table(
    {"ts": pa.array([0, 5_000_000], pa.timestamp("us", "UTC")), "who": ["a", "b"], "x": pa.array([1, 2])}
)
VARIANTS = [
    (),
    (('delay = "5 seconds"', 'delay = "5 seconds"\nidle = "1 minute"'),),
    (('path = "events"', 'path = "events"\nschema = "ts timestamp, who string, x bigint, y double"'),),
    (('total = "sum(x)"', 'top = "quantile(x, 0.5)"'),),
    (("windows = [", 'semantics = "spark_structured"\nwindows = ['), ('    "rows 3 as three",\n', "")),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events").mkdir()
    pq.write_table(EVENTS, tmp_path / "events" / "0.parquet")
    (tmp_path / "events" / "_SUCCESS").touch()
    return tmp_path


def test_no_jvm_is_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def started(**_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(pipelines, "spark_session", started)
    file = written(folder)
    assert "nothing is wrong; it would write parquet reports" in run_command("check", file).output
    assert "values   n = count(), total = sum(x)" in run_command("explain", file).output
    assert "there is no column 'y'" in refused("check", written(folder, ("sum(x)", "sum(y)")))


def test_all_columns_that_are_not_there_are_found_at_once(folder: Path) -> None:
    changes = (
        ('time = "ts"', 'time = "tss"'),
        ('key = "who"', 'key = "whom"'),
        ("sum(x)", "sum(xx, where='y > 1')"),
    )
    output = run_command("check", written(folder, *changes)).output
    assert [line.partition("line ")[2][:2] for line in output.splitlines()] == ["6:", "7:", "18"]
    assert output.count("Did you mean") == 3


@pytest.mark.spark
@pytest.mark.parametrize("changes", VARIANTS)
def test_differential_both_are_as_with_spark(
    folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, changes: tuple[tuple[str, str], ...]
) -> None:
    file = written(folder, *changes)
    commands = (
        ("check", file),
        ("explain", file),
        ("explain", file, "--plan"),
        ("explain", file, "--json"),
    )
    without = [run_command(*command).output for command in commands]
    monkeypatch.setattr(pipelines, "declared", lambda pipeline: None)
    assert without == [run_command(*command).output for command in commands]
    assert json.loads(without[-1])["stages"]


@pytest.mark.parametrize(
    "change",
    [
        ('path = "events"', 'path = "events"\nselect = "*"'),
        ('path = "events"', 'path = "events/*"'),
        ('path = "events"', 'path = "events"\nschema = "x decimal(10, 2)"'),
        ('checkpoint = "checkpoint"', 'mode = "batch"'),
        ("[run]", '[spark]\n"spark.sql.shuffle.partitions" = "7"\n\n[run]'),
    ],
)
def test_what_only_spark_knows_is_left_to_spark(folder: Path, change: tuple[str, str]) -> None:
    from sash.pipeline import read
    from sash.pipeline.sources import declared

    assert declared(read(written(folder, change))) is None


def test_a_folder_with_columns_in_its_paths_is_left_to_spark(folder: Path) -> None:
    from sash.pipeline import read
    from sash.pipeline.sources import declared

    file = written(folder)
    assert declared(read(file)) is not None
    (folder / "events" / "day=1").mkdir()
    assert declared(read(file)) is None


def test_the_command_itself_is_imported_without_numba_and_pyspark() -> None:
    loaded = "import sys, sash.cli.main; print({'numba', 'pyspark', 'pandas'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
