"""`sash run`, `explain` and `check` on Spark: what is written, resumed and refused."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sash
from sash.cli.main import app
from sash.runtimes.spark.sinks import usable
from tests.cli.interrupting import interrupted_when
from tests.pipeline.pipeline_files import PIPELINE, SEVERAL, refused, run_command, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

START = 1_767_609_000
"""In seconds: 2026-01-05 10:30 UTC, a multiple of ten."""


def events(seconds: list[float], *, first: int = 0) -> pa.Table:
    """Two keys in turn, and a number for each event."""
    return pa.table(
        {
            "ts": pa.array([int(1e6 * (START + second)) for second in seconds], pa.timestamp("us", "UTC")),
            "who": ["ab"[number % 2] for number in range(len(seconds))],
            "x": list(range(first, first + len(seconds))),
        }
    )


FIRST, SECOND = events([0, 1, 2, 9, 12, 14, 26, 27]), events([28, 29, 31, 44, 45, 5, 58], first=100)
TOO_LATE = 105
"""The x of the event at 5 seconds: the watermark of the first run is at 22."""


def put(folder: Path, name: str, table: pa.Table) -> None:
    (folder / "events").mkdir(exist_ok=True)
    pq.write_table(table, folder / "events" / name)


def rows_of(folder: Path, spark: SparkSession) -> list[dict[str, Any]]:
    """What Spark finds in the parquet files that a stream has finished, without an order."""
    return sorted(spark.read.parquet(str(folder)).drop("batch").toArrow().to_pylist(), key=repr)


def windows_of(table: pa.Table) -> list[dict[str, Any]]:
    """What the pipeline reports of a stream that has come so far: its end closes nothing."""
    query = (
        sash.stream(table, time="ts", key="who", delay="5 seconds")
        .window(sash.tumbling("10 seconds").named("ten"), sash.rows(3).named("three"), flush=False)
        .agg(n=sash.count(), total=sash.sum("x"))
    )
    return sorted(query.collect().to_pylist(), key=repr)


LATE = ("[run]", '[late]\nformat = "parquet"\npath = "late"\n\n[run]')


def test_differential_a_run_goes_on_from_its_checkpoint_and_writes_nothing_twice(
    tmp_path: Path, spark: SparkSession
) -> None:
    """
    seconds      0         10        20        30        40        50
    first run    0 1 2  9  │ 12 14   │  26 27                            watermark 22
    second run       5!    │         │  28 29  │ 31    │ 44 45   │ 58    watermark 53; 5 is late
    """
    file = written(tmp_path)
    put(tmp_path, "0.parquet", FIRST)
    answer = run_command("run", file)
    assert answer.exit_code == 0, answer.output
    assert "8 events" in answer.output
    assert "done; run it again to continue from checkpoint" in answer.output
    before = rows_of(tmp_path / "reports", spark)
    assert before == windows_of(FIRST)

    put(tmp_path, "1.parquet", SECOND)
    answer = run_command("run", file)
    assert "7 events" in answer.output
    assert "1 late" in answer.output
    on_time = SECOND.filter(pa.compute.not_equal(SECOND["x"], TOO_LATE))
    after = rows_of(tmp_path / "reports", spark)
    assert after == windows_of(pa.concat_tables([FIRST, on_time]))
    assert [row for row in before if row not in after] == []

    assert "0 events" in run_command("run", file).output
    assert rows_of(tmp_path / "reports", spark) == after

    other = written(tmp_path, ("tumbling 10 seconds", "tumbling 20 seconds"))
    put(tmp_path, "2.parquet", events([60]))
    assert "this checkpoint was made by a different query: windows.ten" in refused("run", other)


def bars_of(table: pa.Table) -> list[dict[str, Any]]:
    """The query `bars` of several, over a stream that has come so far."""
    stream = sash.stream(table, time="ts", key="who", delay="5 seconds")
    query = stream.window(sash.tumbling("10 seconds"), flush=False)
    return sorted(query.agg(n=sash.count(), total=sash.sum("x")).collect().to_pylist(), key=repr)


def features_of(table: pa.Table, until: float) -> list[dict[str, Any]]:
    """The same of `features`, whose rows are final once the watermark has passed them."""
    query = sash.stream(table, time="ts", key=["who", "where"]).rolling("1 hour").agg(mean=sash.mean("x"))
    final = [row for row in query.collect().to_pylist() if row["ts"].timestamp() - START < until]
    return sorted(final, key=repr)


WHERE = ('path = "events"', 'path = "events"\nselect = ["*", "\'here\' AS where"]')


def test_differential_several_queries_of_a_file_run_in_one_pass_and_one_can_be_added(
    tmp_path: Path, spark: SparkSession
) -> None:
    """
    seconds      0         10        20        30        40        50
    first run    0 1 2  9  │ 12 14   │  26 27                            bars: up to 22
    second run       5!    │         │  28 29  │ 31    │ 44 45   │ 58    bars: up to 53; features: up to 57
    """
    file = tmp_path / "several.toml"
    both = SEVERAL.replace(*WHERE).replace('delay = "1 minute"', 'delay = "1 second"')
    alone = both[: both.index("[[query]]  # the second")] + both[both.index("[run]") :]
    file.write_text(alone)
    put(tmp_path, "0.parquet", FIRST)
    answer = run_command("run", file)
    assert answer.exit_code == 0, answer.output
    assert rows_of(tmp_path / "bars", spark) == bars_of(FIRST)

    file.write_text(both)
    put(tmp_path, "1.parquet", SECOND)
    assert "features: parquet features with the columns" in run_command("check", file).output
    explained = run_command("explain", file).output
    assert "buckets of (who, where): features" in explained
    assert "features, as it would be alone" in explained
    assert set(json.loads(run_command("explain", file, "--json").stdout)["queries"]) == {"bars", "features"}
    answer = run_command("run", file)
    assert answer.exit_code == 0, answer.output
    assert "several: 7 events in" in answer.output
    assert re.search(r"  bars: \d+ reports, 1 late", answer.output)
    on_time = SECOND.filter(pa.compute.not_equal(SECOND["x"], TOO_LATE))
    assert rows_of(tmp_path / "bars", spark) == bars_of(pa.concat_tables([FIRST, on_time]))
    assert [row["x"] for row in rows_of(tmp_path / "late", spark)] == [TOO_LATE]
    here = on_time.append_column("where", pa.array(["here"] * on_time.num_rows))
    assert rows_of(tmp_path / "features", spark) == features_of(here, until=57)

    answer = CliRunner().invoke(app, ["state", str(tmp_path / "checkpoint")])
    assert "in files, query bars" in answer.output
    assert "in files, query features" in answer.output


MORE = """
[[query]]
name = "latest"
delay = "0 seconds"
latest = ["10 seconds", "1 minute"]

