"""What the authors' simulator of SECRET has reported of random inputs, and `simulate`.

The recording has inputs (size, slide, times, batches) and, for each engine and kind of window, what was
reported of each: positions of events, or null where the simulator failed. Batches count from 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sash.semantics.secret import Axis, simulate
from tools import secret_runs
from tools.secret_runs import FAILED, ROUNDED, WAITS, artefact

RECORDED = json.loads(Path(__file__).with_name("recorded_simulator_runs.json").read_text())
CASES = [(kind, engine) for kind, engines in RECORDED["reports"].items() for engine in engines]


def recorded(kind: str, name: str) -> Iterator[tuple[list[Any], Any]]:
    return zip(RECORDED["inputs"], RECORDED["reports"][kind][name], strict=True)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_differential_the_simulator_of_the_authors_has_reported_the_same(kind: str, name: str) -> None:
    compared = 0
    for given, theirs in recorded(kind, name):
        size, slide, times, batches = given
        if not artefact(kind, name, given, theirs):
            ours = simulate(name, times, size, slide, kind=Axis(kind).value, batches=batches)
            assert ours == theirs, given
            compared += 1
    assert compared >= 60


def test_artefacts_of_the_simulator_concern_three_engines_only() -> None:
    found = {
        (kind, name, why)
        for kind, name in CASES
        for given, theirs in recorded(kind, name)
        if (why := artefact(kind, name, given, theirs))
    }
    assert found == {
        ("time", "streambase", FAILED),
        ("count", "oracle_cep", FAILED),
        ("count", "oracle_cep", WAITS),
        ("count", "oracle_cep", ROUNDED),
        ("count", "stream", WAITS),
    }


def test_the_comparison_can_be_repeated_by_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert secret_runs.main(["compare"]) == 0
    assert capsys.readouterr().out.endswith("1,500 runs, 14 not equal, 0 unexplained\n")
    reports = {
        kind: {name: list(found) for name, found in engines.items()}
        for kind, engines in RECORDED["reports"].items()
    }
    reports["time"]["storm"][0] = [[0]]
    changed = tmp_path / "runs.json"
    changed.write_text(json.dumps({"inputs": RECORDED["inputs"], "reports": reports}))
    assert secret_runs.main(["compare", str(changed)]) == 1
    assert "unknown: 1" in capsys.readouterr().out


def test_inputs_of_a_seed_are_the_same_and_as_the_decision_has_them() -> None:
    inputs = secret_runs.drawn(2_000, seed=3)
    assert inputs == secret_runs.drawn(2_000, seed=3) != secret_runs.drawn(2_000, seed=4)
    assert {size for size, *_ in inputs} == {slide for _, slide, *_ in inputs} == set(range(1, 8))
    assert {len(times) for _, _, times, _ in inputs} == set(range(1, 17))
    assert {times[0] for _, _, times, _ in inputs} == set(range(-4, 26))
    for _, _, times, batches in inputs:
        assert times == sorted(times)
        assert len(batches) == len(times)
        assert set(batches) == set(range(1, batches[-1] + 1))
