"""The table that `make bench` ends with."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from benchmarks import summary
from benchmarks.__main__ import OPPONENTS, programs
from benchmarks.harness import Opponent, Table, Times, finish


def test_a_row_has_the_median_and_the_best_of_both_and_where_we_lose(tmp_path: Path) -> None:
    table = Table("rolling", "opponent")
    ours, faster, slower = Times((3.0, 2.0, 4.0)), Times((1.0, 1.5, 9.0)), Times((8.0, 9.0, 10.0))
    table.against(Opponent("polars", 2_000_000, ours, faster), limit=0.5)
    table.against(Opponent("DuckDB", 2_000_000, ours, slower))
    table.add("our own growth", 1.0, 1.0)  # has no opponent
    path = tmp_path / "rolling.json"
    finish([table], argparse.Namespace(json=path, quick=False))
    assert summary.table([path]).splitlines()[2:] == [
        "| rolling | 2,000,000 | 3 | 3 / 2 s | polars | 1.5 / 1 s | **we lose:** 2.00 × its time "
        "| ≤ 0.5 × its time: missed |",
        "| rolling | 2,000,000 | 3 | 3 / 2 s | DuckDB | 9 / 8 s | 4.00 × as fast |  |",
    ]


def test_a_row_is_printed_with_the_medians_of_both(capsys: pytest.CaptureFixture[str]) -> None:
    table, ours = Table("windows", "opponent"), Times((3.0, 2.0, 4.0))
    table.against(Opponent("polars", 2_000_000, ours, Times((1.0, 1.5, 9.0))))
    table.add("another way", 2.0, 1.0, times=ours)
    table.add("a count", 2.0, 1.0)
    lines = [line for line in capsys.readouterr().out.splitlines() if "median" in line]
    assert [line.strip() for line in lines] == [
        "median / best: Sash 3 / 2 s; the opponent 1.5 / 1 s",
        "median / best: Sash 3 / 2 s",
    ]
    assert [row.median for row in table.rows] == [3.0, 3.0, None]


def test_programs_with_opponents_exist() -> None:
    assert set(OPPONENTS) <= set(programs())
