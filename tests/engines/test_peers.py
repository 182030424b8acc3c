"""The protocol of the drivers, with a trivial engine: answers, refusals, failures, and what is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sash.engines.peers import PEERS, Peer, peer
from sash.engines.probe import LIVE, engine_for, probe
from sash.engines.probe_run import ProbeRun
from sash.errors import EngineError, MissingDependency, UnknownEngine
from sash.semantics.secret import profile

STAND_IN = Path(__file__).parent / "stand_ins" / "on_tumbling.py"
RUN = ProbeRun(times=(10, 11, 12, 13, 14, 15), size=3, slide=3)


@pytest.fixture
def tumbling() -> Iterator[Peer]:
    engine = Peer(Path(sys.executable), STAND_IN)
    yield engine
    engine.close()


def test_a_driver_says_who_it_is(tumbling):
    assert (tumbling.name, tumbling.version, tumbling.kinds) == ("tumbling", "1.0", frozenset({"time"}))


def test_many_runs_travel_in_one_request_although_the_engine_prints(tumbling):
    first, refused, second = tumbling.answer([RUN, ProbeRun(times=(1, 2), size=2, slide=1), RUN])
    assert first == second
    assert (first.reports, first.flushed, first.late) == (((0, 1), (2, 3, 4)), ((5,),), ())
    assert (refused.refused, refused.answered) == ("tumbling windows only", False)
    assert tumbling.answer([]) == []


def test_a_run_that_fails_is_an_error_with_the_words_of_the_engine_and_the_next_one_works(tumbling):
    with pytest.raises(EngineError, match="on_tumbling failed: ValueError: thirteen brings bad luck"):
        tumbling.answer([ProbeRun(times=(1,), size=13, slide=13)])
    assert tumbling.answer([RUN])[0].reports == ((0, 1), (2, 3, 4))


def test_an_engine_that_dies_is_an_error_now_and_later(tumbling):
    for _ in range(2):
        with pytest.raises(EngineError, match="on_tumbling failed: it has ended"):
            tumbling.answer([ProbeRun(times=(1,), size=14, slide=14)])


def test_an_engine_that_hangs_is_given_up_and_ended():
    engine = Peer(Path(sys.executable), STAND_IN)
    engine.patience = 0.5
    with pytest.raises(EngineError, match=r"no answer within 0\.5 s"):
        engine.answer([ProbeRun(times=(1,), size=15, slide=15)])
    engine.close(grace=0.1)


def test_an_engine_of_ones_own_is_probed_over_the_protocol(tumbling):
    found = probe(tumbling, runs=50)
    assert (found.engine, found.verdict.runs, found.verdict.agreed) == ("tumbling", 50, 50)
    assert found.profile.report == profile("dataflow").report
    assert found.finding("end of input").value == "flushed"
    assert found.finding("session, exactly the gap").value == "no session windows"
    assert found.finding("gaps between windows").value == "refused"


def test_a_driver_that_cannot_start_is_an_error_with_its_last_words(tmp_path):
    broken = tmp_path / "on_broken.py"
    broken.write_text("raise RuntimeError('no engine here')")
    with pytest.raises(EngineError, match=r"on_broken failed: it has ended.*no engine here"):
        Peer(Path(sys.executable), broken)


@pytest.mark.parametrize("name", PEERS)
def test_a_missing_environment_is_an_error_with_the_command_that_makes_it(name, tmp_path, monkeypatch):
    monkeypatch.setenv("SASH_PEERS", str(tmp_path))
    with pytest.raises(MissingDependency) as missing:
        peer(name)
    root = tmp_path / PEERS[name].environment
    assert f"{name} is not installed in {root}: run `make peers`, or python3.11 -m venv" in str(
        missing.value
    )
    assert PEERS[name].requirements[0] in str(missing.value)


def test_the_makefile_installs_what_the_errors_say():
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert all(package in makefile for home in PEERS.values() for package in home.requirements)


def test_engines_that_cannot_be_driven_are_refused_by_name():
    with pytest.raises(UnknownEngine, match="flink_java has a profile, but cannot be driven from Python"):
        engine_for("flink_java")
    with pytest.raises(UnknownEngine, match="Did you mean 'bytewax'"):
        engine_for("bitewax")
    with pytest.raises(UnknownEngine, match=", ".join(LIVE)):
        engine_for("nothing like it")
