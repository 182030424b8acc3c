"""`sash secret`: profiles, simulate, draw and table."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from sash.cli.main import app
from sash.engines.probe import probe
from sash.semantics.secret import PROFILES


def run_secret(*arguments: str, code: int = 0) -> str:
    answer = CliRunner().invoke(app, ["secret", *arguments])
    assert answer.exit_code == code, answer.output
    return answer.output


def test_profiles_lists_every_engine_with_its_parameters() -> None:
    lines = run_secret("profiles").splitlines()
    assert [line.split()[0] for line in lines] == list(PROFILES)
    assert all(str(profile) in line for line, profile in zip(lines, PROFILES.values(), strict=True))


def test_simulate_prints_one_report_a_line() -> None:
    assert run_secret("simulate", "flink", "--times", "10..14", "--size", "3", "--slide", "3") == (
        "time 11, when t3 arrives: t1 t2\n"
    )
    assert run_secret("simulate", "flink", "--times", "10", "--size", "3", "--slide", "3") == "no reports\n"


def test_draw_prints_text_or_writes_a_file(tmp_path: Path) -> None:
    arguments = ["draw", "flink", "storm", "--times", "10..19", "--size", "3", "--slide", "3"]
    assert "▲" in run_secret(*arguments)
    file = tmp_path / "picture.svg"
    run_secret(*arguments, "--window", "session 2", "--out", str(file))
    assert "session(2)" in "".join(ElementTree.parse(file).getroot().itertext())


def test_the_table_that_comes_along_is_read_by_this_version() -> None:
    shown = run_secret("table")
    assert "measured" in shown
    assert set(PROFILES) <= set(shown.split())


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_the_table_has_every_profile_and_every_measured_engine(tmp_path: Path, form: str) -> None:
    results = tmp_path / "results.json"
    results.write_text(json.dumps({"engines": [probe(PROFILES["storm"], runs=2).to_json()]}))
    shown = run_secret("table", "--format", form, "--results", str(results)).replace("\\", "")
    for name in PROFILES:
        assert name in shown
    assert "measured" in shown
    assert "2 of 2 fresh random runs reproduced" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "flnk", "--times", "1", "--size", "1", "--slide", "1"], "Did you mean 'flink'"),
        (["simulate", "flink", "--times", "x", "--size", "1", "--slide", "1"], "such as '10 11 12'"),
        (["simulate", "flink", "--times", "1", "--size", "0", "--slide", "1"], "size must be"),
        (["draw", "flink", "--times", "3 2", "--size", "1", "--slide", "1"], "times never decrease"),
        (
            ["draw", "all", "--times", "1", "--size", "1", "--slide", "1", "--kind", "x"],
            "'time' or 'count'",
        ),
        (["draw", "all", "--times", "1", "--size", "1", "--slide", "1", "--out", "/no/x.svg"], "written"),
        (["table", "--results", "/no/results.json"], "results must be a file that can be read"),
        (["table", "--format", "pdf"], "'pdf' is not one of"),
    ],
)
def test_bad_input_is_refused_with_exit_code_two(arguments: list[str], message: str) -> None:
    shown = run_secret(*arguments, code=2)
    assert message in shown
    assert "Traceback" not in shown
