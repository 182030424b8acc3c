"""`.ci/run` fails with the first of its targets that does, and ends with what could not be run here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.skips import skip_and_note
from tools.not_run_here import note

RUN = Path(__file__).parents[2] / ".ci" / "run"
TARGETS = ["check", "audit", "test", "test-spark-quick", "docs"]


def run(home: Path, make: str) -> subprocess.CompletedProcess[str]:
    """In an empty clone, with a `make` of its own, whose target is $1."""
    place, programs = home / ".ci" / "run", home / "bin"
    place.parent.mkdir()
    programs.mkdir()
    shutil.copy(RUN, place)
    program = programs / "make"
    program.write_text(f'#!/bin/sh\necho "$1" >> "{home}/targets"\n{make}\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run([place], env=environment, capture_output=True, text=True, check=False)


def test_it_makes_every_target_and_prints_nothing_where_all_was_run(tmp_path: Path) -> None:
    ran = run(tmp_path, "exit 0")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (tmp_path / "targets").read_text().split() == TARGETS


def test_what_was_not_run_is_in_its_last_lines_once_each(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "not-run-here").write_text("of the run before\n")
    ran = run(
        tmp_path, 'echo "making $1"; echo "no compiler" >> "$NOT_RUN_HERE"; echo "a" >> "$NOT_RUN_HERE"'
    )
    assert ran.returncode == 0
    assert ran.stdout.splitlines()[-3:] == ["making docs", "not run here: a", "not run here: no compiler"]


@pytest.mark.parametrize("target", TARGETS)
def test_it_fails_where_a_target_fails_whatever_was_not_run(tmp_path: Path, target: str) -> None:
    ran = run(tmp_path, f'echo "no compiler" >> "$NOT_RUN_HERE"; test "$1" != {target}')
    assert ran.returncode != 0
    assert (tmp_path / "targets").read_text().split() == TARGETS[: TARGETS.index(target) + 1]


def test_a_list_that_cannot_be_read_fails_nothing(tmp_path: Path) -> None:
    ran = run(tmp_path, 'rm -rf "$NOT_RUN_HERE"; mkdir -p "$NOT_RUN_HERE/folder"')
    assert ran.returncode == 0


def test_nothing_is_noted_where_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOT_RUN_HERE", raising=False)
    note("a check")
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("NOT_RUN_HERE", "list")
    note("a check")
    note("another")
    assert (tmp_path / "list").read_text() == "a check\nanother\n"


def test_a_test_that_lacks_something_is_skipped_and_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOT_RUN_HERE", str(tmp_path / "list"))
    with pytest.raises(pytest.skip.Exception, match="clocks: no compiler"):
        skip_and_note("clocks: no compiler")
    assert (tmp_path / "list").read_text() == "clocks: no compiler\n"
