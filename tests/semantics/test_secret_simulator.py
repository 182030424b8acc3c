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

from sash.semantics.secret import Axis, Report, Tick, profile, simulate

RECORDED = json.loads(Path(__file__).with_name("recorded_simulator_runs.json").read_text())
CASES = [(kind, engine) for kind, engines in RECORDED["reports"].items() for engine in engines]
FAILED = "no scope before t0 or i0"
WAITS = "the first time is compared with i0, a number"
ROUNDED = "ω = 1: the number before a window counts as its end"


def recorded(kind: str, name: str) -> Iterator[tuple[list[Any], Any]]:
    return zip(RECORDED["inputs"], RECORDED["reports"][kind][name], strict=True)


def artefact(kind: str, name: str, given: list[Any], theirs: Any) -> str:
    """Why the simulator can differ on an input (decision 4); empty where it must not."""
    engine, (size, slide, times, _) = profile(name), given
    if theirs is None:
        return FAILED
    i0 = engine.scope.count
    if kind == Axis.TIME or i0 is None:
        return ""
    if engine.tick_of(Axis.COUNT) is Tick.TIME and times[0] <= i0(1, size, slide):
        return WAITS
    return ROUNDED if size == 1 and Report.NON_EMPTY not in engine.report else ""


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
