"""Profiles as data (built, compared, printed, shipped), and what the simulator refuses, in which words."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from sash.errors import ArgumentError, UnknownEngine, Unsupported
from sash.semantics.secret import (
    PROFILES,
    Origin,
    Pick,
    Profile,
    Report,
    Scope,
    Tick,
    names,
    profile,
    simulate,
    trace,
)

EPOCH = profile("storm").scope.count


def build(**changes):
    parameters = {"scope": Scope(time=EPOCH), "report": {Report.WINDOW_CLOSE}, "tick": Tick.TIME}
    return Profile(**parameters | changes)


@pytest.mark.parametrize("name", names())
def test_a_profile_survives_pickling_and_is_equal_and_hashable(name):
    found = pickle.loads(pickle.dumps(profile(name)))
    assert found == profile(name)
    assert hash(found) == hash(profile(name))


def test_only_engines_with_the_same_parameters_are_equal():
    assert len(set(PROFILES.values())) == len(PROFILES)
    assert replace(profile("flink"), scope=profile("dataflow").scope, count_tick=None) == profile(
        "dataflow"
    )


def test_the_table_of_profiles_cannot_be_changed():
    with pytest.raises(TypeError):
        PROFILES["flink"] = profile("storm")
    with pytest.raises(FrozenInstanceError):
        profile("flink").tick = Tick.TUPLE


def test_a_profile_of_ones_own_is_simulated_like_a_named_one():
    mine = Profile(
        scope=Scope(time=Origin("ts1 − 1", lambda ts1, size, slide: ts1 - 1)),
        report={Report.WINDOW_CLOSE, Report.NON_EMPTY},
        tick=Tick.TIME,
        pick=Pick.LATEST,
    )
    assert simulate(mine, [10, 11, 12, 13, 14, 15], 2, 2) == [[0, 1], [2, 3]]


def test_words_and_enum_members_build_the_same_profile():
    assert build(report=["window-close"], tick="time", pick="latest") == build()
    assert build(count_tick="time") == build()
    assert build(count_tick="tuple") != build()


def test_a_profile_prints_all_of_its_parameters():
    assert str(profile("kafka_streams")) == (
        "t0 = ⌊max(0, ts1 − ω + β)/β⌋·β − 1, no count windows; "
        "report: non-empty ∧ periodic every 1; tick: tuple; pick: latest"
    )
    assert str(profile("coral8")) == (
        "t0 = ⌈(ts1 − ω)/β⌉·β − 1, i0 = 0; report: content-change ∧ non-empty; tick: batch; pick: latest"
    )
    assert "Origin(formula='β − ω')" in repr(build())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scope": "ts1"}, "scope must be a Scope"),
        ({"report": set()}, "report must be a set of at least one condition; got set()"),
        ({"report": "window-close"}, "report must be a set of conditions"),
        ({"report": 3}, "report must be a set of conditions"),
        ({"report": {"window-closed"}}, "report must be one of 'content-change', 'window-close'"),
        ({"tick": "event"}, "tick must be one of 'tuple', 'time', 'batch'; got 'event'"),
        ({"count_tick": "event"}, "count_tick must be one of 'tuple', 'time', 'batch'; got 'event'"),
        ({"pick": "any"}, "pick must be one of 'latest', 'earliest', 'all'; got 'any'"),
        ({"period": 5}, "period must be left out unless report has PERIODIC; got 5"),
        ({"report": {Report.PERIODIC}}, "period must be a positive int when report has PERIODIC; got None"),
        ({"report": {Report.PERIODIC}, "period": 0}, "period must be a positive int"),
        ({"report": {Report.PERIODIC}, "period": True}, "period must be a positive int"),
    ],
)
def test_a_profile_with_a_wrong_parameter_is_refused_by_name(changes, message):
    with pytest.raises(ArgumentError) as refused:
        build(**changes)
    assert message in str(refused.value)


def test_a_scope_needs_an_origin():
    with pytest.raises(ArgumentError, match="an Origin, at least one of them"):
        Scope()
    with pytest.raises(ArgumentError, match="count must be an Origin"):
        Scope(time=EPOCH, count=0)
    with pytest.raises(ArgumentError, match="formula must be"):
        Origin("", None)
    with pytest.raises(ArgumentError, match="function must be a function of"):
        Origin("0", 0)


def test_an_origin_that_is_not_an_int_is_refused_with_its_formula():
    half = build(scope=Scope(time=Origin("ω/2", lambda ts1, size, slide: size / 2)))
    with pytest.raises(ArgumentError, match="origin 'ω/2' must be a function that returns an int; got "):
        simulate(half, [1, 2], 3, 3)


def test_an_unknown_engine_is_answered_with_the_nearest_name_and_all_names():
    with pytest.raises(UnknownEngine) as refused:
        simulate("Flnk", [1, 2], 3, 3)
    message = str(refused.value)
    assert "Did you mean 'flink'?" in message
    assert all(name in message for name in names())
    with pytest.raises(UnknownEngine) as refused:
        simulate("xyz", [1, 2], 3, 3)
    assert "Did you mean" not in str(refused.value)


def test_an_engine_is_a_name_or_a_profile():
    with pytest.raises(ArgumentError, match="engine must be a Profile or the name of one: azure"):
        simulate(7, [1, 2], 3, 3)


@pytest.mark.parametrize("name", ["azure", "dataflow", "kafka_streams", "spark_dstream"])
@pytest.mark.parametrize("times", [[], [1, 2]])
def test_count_windows_that_an_engine_does_not_have_are_refused(name, times):
    with pytest.raises(Unsupported) as refused:
        simulate(name, times, 3, 3, kind="count")
    assert str(refused.value) == f"kind must be 'time' for {name}, which has no count windows; got 'count'"


def test_time_windows_that_a_profile_does_not_have_are_refused():
    with pytest.raises(
        Unsupported, match="kind must be 'count' for this profile, which has no time windows"
    ):
        simulate(build(scope=Scope(count=EPOCH)), [1, 2], 3, 3)


@pytest.mark.parametrize("times", [[], [1, 2]])
def test_azure_is_refused_because_only_its_tick_and_report_are_known(times):
    with pytest.raises(Unsupported) as refused:
        simulate("azure", times, 3, 3)
    message = str(refused.value)
    assert "The t0 of azure is unknown" in message
    assert "Tick (time) and Report (window-close ∧ non-empty) are known" in message


def test_azure_is_simulated_once_it_is_given_a_scope():
    assert simulate(replace(profile("azure"), scope=profile("flink").scope), [0, 1, 3], 3, 3) == [[0, 1]]


@pytest.mark.parametrize("argument", ["size", "slide"])
@pytest.mark.parametrize("wrong", [0, -1, 2.0, "3", None, True])
def test_a_size_or_slide_that_is_no_positive_whole_number_is_refused(argument, wrong):
    with pytest.raises(ArgumentError) as refused:
        simulate("flink", [1, 2], **{"size": 3, "slide": 3, argument: wrong})
    assert str(refused.value) == f"{argument} must be a positive whole number; got {wrong!r}"


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1, 3, 2], "times[2] must be at least times[1] = 3, as times never decrease; got 2"),
        ([1, 2.5], "times[1] must be a whole number; got 2.5"),
        ([1, None], "times[1] must be a whole number; got None"),
        ([False, True], "times[0] must be a whole number; got False"),
        ("12", "times must be a sequence of whole numbers; got '12'"),
        (12, "times must be a sequence of whole numbers; got 12"),
    ],
)
def test_times_that_are_no_growing_whole_numbers_are_refused_with_their_place(times, message):
    with pytest.raises(ArgumentError) as refused:
        simulate("flink", times, 3, 3)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([1, 2], "batches must be one batch number for each of the 3 times; got [1, 2]. There are 2."),
        ([1, 2, 1], "batches[2] must be at least batches[1] = 2, as batches never decrease; got 1"),
        ([1, 2, "3"], "batches[2] must be a whole number; got '3'"),
    ],
)
@pytest.mark.parametrize("engine", ["coral8", "flink"])
def test_batches_that_do_not_fit_the_times_are_refused(engine, batches, message):
    with pytest.raises(ArgumentError) as refused:
        simulate(engine, [1, 2, 3], 3, 3, batches=batches)
    assert str(refused.value) == message


def test_an_unknown_kind_is_refused():
    with pytest.raises(ArgumentError, match="kind must be 'time' or 'count'; got 'tuples'"):
        simulate("flink", [1, 2], 3, 3, kind="tuples")


def test_any_whole_numbers_will_do_and_plain_ints_come_back():
    reports = trace("flink", np.array([10, 11, 12, 15]), np.int64(3), np.int64(3))
    assert reports == trace("flink", [10, 11, 12, 15], 3, 3)
    assert all(type(report.instant) is int for report in reports)
