"""Findings as JSON, and the smallest difference between an engine and its profile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sash.engines.edge_questions import QUESTIONS
from sash.engines.findings import EngineFindings, profile_from_json, profile_to_json, write_findings
from sash.engines.probe import probe
from sash.engines.probe_run import ProbeRun, Seen
from sash.engines.simulated import Simulated
from sash.engines.table import read_findings
from sash.engines.verification import smallest, verify
from sash.errors import ArgumentError
from sash.semantics.secret import PROFILES, profile

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_survives_json(name):
    assert profile_from_json(json.loads(json.dumps(profile_to_json(PROFILES[name])))) == PROFILES[name]


def test_a_formula_that_this_version_does_not_know_is_kept_as_text():
    plain = profile_to_json(profile("dataflow")) | {"t0": "ts1 + 7"}
    assert str(profile_from_json(plain).scope.time) == "ts1 + 7"


def test_findings_survive_json_and_a_file(tmp_path):
    found = probe(profile("coral8"), runs=5)
    assert EngineFindings.from_json(json.loads(json.dumps(found.to_json()))) == found
    write_findings(tmp_path / "results.json", [found])
    [plain] = json.loads((tmp_path / "results.json").read_text())["engines"]
    assert EngineFindings.from_json(plain) == found


def test_findings_of_another_layout_are_refused():
    with pytest.raises(ArgumentError, match="format must be 1, the layout of this version; got 99"):
        EngineFindings.from_json(probe(profile("storm"), runs=0).to_json() | {"format": 99})


class Forgetful(Simulated):
    """As its profile says, but it loses an event that comes more than 9 after the one before."""

    def answer(self, runs):
        return [
            Seen(reports=tuple(self.kept(run, held) for held in run.simulated(self.profile)))
            for run in runs
        ]

    def kept(self, run, held):
        return tuple(i for i in held if not i or run.times[i] - run.times[i - 1] < 10)


def test_a_profile_that_does_not_hold_is_told_with_the_smallest_run_that_shows_it():
    engine, claimed = Forgetful(profile("dataflow")), profile("dataflow")

    def simulated(runs):
        return [seen.in_model(run) for run, seen in zip(runs, engine.answer(runs), strict=True)]

    verdict = verify(simulated, claimed, runs=50, seed=1)
    assert (verdict.runs, verdict.agreed < 50) == (50, True)
    assert "fresh random runs reproduced" in str(verdict)
    # Two events 10 apart and one that closes the window of the second: nothing smaller differs.
    least = smallest(simulated, claimed, ProbeRun(times=(3, 4, 19, 19, 40, 41), size=6, slide=4))
    assert (len(least.times), least.times[1] - least.times[0], least.size, least.slide) == (3, 10, 1, 1)
    assert verdict.difference.seen != verdict.difference.simulated


def test_a_profile_that_holds_has_no_difference():
    found = probe(profile("stream"), runs=50)
    assert (found.verdict.runs, found.verdict.agreed, found.verdict.difference) == (50, 50, None)


def test_the_documentation_has_what_every_engine_answers_to_every_question() -> None:
    found = {one.engine: one for one in read_findings(ROOT / "docs" / "secret" / "results.json")}
    answers = {name: {each.parameter: each.value for each in one.beyond} for name, one in found.items()}
    for name, given in answers.items():
        assert [q.parameter for q in QUESTIONS if q.parameter not in given] == [], name
    of_key, before = "watermark that judges an event, keys", "watermark that judges the next arrival"
    assert [name for name, given in answers.items() if given[of_key] != "of the stream"] == ["bytewax"]
    assert [name for name, given in answers.items() if given[before] != "the newest"] == [
        "spark_structured"
    ]
