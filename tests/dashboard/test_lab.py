"""The window lab shows what the definitions give, and only reads what it is sent."""

from __future__ import annotations

import contextlib
import io
import time
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from sash.dashboard.lab import answer, choices
from sash.dashboard.lab.experiment import EVENTS, Experiment
from sash.dashboard.lab.kinds import KINDS
from sash.errors import ArgumentError, SashError
from sash.semantics.reference import evaluate, one_by_one
from sash.semantics.secret import PROFILES, simulate

events = st.lists(
    st.fixed_dictionaries({"time": st.integers(0, 30), "x": st.integers(0, 9)}), min_size=1, max_size=10
)
kinds = st.sampled_from(sorted(KINDS))
BEHIND = "behind the watermark"


def times(*given: int) -> list[dict[str, int]]:
    return [{"time": time, "x": index} for index, time in enumerate(given)]


@given(kinds, events, st.integers(0, 4), st.integers(0, 4))
def test_oracle_reports_and_extents_are_those_of_the_reference(
    kind: str, events: list[dict[str, int]], delay: int, lateness: int
) -> None:
    experiment_data = {"kind": kind, "events": events, "delay": delay, "allowed_lateness": lateness}
    experiment, answered = Experiment.read(experiment_data), answer(experiment_data)
    outcome = evaluate(experiment.query, one_by_one(experiment.arrivals))
    assert [(r["id"], r["revision"], len(r["holds"])) for r in answered["reports"]] == [
        (report.id, report.revision, len(report.ordinals)) for report in outcome.reports
    ]
    late = {number for number, event in enumerate(answered["events"]) if event["late"]}
    for extent in answered["extents"]:
        assert not late & set(extent["holds"])
        assert all(extent["id"] in answered["events"][number]["windows"] for number in extent["holds"])
        inside = [answered["events"][number]["time"] for number in extent["holds"]]
        assert all(extent["start"] <= time <= extent["end"] for time in inside)
        assert extent["interval"].endswith("]") or extent["end"] not in inside


@given(st.sampled_from(["sliding", "tumbling", "cumulate", "rows"]), events)
def test_oracle_the_closed_form_of_the_mapping_says_what_the_extents_say(
    kind: str, events: list[dict[str, int]]
) -> None:
    for event in answer({"kind": kind, "events": events, "delay": 500})["events"]:
        ends = event["mapping"].partition(" = ")[2].strip("{}").split(" … ")
        ids = [] if ends == ["∅"] else list(range(int(ends[0]), int(ends[-1]) + 1))
        assert event["windows"] == ids


@settings(max_examples=40, deadline=None)
@example("delta", [{"time": 0, "x": 1}, {"time": 0, "x": 0}], 1, 0, "event-time")
@example("delta", [{"time": 0, "x": 1}, {"time": 0, "x": 0}, {"time": 5, "x": 3}], 1, 0, "event-time")
@given(kinds, events, st.integers(0, 4), st.integers(0, 4), st.sampled_from(["event-time", "arrival"]))
def test_differential_the_python_that_is_shown_reports_what_is_shown(
    kind: str, events: list[dict[str, int]], delay: int, lateness: int, order: str
) -> None:
    """The same reports, with their revisions, after the same events; the same events are late, and those
    behind the watermark at once."""
    given = {"kind": kind, "events": events, "order": order}
    given |= {"delay": delay, "allowed_lateness": lateness} if order == "event-time" else {}
    try:
        shown = answer(given)
    except ArgumentError:  # a kind that has no order of arrival
        return
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(shown["python"], names)
    reports: list[tuple[int, ...]] = []
    late: list[tuple[int, int, str]] = []
    at_once = set()
    for number, result in enumerate(names["q"].batches()):
        rows = result.reports.to_pylist()
        reports += [(number, row["window"]["id"], row.get("revision", 0), row["n"]) for row in rows]
        found = [(row["time"], row["x"], row["late_reason"]) for row in result.late.to_pylist()]
        late += found
        at_once |= {number} if BEHIND in {reason for *_, reason in found} else set()
    assert sorted(reports) == sorted(
        (one["arrival"], one["id"], one["revision"], len(one["holds"])) for one in shown["reports"]
    )
    assert sorted(late) == sorted(
        (one["time"], one["x"], one["late"]) for one in shown["events"] if one["late"]
    )
    assert at_once == {number for number, event in enumerate(shown["events"]) if event["late"] == BEHIND}


def test_the_python_prints_reports_corrections_and_late_events() -> None:
    given = {"kind": "tumbling", "numbers": {"size": 10}, "allowed_lateness": 5}
    program = answer({**given, "events": times(1, 12, 8, 3)})["python"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})
    closed, corrected, late = printed.getvalue().splitlines()
    assert closed.startswith("t2 closes {'window_id': 0, ")
    assert corrected.startswith("t3 closes {'window_id': 0, ")
    assert "'revision': 1" in corrected
    assert late == "t4 is late: behind the watermark"


@given(events)
def test_oracle_engines_report_what_the_simulator_says_of_them(events: list[dict[str, int]]) -> None:
    experiment_data = {
        "kind": "sliding",
        "numbers": {"size": 6, "every": 3},
        "events": events,
        "delay": 500,
    }
    experiment = Experiment.read(experiment_data)
    order = [arrival.time for arrival in experiment.arrivals]
    ordered = sorted(range(len(order)), key=lambda number: (order[number], number))
    for engine in answer(experiment_data)["engines"]:
        if engine["same"] is None:
            assert engine["remark"]
            continue
        reports = simulate(engine["engine"], [order[number] for number in ordered], 6, 3)
        shown = [[ordered[index] for index in content] for content in reports]
        assert [report["holds"] for report in engine["reports"]] == shown[: len(engine["reports"])]


