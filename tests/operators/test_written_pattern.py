"""What a checkpoint keeps of a pattern is read back as that pattern."""

from __future__ import annotations

import pytest

from sash.operators.patterns.declared import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
from sash.operators.patterns.written_pattern import pattern_written


@pytest.mark.parametrize(
    "pattern",
    [
        WinSeq(), KeyFarm(4), WinFarm(3), WinFarm(2, model="agnostic"),
        WinFarm(2, model="agnostic", chunk=9),
        PaneFarm(2, 3), PaneFarm(2, 3, optimize=0), WinMapReduce(4, 1),
        KeyFarm(WinMapReduce(2, 1), replicas=2), WinFarm(PaneFarm(2, 3), replicas=2),
    ],
    ids=str,
)  # fmt: skip
def test_a_pattern_is_read_back_from_its_text(pattern: Pattern) -> None:
    assert pattern_written(str(pattern)) == pattern


@pytest.mark.parametrize(
    "text",
    ["", "KeyFarm", "FutureFarm(2)", "KeyFarm(0)", "KeyFarm(2, future=1)", "x.KeyFarm(2)", "KeyFarm(x)"],
)
def test_what_this_version_does_not_know_is_no_pattern(text: str) -> None:
    assert pattern_written(text) is None
