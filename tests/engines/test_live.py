"""Live engines: Sash and Spark in the ordinary tests, those with environments of their own in the soak."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sash.engines.edge_questions import edge_findings
from sash.engines.hypotheses import all_hypotheses
from sash.engines.inference import Elimination
from sash.engines.parameter_runs import REPORT, TICK
from sash.engines.peers import PEERS
from sash.engines.probe import probe
from sash.engines.probe_run import ProbeRun
from sash.engines.sash_engine import Sash
from sash.engines.spark_structured import SparkStructured
from sash.semantics.secret import Axis, Report, Tick
from tests.engines.test_keyed_runs import require_installed

CLOSED_AND_NOT_EMPTY = frozenset({Report.WINDOW_CLOSE, Report.NON_EMPTY})
ALIGNED = "⌈(ts1 − ω)/β⌉·β − 1"
ROOT = Path(__file__).parents[2]


def test_sash_closes_aligned_windows_and_counts_from_the_first_event():
    found = probe("sash", scope_runs=12, runs=20, beyond=False)
    assert (found.verdict.runs, found.verdict.agreed) == (20, 20)
    assert found.profile.report == CLOSED_AND_NOT_EMPTY
    assert (found.profile.scope.time.formula, found.profile.scope.count.formula) == (ALIGNED, "0")
    assert found.profile.tick_of(Axis.COUNT) is Tick.TUPLE


def test_sash_hands_late_events_over_and_loses_nothing_at_the_end():
    values = {finding.parameter: finding.value for finding in edge_findings(Sash())}
    assert values["out of order, within the delay"] == "counted"
    assert values["out of order, beyond the delay"] == "late output"
    assert values["session, exactly the gap"] == "merges"
    assert values["end of input"] == "flushed"
    assert values["gaps between windows"] == "taken"


@pytest.mark.spark
def test_spark_closes_aligned_windows_and_loses_those_before_1970(spark):
    runs = [
        TICK[Axis.TIME][0], TICK[Axis.TIME][-1], REPORT[Axis.TIME][0], REPORT[Axis.TIME][2],
        ProbeRun(times=(8, 9, 10, 11, 12, 13, 14, 15), size=5, slide=2),
        ProbeRun(times=(-5, -4, 0, 3), size=5, slide=2),
    ]  # fmt: skip
    engine = SparkStructured(spark)
    try:
        *answers, gaps, sessions = engine.answer(
            [
                *runs,
                ProbeRun(times=(1, 2), size=2, slide=5),
                ProbeRun(times=(1, 3, 9), size=2, kind="session"),
            ]
        )
    finally:
        engine.close()
    state = Elimination(Axis.TIME, all_hypotheses(Axis.TIME))
    state.settle_scope([(run, seen.in_model(run)) for run, seen in zip(runs, answers, strict=True)])
    assert {(one.tick, one.report, one.period) for one in state.alive} == {
        (Tick.TIME, CLOSED_AND_NOT_EMPTY, None), (Tick.TUPLE, CLOSED_AND_NOT_EMPTY, None)
    }  # fmt: skip
    assert {one.value("t0") for one in state.alive} == {"⌈(max(1, ts1) − ω)/β⌉·β − 1"}
    assert "slide_duration" in gaps.refused
    assert sessions.reports == ((0, 1),)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["spark_structured", *PEERS])
def test_oracle_a_live_engine_is_reproduced_by_the_profile_that_is_inferred_from_it(name, monkeypatch):
    monkeypatch.setenv("SASH_PEERS", os.environ.get("SASH_PEERS", str(ROOT / ".venv-peers")))
    require_installed(name)
    found = probe(name)
    assert (found.verdict.runs, found.verdict.agreed) == (50, 50), found.verdict.difference
