"""Keys and disorder: Sash as an engine against that engine, where it is installed; more in the soak."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sash.engines.keyed_runs import (
    ANOTHER_CLOCK,
    AT_THE_END,
    KINDS,
    agrees,
    compare,
    differs,
    engines,
    set_aside,
    smallest,
)
from sash.engines.peers import PEERS, python_of
from sash.engines.probe_run import ProbeRun, Seen
from sash.engines.random_runs import families, family
from sash.engines.sash_engine import Sash, windowed
from sash.engines.spark_structured import SparkStructured
from sash.errors import MissingDependency

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
LIVE = ("pyflink", "beam", "bytewax", "spark_structured")
SEED = 20


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_PEERS", os.environ.get("SASH_PEERS", str(ROOT / ".venv-peers")))


class Shouting(Sash):
    """An engine that loses every window with an event of key c."""

    def answer(self, runs: Sequence[ProbeRun]) -> list[Seen]:
        return [self._without_c(run, seen) for run, seen in zip(runs, super().answer(runs), strict=True)]

    def _without_c(self, run: ProbeRun, seen: Seen) -> Seen:
        kept = [held for held in seen.reports + seen.flushed if all(run.key(i) != "c" for i in held)]
        return Seen(reports=tuple(kept), late=seen.late)


def test_a_difference_is_made_smaller_until_one_event_is_left() -> None:
    found = compare("pyflink", iter(lambda: Shouting("pyflink"), None), Random(SEED), runs=10)
    least = smallest("pyflink", Shouting("pyflink"), found.differing[0])
    assert (least.keys, len(found.differing) > 3, found.runs) == (("c",), True, 10)
    assert str(found).startswith(f"{10 - len(found.differing)} of 10 runs agree")


def test_sash_as_an_engine_agrees_with_itself() -> None:
    for engine in LIVE:
        found = compare(engine, iter(lambda name=engine: Sash(name), None), Random(SEED), runs=48)
        assert (found.differing, found.late > 0) == ([], True)


@pytest.mark.parametrize(
    ("engine", "times", "keys", "reason"),
    [
        ("bytewax", (30, 40, 31), "aba", ANOTHER_CLOCK), ("bytewax", (30, 40, 29), "aba", ""),
        ("beam", (30, 32, 29), "aba", AT_THE_END), ("beam", (30, 33, 29), "aba", ""),
        ("spark_structured", (30, 32, 29), "aba", ANOTHER_CLOCK),
        ("spark_structured", (30, 32, 33, 29), "abab", ""), ("pyflink", (30, 32, 29), "aba", ""),
    ],
)  # fmt: skip
def test_why_an_engine_differs_from_a_stream_of_sash(
    engine: str, times: tuple[int, ...], keys: str, reason: str
) -> None:
    run = ProbeRun(times=times, keys=tuple(keys), size=4, slide=4)
    assert differs(engine, run) == reason
    assert set_aside(engine, run) == (reason if engine == "beam" else "")


def test_runs_of_a_family_have_one_watermark_after_every_event() -> None:
    runs = family(Random(SEED), KINDS)
    assert len({tuple(run.watermarks()) for run in runs}) == 1
    assert len({run.delay for run in runs}) == 3
    assert families(runs) == [runs]


def require_installed(name: str) -> None:
    try:
        if name in PEERS:
            python_of(name)
    except MissingDependency as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("name", PEERS)
def test_differential_a_few_runs_of_an_engine_that_is_installed(name: str, installed: None) -> None:
    require_installed(name)
    found = compare(name, engines(name), Random(SEED), runs=6)
    assert found.differing == [], f"seed {SEED}"


@pytest.mark.soak
@pytest.mark.parametrize("name", LIVE)
def test_differential_two_hundred_runs_of_an_engine(name: str, installed: None) -> None:
    require_installed(name)
    found = compare(name, engines(name), Random(SEED), runs=200)
    assert found.differing == [], f"seed {SEED}"


@pytest.mark.spark
@pytest.mark.soak
def test_differential_a_few_runs_of_sparks_own_windows(spark: SparkSession) -> None:
    live: Iterator[SparkStructured] = iter(lambda: SparkStructured(spark), None)
    assert compare("spark_structured", live, Random(SEED), runs=6).differing == []


@pytest.mark.spark
@pytest.mark.soak
def test_a_run_that_shares_a_query_of_spark_shows_what_it_shows_alone(spark: SparkSession) -> None:
    runs = family(Random(SEED), KINDS)
    live = SparkStructured(spark)
    shared, alone = live.answer(runs)[::4], [live.answer([run])[0] for run in runs[::4]]
    assert all(agrees("spark_structured", *pair) for pair in zip(shared, alone, strict=True))


def test_the_end_of_a_bounded_input_closes_the_windows_of_all_keys() -> None:
    run = ProbeRun(times=(1, 2, 50, 100), keys=("a", "a", "b", "b"), size=10, slide=10)
    rows = pa.table({"key": run.keys, "time": run.times, "index": range(4)})
    for engine in (*LIVE, "flink_java"):
        held = windowed(rows, run, engine).collect()["held"].to_pylist()
        assert held == [[0, 1], [2], [3]], engine
    with closing(Sash("pyflink")) as stream:
        assert stream.answer([run])[0].reports == ((0, 1), (2,))
