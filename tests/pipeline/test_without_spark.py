"""`sash check` and `sash explain` of files that are here: without Spark, and as with it."""

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
from tests.pipeline.pipeline_files import PIPELINE, SEVERAL, refused, run_command, written

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
    (('path = "events"', 'path = "events"\noptions = { maxFilesPerTrigger = 1 }'),),
]
SCHEMA = 'path = "{}"\nschema = "ts timestamp, who string, where string, x bigint"'
CSV = (
    (
        'format = "parquet"\npath = "events"',
        f'format = "csv"\noptions = {{ sep = ";" }}\n{SCHEMA.format("rows")}',
    ),
)
JSON = (('format = "parquet"\npath = "events"', f'format = "json"\n{SCHEMA.format("rows/0")}'),)
BATCH = (('checkpoint = "checkpoint"', 'mode = "batch"'),)
ONE_PANE = (('    "rows 3 as three",\n', ""),)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events").mkdir()
    pq.write_table(EVENTS, tmp_path / "events" / "0.parquet")
    (tmp_path / "events" / "_SUCCESS").touch()
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "0").touch()
    return tmp_path


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(**_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(pipelines, "spark_session", started)


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("changes", [(), CSV, JSON])
def test_no_jvm_is_started(folder: Path, changes: tuple[tuple[str, str], ...]) -> None:
    file = written(folder, *changes)
    assert "nothing is wrong; it would write parquet reports" in run_command("check", file).output
    assert "values   n = count(), total = sum(x)" in run_command("explain", file).output
    short = run_command("explain", written(folder, *changes, *ONE_PANE)).stdout
    assert len(short.splitlines()) <= 10, short
    assert "there is no column 'y'" in refused("check", written(folder, *changes, ("sum(x)", "sum(y)")))


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("changes", [CSV, JSON])
def test_a_batch_with_a_schema_is_checked_without_a_jvm(
    folder: Path, changes: tuple[tuple[str, str], ...]
) -> None:
    assert "nothing is wrong" in run_command("check", written(folder, *changes, *BATCH)).output
    wrong = written(folder, *changes, *BATCH, ("sum(x)", "sum(y)"))
    assert "there is no column 'y'" in refused("check", wrong)


@pytest.mark.usefixtures("no_spark")
def test_several_queries_need_no_jvm(folder: Path) -> None:
    file = written(folder, *CSV, text=SEVERAL)
    assert "features: parquet features with the columns" in run_command("check", file).output
    assert "read the stream once" in run_command("explain", file).output


def test_a_start_of_spark_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sash.cli import spark_session as module

    class Session:
        def stop(self) -> None:
            """There is nothing to stop."""

    monkeypatch.setattr("sash.runtimes.spark.compat.existing_session", lambda: None)
    monkeypatch.setattr("sash.spark_session", lambda **_: Session())
    with module.spark_session(app="test", debug=True, announced=True):
        assert capsys.readouterr() == ("", "starting Spark, a few seconds …\n")
    monkeypatch.setattr("sash.runtimes.spark.compat.existing_session", Session)
    with module.spark_session(app="test", debug=True, announced=True):
        assert capsys.readouterr() == ("", "")


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
@pytest.mark.parametrize("changes", [*VARIANTS, CSV, (*CSV, *ONE_PANE), JSON])
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


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (PIPELINE, (*CSV, *BATCH)),
        (PIPELINE, (*JSON, *BATCH)),
        (PIPELINE, (*CSV, *BATCH, ('key = "who"', 'key = "whom"'))),
        (PIPELINE, (*CSV, *BATCH, ('delay = "5 seconds"', 'delay = "5 seconds"\nidle = "1 minute"'))),
        (PIPELINE, (*CSV, ('total = "sum(x)"', 'total = "sum(who)"'))),
        (PIPELINE, (*CSV, ('time = "ts"', 'time = "who"'))),
        (SEVERAL, CSV),
    ],
)
def test_differential_checks_are_as_with_spark(
    folder: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    changes: tuple[tuple[str, str], ...],
) -> None:
    file = written(folder, *changes, text=text)
    commands = [command for command in ("check", "explain") if command == "check" or text is SEVERAL]
    without = [run_command(command, file).output for command in commands]
    monkeypatch.setattr(pipelines, "declared", lambda pipeline: None)
    assert without == [run_command(command, file).output for command in commands]


