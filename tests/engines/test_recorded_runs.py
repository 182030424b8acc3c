"""Sash as an engine against what that engine has shown: in process, on Spark in batch and on streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, islice, permutations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sash.engines.keyed_runs import agrees, differs, set_aside
from sash.engines.probe_run import ProbeRun, Seen
from sash.engines.random_runs import families
from sash.engines.sash_engine import Sash
from tests.engines.recorded_runs import Recording
from tests.engines.recorded_streams import bounded, rows_of, streamed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = Path(__file__).parent / "recorded_runs.json"
RECORDED = Recording.read(FILE)
WIDE = Recording.read(FILE.with_name("recorded_wide_runs.json"))
"""Of what only PyFlink has: count windows of keys, gaps between windows, lateness."""
LATE = Recording.read(FILE.with_name("recorded_late_runs.json"))
"""Of time windows that take late events after they were reported."""
LIVE = ("pyflink", "beam", "bytewax", "spark_structured")
FAMILIES = families(RECORDED.runs)
WIDE_RUNS = WIDE.runs[: len(WIDE.shown["pyflink"][1])]
LATE_RUNS = LATE.runs[: len(LATE.shown["beam"][1])]


def recorded(engine: str) -> Iterator[tuple[ProbeRun, Seen]]:
    return zip(RECORDED.runs, RECORDED.shown[engine][1], strict=True)


def a_few(engine: str) -> Iterator[tuple[ProbeRun, Seen]]:
    """The first run of each six."""
    return islice(recorded(engine), 0, None, 6)


@pytest.mark.parametrize("engine", LIVE)
def test_differential_runs_in_process_show_what_the_engine_has_shown(engine: str) -> None:
    compared = late = 0
    for (run, theirs), ours in zip(recorded(engine), Sash(engine).answer(RECORDED.runs), strict=True):
        if not set_aside(engine, run):
            assert agrees(engine, theirs, ours), run
            compared, late = compared + 1, late + bool(ours.late)
    assert compared >= 200
    assert late >= 50


def test_differential_count_windows_gaps_and_lateness_are_those_of_pyflink() -> None:
    runs, (_, shown) = WIDE_RUNS, WIDE.shown["pyflink"]
    for run, theirs, ours in zip(runs, shown, Sash("pyflink").answer(runs), strict=True):
        assert agrees("pyflink", theirs, ours) == (set_aside("pyflink", run) == ""), run
        # What is reported is the same in all of them.
        assert agrees("pyflink", replace(theirs, late=()), replace(ours, late=())), run
    counted = [run for run in runs if run.kind == "count"]
    assert len(counted) >= 10
    assert any(list(run.times) != sorted(run.times) for run in counted)
    assert sum(run.kind == "time" and run.slide > run.size for run in runs) >= 10
    assert corrected(WIDE, "pyflink") >= 3


def corrected(recording: Recording, engine: str) -> int:
    """In how many runs a window was reported again, with an event that came after it."""
    return sum(
        any(set(one) < set(other) for one, other in permutations(theirs.reports, 2))
        for run, theirs in zip(recording.runs, recording.shown[engine][1], strict=False)
        if run.lateness
    )


def test_differential_lateness_is_that_of_beam() -> None:
    shown, ours = LATE.shown["beam"][1], Sash("beam").answer(LATE_RUNS)
    for run, theirs, own in zip(LATE_RUNS, shown, ours, strict=True):
        assert agrees("beam", theirs, own) == (set_aside("beam", run) == ""), run
    assert sum(run.lateness > 0 and not set_aside("beam", run) for run in LATE_RUNS) >= 20
    assert corrected(LATE, "beam") >= 5


def test_runs_of_which_an_engine_differs_from_a_stream_of_sash() -> None:
    """Spark's lag, Bytewax' watermark of each key, Beam's windows whose end the watermark has just reached:
    each of them does show in these runs."""
    differing = {
        engine: [
            run
            for run, theirs in a_few(engine)
            if not agrees(engine, theirs, Sash(engine, one_clock=True).answer([run])[0])
        ]
        for engine in LIVE
    }
    known = {engine: [run for run, _ in a_few(engine) if differs(engine, run)] for engine in LIVE}
    assert differing == known
    assert [bool(runs) for runs in known.values()] == [False, True, True, True]


@pytest.mark.spark
@pytest.mark.parametrize(
    "family", [pytest.param(n, marks=[] if n == 8 else pytest.mark.soak) for n in range(12)]
)
def test_differential_streams_on_spark_show_what_the_engines_have_shown(
    spark: SparkSession, family: int
) -> None:
    runs, first = FAMILIES[family], sum(map(len, FAMILIES[:family]))
    found = streamed(spark, runs, LIVE)
    for engine in LIVE:
        shown = RECORDED.shown[engine][1][first:]
        in_process = Sash(engine, one_clock=True).answer(runs)
        for run, theirs, own, ours in zip(runs, shown, in_process, found[engine], strict=False):
            assert agrees("", own, ours), (engine, run)
            assert own.late == ours.late, (engine, run)
            assert sorted(own.flushed) == sorted(ours.flushed), (engine, run)
            assert differs(engine, run) or agrees(engine, theirs, ours), (engine, run)


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.parametrize(
    ("engine", "recording", "recorded_runs"),
    [("pyflink", WIDE, WIDE_RUNS), ("beam", LATE, LATE_RUNS)],
    ids=["count windows, gaps and lateness of PyFlink", "lateness of Beam"],
)
def test_differential_streams_on_spark_show_what_an_engine_alone_has_shown(
    spark: SparkSession, engine: str, recording: Recording, recorded_runs: list[ProbeRun]
) -> None:
    shown = iter(recording.shown[engine][1])
    for runs in families(recorded_runs):
        found = streamed(spark, runs, [engine])[engine]
        in_process = Sash(engine, one_clock=True).answer(runs)
        for run, own, ours, theirs in zip(runs, in_process, found, shown, strict=False):
            assert agrees("", own, ours), run
            assert own.late == ours.late, run
            assert sorted(own.flushed) == sorted(ours.flushed), run
            assert set_aside(engine, run) or agrees(engine, theirs, ours), run
    assert next(shown, None) is None


def covered(run: ProbeRun) -> bool:
    """Whether no event is late, nor could a session of the stream be over when one comes at its gap: a
    bounded input shows then what a stream shows. Nothing is late for windows of rows."""
    if run.kind == "count":
        return True
    pairs = combinations(range(len(run.times)), 2)
    apart = {abs(run.times[a] - run.times[b]) for a, b in pairs if run.key(a) == run.key(b)}
    disorder = max(max(run.times[: index + 1]) - time for index, time in enumerate(run.times))
    return run.delay >= disorder and (run.kind == "time" or run.size not in apart)


@pytest.mark.spark
def test_differential_batches_on_spark_show_what_the_engines_have_shown(spark: SparkSession) -> None:
    table = rows_of(RECORDED.runs)
    on_spark = spark.createDataFrame(table)
    for engine in LIVE:
        compared = 0
        found = bounded(on_spark, RECORDED.runs, engine)
        in_process = bounded(table, RECORDED.runs, engine)
        for (run, theirs), ours, own in zip(recorded(engine), found, in_process, strict=True):
            contents = sorted(tuple(sorted(content)) for content in ours)
            assert contents == sorted(tuple(sorted(content)) for content in own), (engine, run)
            if covered(run):
                compared += 1
                shown = Counter(theirs.reports)
                # Spark's stream has no end that would close the last windows.
                assert shown <= Counter(contents), (engine, run)
                assert engine == "spark_structured" or shown == Counter(contents), (engine, run)
        assert compared >= 40


@pytest.mark.spark
def test_differential_batches_on_spark_show_the_count_windows_and_gaps_of_pyflink(
    spark: SparkSession,
) -> None:
    table, compared = rows_of(WIDE_RUNS), Counter[str]()
    found = bounded(spark.createDataFrame(table), WIDE_RUNS, "pyflink")
    in_process = bounded(table, WIDE_RUNS, "pyflink")
    for run, theirs, ours, own in zip(WIDE_RUNS, WIDE.shown["pyflink"][1], found, in_process, strict=True):
        contents = sorted(tuple(sorted(content)) for content in ours)
        assert contents == sorted(tuple(sorted(content)) for content in own), run
        if covered(run):
            compared[run.kind] += 1
            assert contents == sorted(theirs.reports), run
    assert compared["count"] >= 10
    assert compared["time"] >= 10
