"""Killed and started again: what a reader of two sinks sees, with a stand-in that dies on demand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sash.engines import crash_recovery
from sash.engines.crash_recovery import after_a_failure
from sash.engines.findings import Finding

SCRIPT = """
import os, pathlib, signal, sys
out = pathlib.Path(sys.argv[1]) / "out"
first = not out.exists()
with out.open("a") as file:
    if first or sys.argv[2] == "plain":
        file.write("[0, 1]\\n")
    if not first:
        file.write("[2, 3]\\n")
if first:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Finding:
    (tmp_path / "crash_bytewax.py").write_text(script)
    monkeypatch.setattr(crash_recovery, "DRIVERS", tmp_path)
    monkeypatch.setattr(crash_recovery, "python_of", lambda name: Path(sys.executable))
    return after_a_failure("bytewax", [(0, 1), (2, 3), (4, 5)])


def test_duplicates_and_losses_are_counted_for_each_sink(tmp_path, monkeypatch):
    found = measured(tmp_path, monkeypatch, SCRIPT)
    assert found.value == "file sink: no duplicates, 1 lost, plain sink: 1 duplicates, 1 lost"
    assert [one.seen for one in found.evidence] == ["t1t2 t3t4", "t1t2 t1t2 t3t4"]


def test_a_script_that_does_not_die_as_it_should_is_told(tmp_path, monkeypatch):
    found = measured(tmp_path, monkeypatch, "raise SystemExit('no room left')")
    assert found.value is None
    assert "crash_bytewax.py ended with 1, not -9: ['no room left']" in found.remark


@pytest.mark.parametrize("name", ["beam", "pyflink", "sash"])
def test_engines_that_cannot_recover_here_say_why_they_are_not_measured(name):
    found = after_a_failure(name, [])
    assert (found.value, found.remark) == (None, f"not measured: {crash_recovery.UNMEASURED[name]}")
