"""Windows as an engine reports them: the definition, its pieces, and what is refused in which words."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.errors import ArgumentError, UnknownEngine, Unsupported
from sash.semantics import windows
from sash.semantics.event import sequence
from sash.semantics.run_as_engine import EngineWindow, engine_window
from sash.semantics.secret import PROFILES, Axis, Profile, Report, profile, simulate, trace
from sash.semantics.secret.engine_state import EngineState
from sash.semantics.window import Window
from tests.semantics.test_secret_model import LENGTHS, inputs, profiles

TABLE = pa.table({"t": [1, 2, 3], "x": [1, 1, 1]})
KINDS = st.sampled_from(["time", "count"])


def window_of(kind: str, size: int, slide: int) -> Window:
    return windows.rows(size, every=slide) if kind == "count" else windows.time(size, slide)


@settings(max_examples=200, deadline=None)
@given(engine=profiles(), given_input=inputs(batched=False), size=LENGTHS, slide=LENGTHS, kind=KINDS)
def test_oracle_extents_are_the_reports_of_the_model_and_never_decrease(
    engine: Profile, given_input: Any, size: int, slide: int, kind: Any
) -> None:
    times, _ = given_input
    extents = list(engine_window(window_of(kind, size, slide), engine).extents(sequence(times)))
    reports = trace(engine, times, size, slide, kind=kind)
    assert [list(range(extent.lo, extent.hi)) for extent in extents] == [list(r.content) for r in reports]
    assert [extent.closes_at for extent in extents] == [times[report.arrival] for report in reports]
    for one, other in pairwise(extents):
        assert one.id <= other.id
        assert one.lo <= other.lo
        assert one.hi <= other.hi


@settings(max_examples=200, deadline=None)
@given(
    engine=profiles(), given_input=inputs(batched=False), size=LENGTHS, slide=LENGTHS, kind=KINDS,
    rng=st.randoms(use_true_random=False),
)  # fmt: skip
def test_differential_a_course_cut_anywhere_reports_what_the_whole_reports(
    engine: Profile, given_input: Any, size: int, slide: int, kind: Any, rng: random.Random
) -> None:
    times, _ = given_input
    state, axis, held, found = EngineState(), Axis(kind), [], []
    for number, time in enumerate(times, start=1):
        held.append(time)
        if rng.random() < 0.5 or number == len(times):
            gone = state.base
            reports = state.advance(engine, axis, size, slide, held)
            found += [[gone + index for index in shown.content] for shown in reports]
            del held[: state.let_go(axis, size, slide, held)]
    assert found == simulate(engine, times, size, slide, kind=kind)


def test_the_first_count_window_of_pyflink_comes_after_size_and_that_of_flink_in_java_after_slide() -> None:
    assert simulate("pyflink", range(8), 3, 2, kind="count") == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    assert simulate("flink_java", range(8), 3, 2, kind="count") == [[0, 1], [1, 2, 3], [3, 4, 5]]


@pytest.mark.parametrize("engine", ["beam", "bytewax", "flink_java", "pyflink", "spark_structured"])
def test_engines_of_today_start_time_windows_at_multiples_of_the_slide(engine: str) -> None:
    #   ω = 5, β = 3:  [−3, 2) [0, 5) [3, 8) [6, 11)         events at 1, 4, 7, 30
    assert simulate(engine, [1, 4, 7, 30], 5, 3) == [[0], [0, 1], [1, 2], [2]]


def test_identifiers_and_bounds_are_sashs_own_where_windows_are() -> None:
    events = sequence([1, 4, 7, 30])
    own = [(e.id, e.start, e.end, e.lo, e.hi) for e in windows.time(5, 3).extents(events)]
    engines = engine_window(windows.time(5, 3), replace(profile("pyflink"), watermark=False)).extents(
        events
    )
    assert [(e.id, e.start, e.end, e.lo, e.hi) for e in engines] == own[:4]


def test_a_watermark_of_all_keys_makes_sashs_own_windows_of_them() -> None:
    window = windows.time(5, 3, origin=1)
    for engine in ("spark_structured", "pyflink", "flink_java", "beam", "bytewax"):
        assert engine_window(window, engine) is window
    assert isinstance(engine_window(window, replace(profile("pyflink"), watermark=False)), EngineWindow)


@pytest.mark.parametrize(
    "changes", [{"scope": profile("storm").scope}, {"report": {Report.WINDOW_CLOSE}}], ids=str
)
def test_a_watermark_that_would_close_other_windows_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Unsupported, match="engine must be a profile without watermark"):
        engine_window(windows.time(5, 3), replace(profile("spark_structured"), **changes))


@pytest.mark.parametrize(
    ("argument", "known"),
    [
        ("watermark", "True or False"), ("late_by", "one of 'time', 'windows', 'own windows'"),
        ("sessions", "one of 'joins', 'joins while open', 'splits'"),
    ],
)  # fmt: skip
def test_what_a_profile_has_beyond_the_model_is_checked(argument: str, known: str) -> None:
    with pytest.raises(ArgumentError, match=f"{argument} must be {known}; got 'yes'"):
        replace(profile("flink"), **{argument: "yes"})


@pytest.mark.parametrize(
    "window",
    [
        windows.session(3), windows.cumulate(6, 3), windows.slide_by_time(3, 3),
        windows.slide_by_tuple(3, 1), windows.delta("x", 3, 1), windows.threshold(lambda row: row.x > 1),
        windows.punctuated(lambda row: row.x > 1), engine_window(windows.time(3, 3), "storm"),
    ],
    ids=lambda window: type(window).__name__,
)  # fmt: skip
def test_windows_that_the_model_does_not_know_are_refused_by_name(window: Window) -> None:
    with pytest.raises(Unsupported) as refused:
        sash.stream(TABLE, time="t").window(window).semantics("flink")
    assert f"window must be a time or rows window with semantics('flink'); got {window.label!r}" in str(
        refused.value
    )


def test_sessions_are_run_for_a_profile_that_is_known_to_join_at_the_gap() -> None:
    stream = sash.stream(TABLE, time="t").window(sash.session(3))
    own = stream.agg(n=sash.count()).collect()
    assert stream.semantics("spark_structured").agg(n=sash.count()).collect() == own
    with pytest.raises(Unsupported, match="window must be a time, rows or session window"):
        engine_window(windows.cumulate(6, 3), "spark_structured")


def test_an_unknown_engine_is_answered_with_the_nearest_name() -> None:
    windowed = sash.stream(TABLE, time="t").window(sash.tumbling(3))
    with pytest.raises(UnknownEngine, match="Did you mean 'pyflink'"):
        windowed.semantics("pyflnik")
    with pytest.raises(UnknownEngine, match="Did you mean 'storm'"):
        windowed.agg(n=sash.count()).semantics("strom")
    with pytest.raises(ArgumentError, match="engine must be a Profile or the name of one"):
        windowed.semantics(7)  # type: ignore[arg-type]


def test_windows_that_an_engine_does_not_have_are_refused() -> None:
    windowed = sash.stream(TABLE, time="t").window(sash.rows(3))
    with pytest.raises(Unsupported, match="kind must be 'time' for beam, which has no count windows"):
        windowed.semantics("beam")
    with pytest.raises(Unsupported, match="The t0 of azure is unknown"):
        sash.stream(TABLE, time="t").window(sash.tumbling(3)).semantics("azure")


@pytest.mark.parametrize(
    ("stream", "window", "message"),
    [
        ({}, {"emit": "every 2"}, "emit must be 'close' with semantics('flink'); got 'every 2'"),
        ({}, {"empty": True}, "empty must be False with semantics('flink'); got True"),
        ({"allowed_lateness": 2}, {}, "allowed_lateness must be zero with semantics('flink'); got '2'"),
    ],
    ids=["emit", "empty", "lateness"],
)  # fmt: skip
def test_what_a_profile_decides_cannot_be_asked_for_as_well(stream: Any, window: Any, message: str) -> None:
    windowed = sash.stream(TABLE, time="t", **stream).window(sash.tumbling(3), **window)
    with pytest.raises(Unsupported) as refused:
        windowed.semantics("flink")
    assert str(refused.value) == f"{message}. The profile determines what is reported, and when."


@pytest.mark.parametrize("engine", sorted(PROFILES))
def test_windows_are_kept_for_late_events_where_the_engine_can_do_so(engine: str) -> None:
    stream = sash.stream(TABLE, time="t", allowed_lateness=2)
    keeps = engine in ("beam", "flink_java", "pyflink")
    for window, taken in ((sash.tumbling(3), keeps), (sash.session(3), False)):
        windowed = stream.window(window)
        if taken:
            assert windowed.semantics(engine).agg(n=sash.count()).collect().num_rows > 0
        else:
            with pytest.raises(Unsupported):
                windowed.semantics(engine)


def test_time_goes_by_events_and_rows_are_counted_as_they_come_where_every_event_ticks() -> None:
    for window, engine in ((sash.tumbling(3), "flink"), (sash.rows(3), "stream")):
        with pytest.raises(Unsupported, match="order must be 'event-time'"):
            sash.stream(TABLE, time="t", order="arrival").window(window).semantics(engine)
    table = pa.table({"t": [9, 1, 5, 7], "k": ["a", "b", "a", "b"], "x": range(4)})
    rows = sash.stream(table, time="t", key="k", order="arrival").window(sash.rows(2)).semantics("pyflink")
    assert rows.agg(x=sash.collect("x")).collect()["x"].to_pylist() == [[0, 2], [1, 3]]


def test_rolling_features_are_not_windows_of_an_engine() -> None:
    with pytest.raises(Unsupported, match="window must be a time or rows window"):
        sash.stream(TABLE, time="t").rolling(3).semantics("flink")
