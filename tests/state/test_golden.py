"""Checkpoints and stores of each version that was released go on with this one, with nothing lost."""

from __future__ import annotations

import re

import pytest

from tests.faults.operators import OPERATORS
from tests.faults.test_operator_kills import GROUPS
from tests.state import golden

pytestmark = [pytest.mark.spark, pytest.mark.redis]

REFUSED = {
    # Its first step holds parts of panes since corrections work under patterns; it held whole panes before.
    (
        "0.1.0",
        "pane-farm",
    ): "this checkpoint was made by a different query: state was 'PaneLevelOperator' and is "
    "'PanePartsOperator'",
}


FEW = {
    "0.1.0": "panes elastic-lmdb elastic-files elastic-redis",
    golden.versions()[-1]: "panes join elastic-lmdb",
}
"""In `make test` and so in CI: of the first version one operator for each kind of store; of the newest one
in epochs, one in Spark's state store (where the first kept all without another store), and one in LMDB."""


@pytest.mark.parametrize(
    ("version", "operators"),
    [
        *FEW.items(),
        *(
            pytest.param(version, operators, marks=pytest.mark.soak)
            for version in golden.versions()
            for operators in GROUPS
        ),
    ],
)
def test_oracle_state_of_a_released_version_goes_on_to_what_the_reference_reports(
    version: str, operators: str
) -> None:
    archived = golden.archived(version)
    names = [name for name in operators.split() if name in archived and (version, name) not in REFUSED]
    with golden.home() as home:
        golden.unpack(version, [*names, golden.REDIS], home)
        # Those that were read are known, and need not be there.
        golden.run(home, names, first=golden.BEFORE, last=golden.FILES)
        for name in names:
            OPERATORS[name].check(home / name, golden.BATCHES)


@pytest.mark.soak
@pytest.mark.parametrize(("state", "sentence"), REFUSED.items())
def test_what_cannot_go_on_is_refused_in_one_sentence(state: tuple[str, str], sentence: str) -> None:
    version, name = state
    with golden.home() as home:
        golden.unpack(version, [name, golden.REDIS], home)
        with pytest.raises(AssertionError, match=re.escape(sentence)):
            golden.run(home, [name], first=golden.BEFORE, last=golden.FILES)


def test_every_operator_that_keeps_state_has_an_archive() -> None:
    (newest,) = golden.versions()[-1:]
    assert golden.archived(newest) == {*OPERATORS, golden.REDIS}
