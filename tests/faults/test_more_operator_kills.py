"""The second half of the operators of test_operator_kills.py: one process has one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.test_operator_kills import HALVES, kill_everything, suffer

pytestmark = [pytest.mark.spark, pytest.mark.redis]


@pytest.mark.parametrize("operators", HALVES[1:])
@pytest.mark.parametrize("seed", [1])
def test_oracle_operators_that_are_killed_at_their_start_emit_what_the_reference_does(
    tmp_path: Path, seed: int, operators: str
) -> None:
    suffer(tmp_path, operators, kill_everything, harms=1, seed=seed, at_start=True)