@pytest.mark.parametrize(
    "change",
    [
        ('path = "events"', 'path = "events"\nselect = "*"'),
        ('path = "events"', 'path = "events/*"'),
        ('path = "events"', 'path = "events"\nschema = "x decimal(10, 2)"'),
        *BATCH,  # of parquet files without a schema
        ('path = "events"', 'path = "events"\noptions = { recursiveFileLookup = true }'),
        (CSV[0][0], CSV[0][1].replace("x bigint", "x array<bigint>")),
        (CSV[0][0], CSV[0][1].replace("x bigint", "Who bigint")),
        ('format = "parquet"\npath = "events"', 'format = "csv"\npath = "rows"'),
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


def test_a_second_batch_run_is_refused_before_spark_starts(folder: Path, no_spark: None) -> None:
    (folder / "reports").mkdir()
    message = refused("run", written(folder, *BATCH))
    assert "path has output already: reports. To replace it, write overwrite = true in [sink]" in message
    assert "line " in message


def test_a_list_in_a_csv_file_is_refused_by_check(folder: Path, no_spark: None) -> None:
    message = refused(
        "check",
        written(
            folder,
            ('total = "sum(x)"', 'shops = "last(who, 3)"'),
            ('"parquet"\npath = "reports"', '"csv"\npath = "reports"'),
        ),
    )
    assert "format must not be csv: it cannot hold the column 'shops', which is list<" in message


@pytest.mark.parametrize("text", ["max(prcie)", "sum(x, where='prcie > 100')", "last(prcie, 3)"])
def test_an_error_about_an_aggregate_has_the_text_of_the_file(
    folder: Path, no_spark: None, text: str
) -> None:
    message = refused("check", written(folder, ('total = "sum(x)"', f'total = "{text}"')))
    assert f"total = {text!r}: there is no column 'prcie'" in message


def test_a_type_that_is_none_is_named_with_its_column(folder: Path, no_spark: None) -> None:
    other = ('path = "events"', 'path = "events"\nschema = "ts timestamp, who string, x lang"')
    message = refused("check", written(folder, other))
    assert "schema: the column 'x' has the type 'lang', which is none. Did you mean 'long'?" in message


_OF_CSV = (
    'format = "csv"\noptions = { sep = ";" }\npath = "rows"\nschema = "ts timestamp, who string, x bigint"'
)


@pytest.mark.parametrize("header", ["ts;who;where;x", "ts;x;who", '"ts";who', "\nts;who;x;y"])
@pytest.mark.parametrize("more", [(), BATCH])
def test_a_schema_that_a_csv_header_contradicts_is_refused(
    folder: Path, no_spark: None, header: str, more: tuple[tuple[str, str], ...]
) -> None:
    (folder / "rows" / "1.csv").write_text(f"{header}\n2026-01-05 10:00:00;a;b;1\n")
    message = refused("check", written(folder, (CSV[0][0], _OF_CSV), *more))
    names = header.strip().replace('"', "").replace(";", ", ")
    assert f"schema must have the columns of the files in their order, {names} (the header of" in message
    assert "it has ts, who, x. To use it by position" in message
    assert "line 5" in message


@pytest.mark.parametrize(
    ("header", "options"),
    [
        ("ts;Who;x", 'sep = ";"'),
        ("# by hand\nts;who;x", 'sep = ";", comment = "#"'),
        ("2026-01-05 10:00:00;b;2", 'sep = ";", header = false'),
        ("when;whose;value", 'sep = ";", enforceSchema = true'),
        ("ts\twho\tx", "sep = '\\t'"),
        ("ts||who||x", 'sep = "||"'),
    ],
)
def test_a_schema_that_fits_or_is_meant_by_position_is_used(
    folder: Path, no_spark: None, header: str, options: str
) -> None:
    (folder / "rows" / "1.csv").write_text(f"{header}\n")
    file = written(folder, (CSV[0][0], _OF_CSV.replace('sep = ";"', options)))
    assert "nothing is wrong" in run_command("check", file).output


@pytest.mark.spark
def test_a_later_file_with_another_header_ends_the_run(folder: Path, spark: SparkSession) -> None:
    for number, header in enumerate(("ts;who;x", "ts;x;who")):
        (folder / "rows" / f"{number}.csv").write_text(f"{header}\n2026-01-05 10:00:00;1;2\n")
    answer = run_command("run", written(folder, (CSV[0][0], _OF_CSV), *BATCH))
    assert answer.exit_code == 2, answer.output
    (line,) = [line for line in answer.output.splitlines() if line.startswith("error: ")]
    assert "must be those of the schema, in their order; those that are read are ts, x, who in the" in line
    assert "/rows/1.csv, and ts, who, x in the schema" in line