def test_every_engine_has_a_lane_for_time_windows_and_none_for_sessions() -> None:
    experiment_data = {"kind": "tumbling", "events": times(1, 5, 12)}
    assert [engine["engine"] for engine in answer(experiment_data)["engines"]] == list(PROFILES)
    assert answer({**experiment_data, "kind": "session"})["engines"] == []


def test_a_late_event_is_in_no_window_and_the_story_says_why() -> None:
    answered = answer({"kind": "tumbling", "events": times(1, 12, 3), "selected": 2})
    assert answered["events"][2]["late"] == "behind the watermark"
    assert answered["events"][2]["windows"] == []
    assert "late" in answered["story"]["verdict"]


def test_a_late_event_within_the_allowed_lateness_makes_a_revision() -> None:
    answered = answer({"kind": "tumbling", "events": times(1, 12, 9), "allowed_lateness": 5})
    assert [(report["id"], report["revision"], report["holds"]) for report in answered["reports"]] == [
        (0, 0, [0]), (0, 1, [0, 2]),
    ]  # fmt: skip


def test_the_story_says_what_an_open_window_waits_for() -> None:
    answered = answer({"kind": "sliding", "events": times(1, 3), "selected": 0})
    assert [held["state"] for held in answered["story"]["held"]] == ["waits", "waits"]
    assert "closes when" in answered["story"]["held"][0]["why"][0]


def test_arrival_order_numbers_events_as_they_came() -> None:
    experiment_data = {"kind": "rows", "numbers": {"size": 2, "every": 2}, "events": times(9, 1, 5, 3)}
    answered = answer({**experiment_data, "order": "arrival"})
    assert [extent["holds"] for extent in answered["extents"]] == [[0, 1], [2, 3]]
    assert [extent["holds"] for extent in answer(experiment_data)["extents"]][:1] != [[0, 1]]


def test_nothing_at_all_has_no_windows() -> None:
    answered = answer({"kind": "sliding", "events": []})
    assert (answered["extents"], answered["reports"], answered["engines"], answered["watermark"]) == (
        [],
        [],
        [],
        None,
    )


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_can_be_asked_for_with_what_its_form_offers(kind: str) -> None:
    parameters = choices()[kind]["parameters"]
    numbers = {parameter["name"]: parameter["default"] for parameter in parameters}
    assert answer({"kind": kind, "numbers": numbers, "events": times(1, 4, 9, 14, 19)})["python"]


@pytest.mark.parametrize(
    ("experiment_data", "message"),
    [
        ([], "experiment must be an object"),
        ({"kind": "__import__('os')"}, "kind must be one of sliding"),
        ({"kind": ["sliding"]}, "kind must be one of"),
        ({"kind": "sliding", "numbers": {"size": "10; import os"}}, "size must be a whole number"),
        ({"kind": "sliding", "numbers": {"size": 10**12}}, "size must be a whole number from 1 to 500"),
        ({"kind": "sliding", "numbers": {"size": None}}, "size must be a whole number"),
        ({"kind": "sliding", "numbers": {"size": 500, "every": 1}}, "at most 50 times as long"),
        ({"kind": "threshold", "numbers": {"compare": "or True or"}}, "compare must be one of >="),
        ({"kind": "delta", "numbers": {"size": float("nan")}}, "size must be a number"),
        ({"kind": "delta", "numbers": {"size": -1}}, "size must be a positive, finite number"),
        ({"kind": "rows", "order": "by name"}, "order must be 'event-time' or 'arrival'"),
        ({"kind": "sliding", "order": "arrival"}, "order must be 'event-time'"),
        ({"kind": "rows", "order": "arrival", "delay": 2}, "delay must be zero in arrival order"),
        ({"kind": "rows", "events": "many"}, "events must be a list"),
        ({"kind": "rows", "events": [{}] * (EVENTS + 1)}, "a list of at most 40 events"),
        ({"kind": "rows", "events": [{"time": -1}]}, "the time of event 1 must be a whole number from 0"),
        ({"kind": "rows", "events": [{"time": 1, "x": "open('/')"}]}, "x of event 1 must be a number"),
        ({"kind": "rows", "events": [{"time": 1}], "selected": 1}, "selected must be the number of one"),
    ],
)
def test_what_cannot_be_tried_is_refused_in_one_sentence(experiment_data: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        answer(experiment_data)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


words = st.sampled_from(["kind", "numbers", "events", "size", "time", "sliding"])
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)


@given(anything)
def test_whatever_is_sent_is_answered_or_refused_and_never_breaks(sent: Any) -> None:
    with contextlib.suppress(SashError):
        answer(sent)


def test_the_largest_experiments_are_answered_while_one_waits() -> None:
    spread = [{"time": 12 * index, "x": 1} for index in range(EVENTS)]
    largest = {
        "sliding": {"size": 500, "every": 10}, "slide_by_time": {"size": 50, "every": 1},
        "cumulate": {"size": 500, "step": 10}, "rows": {"size": 50, "every": 1}, "policy": {"limit": 1e6},
    }  # fmt: skip
    begun = time.perf_counter()
    for kind, numbers in largest.items():
        answer({"kind": kind, "numbers": numbers, "events": spread, "selected": EVENTS - 1})
    assert time.perf_counter() - begun < 10


def test_events_of_one_time_are_kept_in_the_order_of_their_arrival() -> None:
    answered = answer({"kind": "rows", "numbers": {"size": 1, "every": 1}, "events": times(5, 5, 3)})
    assert [extent["holds"] for extent in answered["extents"]] == [[0], [1]]
