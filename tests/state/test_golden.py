"""Checkpoints and stores of each version that was released go on with this one, with nothing lost."""

from __future__ import annotations

import pytest

from tests.faults.operators import OPERATORS
from tests.faults.test_operator_kills import GROUPS
from tests.state import golden

pytestmark = [pytest.mark.spark, pytest.mark.redis]


@pytest.mark.soak
@pytest.mark.parametrize("operators", GROUPS)
@pytest.mark.parametrize("version", golden.versions())
def test_oracle_state_of_a_released_version_goes_on_to_what_the_reference_reports(
    version: str, operators: str
) -> None:
    names = operators.split()
    with golden.home() as home:
        golden.unpack(version, [*names, golden.REDIS], home)
        # Those that were read are known, and need not be there.
        golden.run(home, names, first=golden.BEFORE, last=golden.FILES)
        for name in names:
            OPERATORS[name].check(home / name, golden.BATCHES)


def test_every_operator_that_keeps_state_has_an_archive() -> None:
    (newest,) = golden.versions()[-1:]
    archives = {path.name.removesuffix(".tar.xz") for path in (golden.FOLDER / newest).iterdir()}
    assert archives == {*OPERATORS, golden.REDIS}
