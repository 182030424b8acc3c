"""The figures of the parallel patterns: drawn by a full run, and described."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks.test_benchmarks_run import pixels

DOCS = Path(__file__).parents[2] / "docs" / "benchmarks"


FIGURES = [
    "patterns-1-workers", "patterns-2-chunks", "patterns-3-patterns",
    "jpdc-1-time-windows", "jpdc-2-chunks", "jpdc-3-by-tuple", "windflow-1-skyline", "windflow-2-ysb",
]  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_a_full_run_is_in_the_documentation(name: str) -> None:
    figure = DOCS / f"{name}.png"
    assert f"({figure.name})" in (DOCS / "patterns.md").read_text()
    assert pixels(figure) == (1200, 700)
    assert figure.stat().st_size < 150_000
    assert json.loads(figure.with_suffix(".json").read_text())["quick"] is False
