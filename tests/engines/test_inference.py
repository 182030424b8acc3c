"""Inference against simulated engines: what is inferred must reproduce the engine, for every profile."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sash.engines.hypotheses import PERIODS, all_hypotheses
from sash.engines.inference import infer
from sash.engines.probe import probe
from sash.engines.probe_run import ProbeRun, Seen, random_run
from sash.engines.simulated import Simulated
from sash.semantics.secret import (
    ORIGINS,
    PROFILES,
    Axis,
    Origin,
    Pick,
    Profile,
    Report,
    Scope,
    Tick,
    profile,
)

KNOWN = [name for name, one in PROFILES.items() if one.scope.time is None or one.scope.time.function]


def kinds_of(one: Profile) -> list[Axis]:
    return [kind for kind in Axis if one.scope.origin(kind)]


def inferred_from(engine: Profile) -> Profile:
    found = infer(lambda runs: [run.simulated(engine) for run in runs], kinds_of(engine))
    assert found.profile is not None, found.remark
    return found.profile


def assert_equivalent(found: Profile, engine: Profile, *, runs: int, seed: int = 7) -> None:
    source = Random(seed)
    for _ in range(runs):
        run = random_run(source, source.choice(kinds_of(engine)))
        assert run.simulated(found) == run.simulated(engine), run


@pytest.mark.parametrize("name", KNOWN)
def test_oracle_the_profile_inferred_from_a_simulated_engine_reproduces_it(name):
    assert_equivalent(inferred_from(profile(name)), profile(name), runs=400)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    origins = st.sampled_from(ORIGINS)
    report = draw(st.sets(st.sampled_from(Report), min_size=1))
    return Profile(
        scope=Scope(time=draw(origins), count=draw(st.none() | origins)),
        report=report,
        period=draw(st.sampled_from(PERIODS)) if Report.PERIODIC in report else None,
        tick=draw(st.sampled_from(Tick)),
        count_tick=draw(st.sampled_from(Tick)),
        pick=draw(st.sampled_from(Pick)),
    )


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(profiles())
def test_oracle_any_profile_is_inferred_up_to_equivalence(engine):
    assert_equivalent(inferred_from(engine), engine, runs=150)


def test_every_value_that_a_finding_excludes_is_refuted_by_the_run_that_it_quotes():
    found = probe(profile("coral8"), runs=0)
    tick = found.finding("tick")
    assert (tick.value, tick.also) == ("batch", ())
    assert {word for one in tick.evidence for word in one.excludes.split(", ")} == {"time", "tuple"}
    assert all(one.fed.startswith("time windows ω=") and one.seen for one in tick.evidence)


def test_what_no_run_tells_apart_is_listed_beside_the_value():
    found = probe(profile("flink"), runs=0)
    assert (found.finding("tick").value, found.finding("tick").also) == ("time", ("tuple",))
    assert found.finding("pick").also == ("earliest", "all")
    assert found.finding("count tick").also == ()


def test_the_findings_come_in_the_order_of_the_method():
    found = probe(profile("storm"), runs=0)
    assert [one.parameter for one in found.findings] == ["tick", "report", "t0", "count tick", "i0", "pick"]


class Silent(Simulated):
    """Shows nothing until the input ends."""

    def answer(self, runs):
        return [Seen(reports=(), flushed=run.simulated(self.profile)) for run in runs]


class Moody(Simulated):
    """Leaves out the first report when it is runs_seen again."""

    runs_seen: ClassVar[Counter[ProbeRun]] = Counter()

    def answer(self, runs):
        self.runs_seen.update(runs)
        return [Seen(reports=run.simulated(self.profile)[self.runs_seen[run] - 1 :]) for run in runs]


class Backwards(Simulated):
    """Shows the right windows in the wrong order."""

    def answer(self, runs):
        return [Seen(reports=run.simulated(self.profile)[::-1]) for run in runs]


class Reluctant(Simulated):
    """Takes no windows with gaps between them."""

    def answer(self, runs):
        return [
            Seen(refused="no gaps") if run.slide > run.size else Seen(reports=run.simulated(self.profile))
            for run in runs
        ]


def test_an_engine_that_never_reports_is_told_as_such():
    found = probe(Silent(profile("dataflow")))
    assert (found.profile, found.verdict) == (None, None)
    assert found.remark == "time windows: the engine never reports"
    assert {one.value for one in found.findings} == {None}
    assert found.finding("tick").evidence[0].seen == "nothing"


def test_an_engine_whose_answers_vary_is_told_with_both_answers():
    found = probe(Moody(profile("dataflow")))
    assert found.profile is None
    assert "answers vary from run to run" in found.remark
    assert ", then " in found.remark


def test_an_engine_that_no_parameters_explain_is_told_with_the_run_that_shows_it():
    found = probe(Backwards(profile("dataflow")))
    assert found.profile is None
    assert "no combination of parameters explains time windows ω=" in found.remark
    assert found.finding("t0").value is None
    assert found.finding("t0").remark in found.remark


def test_an_unknown_origin_is_told_with_the_values_that_explain_each_run_while_the_rest_stands():
    odd = Origin("ts1 − ω − β + 2", lambda ts1, size, slide: ts1 - size - slide + 2)
    found = probe(replace(profile("dataflow"), scope=Scope(time=odd)))
    assert (found.profile, found.remark) == (None, "time windows: no known formula explains the origins")
    assert found.finding("report").value == "window-close ∧ non-empty"
    origin = found.finding("t0")
    assert origin.value is None
    # ω = 7, β = 3 and ts1 = 10: the origin is 10 − 7 − 3 + 2 = 2, or 3 or 6 more without the empty windows.
    shown = [one.excludes for one in origin.evidence if "ω=7 β=3, times 10 11" in one.fed]
    assert all("2" in one for one in shown)


def test_runs_that_an_engine_refuses_do_not_count():
    found = probe(Reluctant(profile("dataflow")), runs=30)
    assert (found.verdict.runs, found.verdict.agreed) == (30, 30)
    assert found.finding("t0").value == "β − ω − 1"


class Different(Simulated):
    """Reports count windows on every change, and time windows when they close."""

    def answer(self, runs):
        other = {"time": profile("flink"), "count": profile("coral8")}
        return [Seen(reports=run.simulated(other[run.kind])) for run in runs]


def test_windows_of_one_kind_that_fit_no_common_profile_leave_the_other_kind_its_profile():
    found = probe(Different(profile("flink")), runs=20)
    assert found.profile is not None
    assert (found.profile.scope.time.formula, found.profile.scope.count) == ("β − ω − 1", None)
    assert found.remark.startswith("count windows: no combination of parameters explains")
    assert found.verdict.agreed == 20


def test_reports_that_hold_the_last_event_are_beyond_the_model():
    run = ProbeRun(times=(1, 2, 3), size=1, kind="count")
    assert Seen(reports=((0,), (1,), (2,))).in_model(run) == run.simulated(profile("pyflink"))


def test_the_simplest_hypotheses_come_first():
    first, *_ = all_hypotheses(Axis.COUNT)
    assert (first.tick, len(first.report), first.period, first.pick) == (Tick.TUPLE, 1, None, Pick.LATEST)
