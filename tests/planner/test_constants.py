"""The constants of the cost model: defaults, and what a calibration keeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from sash.planner.costs.calibration import calibrated
from sash.planner.costs.constants import DEFAULTS, FILE, ProcessCosts, costs, keep


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    costs.cache_clear()
    yield tmp_path
    costs.cache_clear()


def test_without_a_calibration_plans_depend_on_the_defaults_alone(fresh: Path) -> None:
    assert costs() is DEFAULTS
    assert not costs().measured


def test_what_was_measured_is_kept_for_later_processes(fresh: Path) -> None:
    measured = replace(ProcessCosts(), combine=0.25)
    assert keep(measured) == fresh / FILE
    assert costs().process == measured
    assert costs().measured
    assert costs().spark == DEFAULTS.spark


@pytest.mark.parametrize(
    "content",
    ["", "not json", "[]", "{}", json.dumps(asdict(ProcessCosts()) | {"combine": -1}),
     json.dumps(asdict(ProcessCosts()) | {"combine": "fast"}), json.dumps({"combine": 1.0})],
)  # fmt: skip
def test_a_damaged_file_is_like_none(fresh: Path, content: str) -> None:
    (fresh / FILE).write_text(content)
    assert costs() is DEFAULTS


def test_a_calibration_measures_positive_costs_that_relate_as_they_must() -> None:
    measured = calibrated(ProcessCosts())
    assert all(cost > 0 for cost in asdict(measured).values())
    # A call of Python costs far more than a combine of machine code, and the definition more than columns.
    assert measured.interpreted > 20 * measured.combine
    assert measured.definition > 5 * measured.arrange
    assert measured.function == ProcessCosts().function


def test_the_command_line_calibrates_and_says_where_the_numbers_are(fresh: Path) -> None:
    command = [sys.executable, "-m", "sash", "calibrate"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"SASH_CACHE_DIR": str(fresh)}
    )
    assert "combine" in done.stdout
    assert FILE in done.stdout.replace("\n", "")
    assert costs().measured
