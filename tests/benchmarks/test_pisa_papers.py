"""The figures of the parallel patterns: drawn by a full run, and described."""

from __future__ import annotations

import json
import random
from functools import reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.pisa_papers.skyline_monoid import FEATURES, LOOSE, SKYLINE
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


@pytest.mark.parametrize("levels", [3, 1_000])
@pytest.mark.parametrize("parts", [1, 7, 100])
def test_oracle_skylines_that_are_merged_are_that_of_all_points(levels: int, parts: int) -> None:
    # With three levels many points are equal, and most sums.
    draw = random.Random(parts * levels)
    points = [tuple(float(draw.randrange(levels)) for _ in FEATURES) for _ in range(3 * LOOSE)]
    cuts = [0, *sorted(draw.sample(range(1, len(points)), parts - 1)), len(points)]
    folded = [
        reduce(SKYLINE.combine, (SKYLINE.lift(*point) for point in points[begin:end]), SKYLINE.identity())
        for begin, end in pairwise(cuts)
    ]
    found = reduce(SKYLINE.combine, folded, SKYLINE.identity())
    every = np.unique(np.array(points), axis=0)
    at_least = (every[None] >= every[:, None]).all(axis=2).sum(axis=1)
    skyline = {tuple(point) for point in every[at_least == 1].tolist()}
    assert SKYLINE.lower(found) == len(skyline)
    assert SKYLINE.encode is not None
    assert SKYLINE.decode is not None
    again = SKYLINE.decode(SKYLINE.encode(found))
    assert sorted(map(tuple, again.tolist())) == sorted(skyline)
