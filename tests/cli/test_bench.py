"""`sash bench`: the comparison that needs no repository, and the way to the benchmarks of one."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sash.cli.commands import bench
from sash.cli.commands.bench_comparison import WIDTHS, compare
from sash.cli.main import app


def test_differential_rolling_features_are_those_of_numpy_at_every_width() -> None:
    measured = compare(events=12_000)
    assert [one.width for one in measured] == list(WIDTHS)
    assert all(one.incremental > 0 and one.scratch > 0 for one in measured)


def test_the_built_in_comparison_is_one_table() -> None:
    answer = CliRunner().invoke(app, ["bench", "--built-in", "--quick"])
    assert answer.exit_code == 0, answer.output
    assert "times faster" in answer.output
    assert "Both gave the same answers" in answer.output


def test_the_benchmarks_of_the_repository_are_run_where_they_are(capfd: pytest.CaptureFixture[str]) -> None:
    assert CliRunner().invoke(app, ["bench", "--list"]).exit_code == 0
    assert "rolling" in capfd.readouterr().out
    assert CliRunner().invoke(app, ["bench", "no-such-benchmark"]).exit_code == 2


def test_without_the_repository_a_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "REPOSITORY", tmp_path)
    answer = CliRunner().invoke(app, ["bench", "rolling"])
    assert answer.exit_code == 2
    assert "error: names must be left out" in answer.output
