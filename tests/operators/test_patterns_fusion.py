"""Levels of fusion: the same answer with fewer stages, and as many stages as are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash.operators.folding.values import Values
from sash.operators.patterns import thread_pool
from sash.operators.patterns.declared import Farm, Inner, PaneFarm, Pattern, WinMapReduce, level_of
from sash.operators.patterns.shared_panes import with_shared_panes
from sash.operators.patterns.stages import fused, graph

RANDOM = np.random.default_rng(7)
TABLE = pa.table({"t": np.arange(600), "k": RANDOM.integers(0, 5, 600), "x": RANDOM.integers(0, 100, 600)})
LEVELS = (0, 1, 2)


def query(window: Any) -> Any:
    stream = sash.stream(TABLE, time="t", key="k").window(window)
    return stream.agg(n=sash.count(), s=sash.sum("x"), hi=sash.max("x"))


def at(level: int) -> list[Pattern]:
    inner: list[Inner] = [
        PaneFarm(2, 3, optimize=level), WinMapReduce(3, 2, optimize=level), PaneFarm(1, 1, optimize=level),
        WinMapReduce(1, 1, optimize=level),
    ]  # fmt: skip
    farms = [farm(one, replicas=2) for one in inner for farm in (sash.KeyFarm, sash.WinFarm)]
    return [*inner, *farms]


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """How many jobs each stage of each farm had."""
    run, seen = thread_pool.run, []

    def watched(stages: thread_pool.Stages, counts: list[int]) -> thread_pool.Stages:
        results: Any = None
        while True:
            try:
                wanted = stages.send(results)
            except StopIteration as end:
                return end.value
            counts.append(len(wanted))
            results = yield wanted

    def watching(farms: list[thread_pool.Stages], *, workers: int) -> list[Values]:
        counts: list[list[int]] = [[] for _ in farms]
        found = run([watched(*pair) for pair in zip(farms, counts, strict=True)], workers=workers)
        seen.extend(counts)
        return found

    monkeypatch.setattr(thread_pool, "run", watching)
    return seen


@pytest.mark.parametrize("number", range(len(at(0))), ids=[str(one) for one in at(2)])
@pytest.mark.parametrize("window", [sash.sliding(60, every=20), sash.rows(30, every=7)], ids=str)
def test_differential_every_level_gives_the_same_answer(number: int, window: Any) -> None:
    expected = query(window).parallel(sash.WinSeq()).collect()
    for level in LEVELS:
        assert query(window).parallel(at(level)[number]).collect().equals(expected)


@pytest.mark.parametrize("number", range(len(at(0))), ids=[str(one) for one in at(2)])
@pytest.mark.parametrize("level", LEVELS)
def test_what_runs_has_the_stages_that_are_drawn(number: int, level: int, jobs: list[list[int]]) -> None:
    pattern = at(level)[number]
    query(sash.sliding(60, every=20)).parallel(pattern).collect()
    drawn = [stage.degree for stage in fused(graph(pattern), level=level)]
    if level > 0 or isinstance(with_shared_panes(pattern), Farm):
        drawn = drawn[1:-1]  # whoever asks is the outermost emitter and collector
    assert [sum(stage) for stage in zip(*jobs, strict=True)] == drawn


def test_each_level_has_fewer_stages_than_the_one_before() -> None:
    for number in range(len(at(0))):
        stages = [len(fused(graph(at(level)[number]), level=level)) for level in LEVELS]
        assert stages[0] > stages[1] >= stages[2]


def test_what_is_not_said_is_the_planners_choice() -> None:
    assert level_of(sash.PaneFarm(2, 2)) == level_of(sash.WinFarm(3)) == level_of(sash.WinSeq()) == 2
    assert level_of(sash.KeyFarm(sash.PaneFarm(1, 2, optimize=1), replicas=2)) == 1
    assert level_of(sash.WinFarm(sash.PaneFarm(1, 2), replicas=2, optimize=0)) == 0


def test_explain_draws_all_levels_and_says_which_one_runs() -> None:
    text = query(sash.sliding(60, every=20)).parallel(sash.PaneFarm(2, 3, optimize=1)).explain("plan")
    assert "level 0: emitter → 2 pane workers → collector → emitter → 3 window workers → collector" in text
    assert "level 1: emitter → 2 pane workers → collector + emitter → 3 window workers → collector" in text
    assert "level 2: emitter → 2 pane workers → 3 window workers → collector" in text
    assert "what runs is level 1, as requested" in text
    chosen = query(sash.sliding(60, every=20)).parallel(sash.PaneFarm(2, 3)).explain("plan")
    assert "what runs is level 2" in chosen
