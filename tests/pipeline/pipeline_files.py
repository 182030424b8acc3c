"""Pipeline files for tests: one that is right, and how to change a few words of it."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from sash.cli.main import app

PIPELINE = """\
[source]
format = "parquet"
path = "events"

[stream]
time = "ts"
key = "who"
delay = "5 seconds"

[query]
windows = [
    "tumbling 10 seconds as ten",
    "rows 3 as three",
]

[aggregates]
n = "count()"
total = "sum(x)"

[sink]
format = "parquet"
path = "reports"

[run]
checkpoint = "checkpoint"
"""

SEVERAL = """\
[source]
format = "parquet"
path = "events"

[stream]
time = "ts"
key = "who"
delay = "5 seconds"

[[query]]
name = "bars"
windows = "tumbling 10 seconds"

[query.aggregates]
n = "count()"
total = "sum(x)"

[query.sink]
format = "parquet"
path = "bars"

[query.late]
format = "parquet"
path = "late"

[[query]]  # the second
name = "features"
key = ["who", "where"]
delay = "1 minute"
rolling = "1 hour"

[query.aggregates]
mean = "mean(x)"

[query.sink]
format = "parquet"
path = "features"

[run]
checkpoint = "checkpoint"
"""


def written(folder: Path, *changes: tuple[str, str], text: str = PIPELINE) -> Path:
    """The file, after each change from words that stand in it once to others."""
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    file = folder / "pipeline.toml"
    file.write_text(text)
    return file


def run_command(command: str, file: Path, *options: str) -> Result:
    return CliRunner().invoke(app, [command, str(file), *options])


def refused(command: str, file: Path) -> str:
    """The one sentence that a command ends with."""
    answer = run_command(command, file)
    assert answer.exit_code == 2, answer.output
    lines = answer.output.splitlines()
    assert lines[-1].startswith("error: "), answer.output
    assert "Traceback" not in answer.output
    return lines[-1].removeprefix("error: ")
