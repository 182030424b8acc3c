"""The second half of the operators of test_operator_kills.py: one process has one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.harms import lose_the_server, pause_shortly
from tests.faults.test_operator_kills import HALVES, kill_in_batches

pytestmark = [pytest.mark.spark, pytest.mark.redis]


@pytest.mark.parametrize("operators", HALVES[1:])
@pytest.mark.parametrize("seed", [2])
def test_oracle_operators_that_are_killed_in_batches_emit_what_the_reference_does(
    tmp_path: Path, seed: int, operators: str
) -> None:
    kill_in_batches(tmp_path, operators, seed=seed, harms=[pause_shortly, lose_the_server])
