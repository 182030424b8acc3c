"""`sash why`, through typer's runner and once as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from sash.cli.main import app
from sash.errors import UnknownEngine

ROWS = [
    {"ts": "2026-01-05 10:00:30", "who": "a", "x": 1},
    {"ts": "2026-01-05 10:01:00", "who": "b", "x": 2},
    {"ts": "2026-01-05 10:03:20", "who": "a", "x": 3},
    {"ts": "2026-01-05 10:05:02", "who": "b", "x": 5},
]
ARGUMENTS = ["--time", "ts", "--key", "who=a", "--at", "2026-01-05 10:03:20", "--delay", "10 seconds"]
WAITS = "closes when an event of any key after 10:05:02 arrives: watermark 10:04:52, delay 10 s"


@pytest.fixture
def table() -> pa.Table:
    rows = pa.Table.from_pylist(ROWS)
    return rows.set_column(0, "ts", rows["ts"].cast(pa.timestamp("us")))


@pytest.fixture
def recorded(tmp_path: Path, table: pa.Table) -> Path:
    pa.parquet.write_table(table, tmp_path / "events.parquet")
    pa.csv.write_csv(table, tmp_path / "events.csv")
    (tmp_path / "events.json").write_text(json.dumps(ROWS))
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    return tmp_path


@pytest.mark.parametrize("name", ["events.parquet", "events.csv", "events.json", "events.jsonl"])
def test_a_file_of_events_is_asked_about_a_window(recorded: Path, name: str) -> None:
    answer = CliRunner().invoke(
        app, ["why", str(recorded / name), *ARGUMENTS, "--window", "session 92 seconds"]
    )
    assert answer.exit_code == 0, answer.output
    assert WAITS in answer.output
    assert "coral8" not in answer.output, "engines are named when somebody wants to know"


def test_the_answers_of_all_engines_can_be_compared(recorded: Path) -> None:
    command = ["why", str(recorded / "events.csv"), *ARGUMENTS, "--window", "rows 2", "--engine", "all"]
    assert "coral8" in CliRunner().invoke(app, command).output


def test_the_answer_can_be_data(recorded: Path) -> None:
    arguments = [
        "--window",
        "tumbling 5 minutes",
        "--window",
        "rows 2 as pairs",
        "--engine",
        "flink",
        "--json",
    ]
    answer = CliRunner().invoke(app, ["why", str(recorded / "events.csv"), *ARGUMENTS, *arguments])
    (event,) = json.loads(answer.stdout)["events"]
    assert [window["window"] for window in event["windows"]] == ["time(5 minutes, 5 minutes)", "pairs"]
    assert [engine["engine"] for engine in event["windows"][0]["engines"]] == ["flink"]
    assert event["windows"][0]["held"][0]["state"] == "waits"


def test_a_whole_input_is_closed_by_its_end(recorded: Path) -> None:
    arguments = [str(recorded / "events.csv"), *ARGUMENTS, "--window", "tumbling 5 minutes", "--at-once"]
    assert "reported when the input ended" in CliRunner().invoke(app, ["why", *arguments]).output


def test_integer_times_are_asked_for_as_integers(tmp_path: Path) -> None:
    (tmp_path / "ticks.csv").write_text("t\n1\n2\n9\n")
    arguments = ["why", str(tmp_path / "ticks.csv"), "--time", "t", "--at", "2", "--window", "tumbling 5"]
    assert "reported when event 3 arrived (watermark 9)" in CliRunner().invoke(app, arguments).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["events.txt", *ARGUMENTS, "--window", "rows 2"], "file must be one that ends in .parquet"),
        (["absent.csv", *ARGUMENTS, "--window", "rows 2"], "file must be a file that exists"),
        (["broken.parquet", *ARGUMENTS, "--window", "rows 2"], "file must be well-formed parquet"),
        (["broken.json", *ARGUMENTS, "--window", "rows 2"], "file must be well-formed json"),
        (["events.csv", *ARGUMENTS, "--window", "slidng 1 hour"], "Did you mean 'sliding <duration>"),
        (["events.csv", *ARGUMENTS, "--window", "tumbling 5"], "delay must be in the same unit as windows"),
        (["events.csv", *ARGUMENTS, "--window", "rows 2", "--key", "whom=a"], "Did you mean 'who'"),
        (["events.csv", *ARGUMENTS, "--window", "rows 2", "--key", "who"], "such as 'symbol=ACME'"),
        (
            ["events.csv", *ARGUMENTS, "--window", "rows 2", "--key", "x=one"],
            "a value of x, which is int64",
        ),
        (["events.csv", *ARGUMENTS, "--window", "rows 2", "--as-of", "99"], "from 1 to 4"),
        (["events.csv", *ARGUMENTS, "--window", "rows 2", "--engine", "flnk"], "Did you mean 'flink'"),
        (["events.csv", *ARGUMENTS, "--window", "rows 2", "--time", "who"], "a column of timestamps"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(
    recorded: Path, arguments: list[str], message: str
) -> None:
    (recorded / "broken.parquet").write_text("not parquet")
    (recorded / "broken.json").write_text("[1, 2]")
    answer = CliRunner().invoke(app, ["why", str(recorded / arguments[0]), *arguments[1:]])
    assert answer.exit_code == 2
    assert message in answer.output
    assert answer.output.startswith("error: ")
    assert "Traceback" not in answer.output


def test_debug_shows_where_an_error_arose(recorded: Path) -> None:
    arguments = [str(recorded / "events.csv"), *ARGUMENTS, "--window", "rows 2", "--engine", "flnk"]
    answer = CliRunner().invoke(app, ["--debug", "why", *arguments])
    assert isinstance(answer.exception, UnknownEngine)


def test_the_command_answers_as_a_process_of_its_own(recorded: Path) -> None:
    command = [sys.executable, "-m", "sash", "why", str(recorded / "events.csv"), *ARGUMENTS, "--window"]
    printed = subprocess.run([*command, "session 92 s"], capture_output=True, text=True, check=True)
    assert WAITS in printed.stdout
    refused = subprocess.run([*command, "session"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert refused.stderr == "error: window must be 'session <duration>'; got 'session'. It lacks a size.\n"