[query.aggregates]
n = "count()"

[query.sink]
format = "parquet"
path = "latest"

[[query]]
name = "scored"
rolling = "10 seconds"
emit = "arrival"
online = "store"

[query.aggregates]
n = "count()"
total = "sum(x)"

[query.sink]
format = "parquet"
path = "scored"

[run]
"""


def test_latest_rows_and_rows_on_arrival_that_are_published_run_beside_windows(
    tmp_path: Path, spark: SparkSession
) -> None:
    file = tmp_path / "several.toml"
    file.write_text(
        SEVERAL[: SEVERAL.index("[[query]]  # the second")] + MORE + 'checkpoint = "checkpoint"'
    )
    put(tmp_path, "0.parquet", FIRST)
    assert "scored: parquet scored with the columns ts" in run_command("check", file).output
    assert not (tmp_path / "store").exists()
    for name, table in (("0.parquet", FIRST), ("1.parquet", SECOND)):
        put(tmp_path, name, table)
        answer = run_command("run", file)
        assert answer.exit_code == 0, answer.output
    on_time = SECOND.filter(pa.compute.not_equal(SECOND["x"], TOO_LATE))
    every = pa.concat_tables([FIRST, on_time])
    assert rows_of(tmp_path / "bars", spark) == bars_of(every)
    stream = sash.stream(every, time="ts", key="who")
    rolling = stream.rolling("10 seconds").agg(n=sash.count(), total=sash.sum("x")).collect()
    scored = spark.read.parquet(str(tmp_path / "scored")).orderBy("revision").toArrow().to_pylist()
    last = {row["x"]: row for row in scored}
    assert [last[row["x"]]["total_10_seconds"] for row in rolling.to_pylist()] == (
        rolling["total_10_seconds"].to_pylist()
    )
    with sash.online(tmp_path / "store") as online:
        served = online.get(rolling["who"].to_pylist(), at=rolling["ts"].to_pylist())
        assert served.to_pylist() == rolling.select(online.columns).to_pylist()
    rows = spark.read.parquet(str(tmp_path / "latest")).orderBy("updated_at").toArrow().to_pylist()
    newest = {row["who"]: (row["n_10_seconds"], row["n_1_minute"]) for row in rows}
    expected = stream.latest("10 seconds", "1 minute").agg(n=sash.count()).collect().to_pylist()
    assert newest == {row["who"]: (row["n_10_seconds"], row["n_1_minute"]) for row in expected}


def test_several_queries_of_a_static_source_are_written_one_after_the_other(
    tmp_path: Path, spark: SparkSession
) -> None:
    file = tmp_path / "several.toml"
    batch = SEVERAL.replace(*WHERE).replace('checkpoint = "checkpoint"', 'mode = "batch"')
    file.write_text(batch)
    put(tmp_path, "0.parquet", FIRST)
    answer = run_command("run", file)
    assert answer.exit_code == 0, answer.output
    assert "several_bars: done; parquet bars" in answer.output
    counts = [row["n"] for row in rows_of(tmp_path / "bars", spark)]
    assert sum(counts) == FIRST.num_rows
    here = FIRST.append_column("where", pa.array(["here"] * FIRST.num_rows))
    assert rows_of(tmp_path / "features", spark) == features_of(here, until=1e9)
    assert set(json.loads(run_command("explain", file, "--json").stdout)["queries"]) == {"bars", "features"}


def test_a_batch_run_takes_a_csv_file_whole_and_writes_flat_columns(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        ('"parquet"\npath = "events"', '"csv"\npath = "events"\nselect = ["ts", "who", "2 * x AS x"]'),
        ('"parquet"\npath = "reports"', '"csv"\npath = "reports"\noptions = { header = true }'),
        ('    "rows 3 as three",\n', ""),
        ('checkpoint = "checkpoint"', 'mode = "batch"'),
    )
    (tmp_path / "events").mkdir()
    pa_csv.write_csv(FIRST, tmp_path / "events" / "0.csv")
    assert run_command("run", file).exit_code == 0
    rows = [
        row for part in (tmp_path / "reports").glob("*.csv") for row in pa_csv.read_csv(part).to_pylist()
    ]
    assert {tuple(row) for row in rows} == {
        ("who", "window_id", "window_start", "window_end", "n", "total")
    }
    assert sum(row["n"] for row in rows) == FIRST.num_rows
    assert sum(row["total"] for row in rows) == 2 * sum(FIRST["x"].to_pylist())
    assert "path has output already: reports. To replace it, write overwrite = true in [sink]" in refused(
        "run", file
    )


def test_check_says_what_would_come_out_and_runs_nothing(tmp_path: Path) -> None:
    put(tmp_path, "0.parquet", FIRST)
    printed = run_command("check", written(tmp_path, LATE)).output
    assert "nothing is wrong; it would write parquet reports with the columns who string, window" in printed
    assert "total int64" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events", "pipeline.toml"]


def test_explain_prints_the_plan(tmp_path: Path) -> None:
    put(tmp_path, "0.parquet", FIRST)
    semantics = ("windows = [", 'semantics = "spark_structured"\nwindows = [')
    file = written(tmp_path, semantics, ('    "rows 3 as three",\n', ""))
    assert "read the files of each batch with pyarrow" in run_command("explain", file, "--plan").output
    assert "values   n = count(), total = sum(x)" in run_command("explain", file).output
    assert '"stages"' in run_command("explain", file, "--json").stdout


@pytest.mark.parametrize(
    ("before", "after", "blamed", "message"),
    [
        ('time = "ts"', 'time = "tss"', "time", "Did you mean 'ts'?"),
        ('time = "ts"', 'time = "who"', "time", "a timestamp or an integer column"),
        ('key = "who"', 'key = ["who", "whom"]', "key", "Did you mean 'who'?"),
        ('delay = "5 seconds"', "delay = 5", "delay", "in the same unit as windows"),
        ('"rows 3 as three"', '"delta y 5 every 2 as three"', '"delta', "there is no column"),
        ('total = "sum(x)"', 'total = "sum(y)"', "total", "there is no column 'y'. There are 'ts'"),
        ('total = "sum(x)"', 'total = "sum(who)"', "total", "sum"),
        ('total = "sum(x)"', 'who = "sum(x)"', "who = \"sum", "the output already has a column"),
        ('path = "events"', 'path = "evnts"', "path", "a folder that exists"),
        ('path = "events"', 'path = "events"\nschema = "x bigintt"', "schema", "Did you mean 'bigint'?"),
        ('path = "events"', 'path = "events"\nselect = "y"', "select", "`y` cannot be resolved"),
        ('path = "events"', 'path = "events"\noptions = { maxFiles = 1 }', "options", "'maxFileAge'?"),
    ],
)  # fmt: skip
def test_what_the_source_does_not_have_is_refused_at_its_line(
    tmp_path: Path, before: str, after: str, blamed: str, message: str
) -> None:
    put(tmp_path, "0.parquet", FIRST)
    file = written(tmp_path, (before, after))
    text = file.read_text()
    printed = refused("check", file)
    assert printed.startswith(f"{file}, line {text[: text.index(blamed)].count(chr(10)) + 1}: "), printed
    assert message in printed


@pytest.mark.parametrize(
    ("format_", "package"),
    [("kafka", "spark-sql-kafka"), ("delta", "delta-spark"), ("iceberg", "iceberg-spark-runtime")],
)
@pytest.mark.parametrize("end", ["events", "reports"])
def test_a_connector_that_is_missing_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, format_: str, package: str
) -> None:
    if format_ == "kafka":  # which the session of the tests has
        monkeypatch.setattr(usable, "knows_format", lambda spark, name: False)
    put(tmp_path, "0.parquet", FIRST)
    options = 'options = { kafka.bootstrap.servers = "x", topic = "y", subscribe = "y" }'
    place = options if format_ == "kafka" else f'path = "{end}"'
    printed = refused("run", written(tmp_path, (f'"parquet"\npath = "{end}"', f'"{format_}"\n{place}')))
    assert f"{format_} needs the package" in printed
    assert package in printed
    assert '"spark.jars.packages"' in printed


SOCKET = (
    '"parquet"\npath = "events"',
    '"socket"\nschema = "ts timestamp, who string, x bigint"\noptions = {{ host = "{0}", port = 9 }}',
)
EVERY_SECOND = ("[run]\n", '[run]\ntrigger = "processing_time 1 second"\n')


@pytest.mark.parametrize(
    ("host", "message"),
    [("127.0.0.1", "nothing listens at 127.0.0.1:9"), ("no.such.host.invalid", "no.such.host.invalid")],
)
def test_a_socket_that_refuses_is_one_sentence(tmp_path: Path, host: str, message: str) -> None:
    file = written(tmp_path, (SOCKET[0], SOCKET[1].format(host)), EVERY_SECOND)
    assert message in refused("run", file)


@contextmanager
def nothing_may_grow_beyond(size: int, spark: SparkSession) -> Iterator[None]:
    """What a full disk is to the JVM: files that cannot be written on."""
    jvm: Any = spark._jvm
    process = int(jvm.java.lang.ProcessHandle.current().pid())
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_one_sentence(tmp_path: Path, spark: SparkSession) -> None:
    many = 200_000
    times = pa.array(range(START * 10**6, (START + many) * 10**6, 10**6), pa.timestamp("us", "UTC"))
    put(tmp_path, "0.parquet", pa.table({"ts": times, "who": ["a"] * many, "x": range(many)}))
    file = written(
        tmp_path,
        (PIPELINE[PIPELINE.index("windows") : PIPELINE.index("[aggregates]")], 'rolling = "1 second"\n'),
    )
    with nothing_may_grow_beyond(50_000, spark):
        assert "the disk, or what may be written of it, is full" in refused("run", file)


def test_a_stream_without_an_end_is_stopped_by_an_interrupt(tmp_path: Path, spark: SparkSession) -> None:
    put(tmp_path, "0.parquet", FIRST)
    file = written(tmp_path, EVERY_SECOND)
    with interrupted_when((tmp_path / "checkpoint" / "commits" / "0").exists):
        answer = run_command("run", file)
    assert answer.exit_code == 0, answer.output
    assert "8 events" in answer.output
    assert "stopped; run it again to continue from checkpoint" in answer.output
    assert rows_of(tmp_path / "reports", spark) == windows_of(FIRST)


def test_a_run_in_memory_is_shown_at_its_end(tmp_path: Path) -> None:
    put(tmp_path, "0.parquet", FIRST)
    file = written(
        tmp_path,
        ('"parquet"\npath = "reports"', '"memory"'),
        ('checkpoint = "checkpoint"', 'name = "shown"'),
    )
    answer = run_command("run", file)
    assert "shown: 8 events" in answer.output
    assert answer.output.count("{ten,") == len([row for row in windows_of(FIRST) if "ten" in repr(row)])


def test_without_java_there_is_one_sentence(tmp_path: Path) -> None:
    put(tmp_path, "0.parquet", FIRST)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    command = [sys.executable, "-m", "sash", "run", str(written(tmp_path))]
    ended = subprocess.run(
        command, env=environment | {"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: Spark needs Java 17 or later and `java` was not found")
    assert ended.stderr.count("\n") == 1
