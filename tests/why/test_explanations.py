"""Every explanation against the reference: reported there ⟺ reported here, with the same content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sash.display.why_html import as_html
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Order
from sash.semantics.query import Emit, Query
from sash.semantics.reference import Arrival, Batch, WindowReport, evaluate, one_by_one
from sash.semantics.secret import PROFILES, Axis, simulate
from sash.semantics.why import EventStory, Why, explain
from sash.semantics.window import Window
from tests.semantics.strategies import ANY_WINDOW, KINDS, arrivals_of, cut, streams


def ticks(length: int) -> Duration:
    return Duration(length, Unit.TICKS)


@st.composite
def queries(draw: st.DrawFn, window: st.SearchStrategy[Window] = ANY_WINDOW) -> tuple[Query, list[Batch]]:
    """A query of one window, and what had arrived, in any order of arrival."""
    rows = draw(st.permutations(draw(streams(nulls=True).filter(bool))))
    kind = draw(window)
    arrival = Order.ARRIVAL in kind.orders and draw(st.booleans())
    emit = draw(st.sampled_from(["close", "close", "change", *([] if arrival else ["every 3"])]))
    query = Query(
        windows=(kind,),
        order=Order.ARRIVAL if arrival else Order.EVENT_TIME,
        delay=ticks(0 if arrival else draw(st.sampled_from([0, 4, 30]))),
        allowed_lateness=ticks(0 if arrival else draw(st.sampled_from([0, 0, 10]))),
        emit=Emit.parse(emit),
        empty=draw(st.booleans()),
        flush=draw(st.booleans()),
    )
    return query, draw(cut(arrivals_of(rows)))


def stories(query: Query, batches: list[Batch]) -> Iterable[tuple[Arrival, EventStory]]:
    """The explanation of every event that has arrived."""
    arrivals = [arrival for batch in batches for arrival in batch.arrivals]
    for number, arrival in enumerate(arrivals, start=1):
        why = explain(query, batches, key=arrival.key, at=arrival.time, engines={})
        yield arrival, next(event for event in why.events if event.number == number)


def last_reports(query: Query, batches: list[Batch]) -> dict[tuple[Any, int], WindowReport]:
    return {(report.key, report.id): report for report in evaluate(query, batches).reports}


def ordinals(batches: list[Batch], accepted: set[int], key: Any) -> list[int]:
    """Event numbers of the accepted events of a key, by their ordinals."""
    arrivals = [arrival for batch in batches for arrival in batch.arrivals]
    return [number for number, one in enumerate(arrivals, start=1) if one.key == key and number in accepted]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_oracle_a_window_is_reported_exactly_when_the_reference_reports_it(kind: type[Window]) -> None:
    @settings(max_examples=60, deadline=None)
    @given(queries(KINDS[kind]))
    def check(case: tuple[Query, list[Batch]]) -> None:
        query, batches = case
        reports = last_reports(query, batches)
        shown = list(stories(query, batches))
        accepted = {story.number for _, story in shown if story.accepted}
        for arrival, story in shown:
            numbers = ordinals(batches, accepted, arrival.key)
            expected = {
                id: tuple(numbers[ordinal] for ordinal in report.ordinals)
                for (key, id), report in reports.items()
                if key == arrival.key
            }
            with_it = {id for id, holds in expected.items() if story.number in holds}
            held = [held for window in story.windows for held in window.held]
            assert with_it <= {one.id for one in held if one.reported}
            for one in held:
                assert one.reported == (one.id in expected)
                assert one.why
                if one.reported and one.closed and one.holds[0] < one.holds[1]:
                    assert set(story.windows[0].numbers(one.holds)) == set(expected[one.id])
                    assert one.revision == reports[arrival.key, one.id].revision

    check()


@settings(max_examples=100, deadline=None)
@given(queries())
def test_oracle_an_event_is_late_or_misplaced_exactly_when_the_reference_says_so(
    case: tuple[Query, list[Batch]],
) -> None:
    query, batches = case
    outcome = evaluate(query, batches)
    late = {entry.arrival.values["e"] for entry in outcome.late if entry.window is None}
    misplaced = {entry.arrival.values["e"] for entry in outcome.late if entry.window is not None}
    for arrival, story in stories(query, batches):
        assert (not story.accepted) == (arrival.values["e"] in late)
        if not story.accepted:
            assert story.verdict.startswith("late")
        if arrival.values["e"] in misplaced:
            assert story.windows[0].absence.startswith("has no place")


@settings(max_examples=100, deadline=None)
@given(queries())
def test_an_event_that_is_in_no_window_is_told_why(case: tuple[Query, list[Batch]]) -> None:
    for _, story in stories(*case):
        for window in story.windows:
            if window.absence.startswith("has no place"):  # it may have had one when windows were reported
                assert all(one.reported and one.closed for one in window.held)
            else:
                assert bool(window.held) != bool(window.absence)


def test_an_event_that_lost_its_place_was_in_a_window_that_was_reported() -> None:
    # b: t=1 d=−4 is reported alone; then t=0 d=0 comes, within the lateness and before it: d falls to −4
    query = Query(
        windows=(windows.delta("d", 1, 1, closed="right"),), delay=ticks(0), allowed_lateness=ticks(10),
        emit=Emit.parse("every 3"), flush=False,
    )  # fmt: skip
    batches = [
        Batch((Arrival(0, "a", {"d": 0}), Arrival(1, "b", {"d": -4}))),
        Batch((Arrival(9, "a", {"d": 1}),)),
        Batch((Arrival(0, "b", {"d": 0}),)),
    ]
    (event,) = explain(query, batches, key="b", at=1, engines={}).events
    (window,) = event.windows
    assert window.absence.startswith("has no place")
    assert [one.reported for one in window.held] == [True]
    assert "held it when it was reported" in window.held[0].why[0]


@settings(max_examples=100, deadline=None)
@given(queries())
def test_an_open_window_says_what_it_waits_for_and_a_closed_one_does_not(
    case: tuple[Query, list[Batch]],
) -> None:
    for _, story in stories(*case):
        for held in (held for window in story.windows for held in window.held):
            waits = any(word in held.why[-1] for word in ("closes when an event", "waits for"))
            assert waits or held.closed
            if waits and held.closed:
                assert held.why[-1].startswith("on a stream it would still wait")


@settings(max_examples=100, deadline=None)
@given(queries(st.one_of(KINDS[windows.TimeWindow], KINDS[windows.SessionWindow])), st.integers(0, 60))
def test_the_event_that_a_window_waits_for_does_close_it(
    case: tuple[Query, list[Batch]], earlier: int
) -> None:
    query, batches = case
    if query.flush:
        return
    for arrival, story in stories(query, batches):
        for held in (held for window in story.windows for held in window.held if not held.closed):
            after = int(held.why[-1].partition(" arrives")[0].rpartition(" ")[2])
            least = after + (" at or after " not in held.why[-1])
            for time, closes in ((least, True), (least - 1 - earlier, False)):
                more = [*batches, Batch((Arrival(time, "elsewhere", {}),))]
                (again,) = [
                    event
                    for event in explain(query, more, key=arrival.key, at=arrival.time, engines={}).events
                    if event.number == story.number
                ]
                found = [one for one in again.windows[0].held if one.id == held.id]
                assert [one.closed for one in found] == [closes]


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.builds(windows.time, st.integers(1, 9), st.integers(1, 9)),
        st.builds(windows.rows, st.integers(1, 4), every=st.integers(1, 4)),
    ),
    st.lists(st.integers(0, 60), min_size=1, max_size=14).map(sorted),
    st.data(),
)
def test_oracle_other_engines_report_what_the_simulator_says(
    window: windows.TimeWindow | windows.RowsWindow, times: list[int], data: st.DataObject
) -> None:
    kind = "time" if isinstance(window, windows.TimeWindow) else "count"
    query = Query(windows=(window,), flush=False)
    at = data.draw(st.sampled_from(times))
    for event in explain(query, one_by_one(map(Arrival, times)), key=None, at=at).events:
        for story in event.windows[0].engines:
            origin = PROFILES[story.engine].scope.origin(Axis(kind))
            if origin is None or origin.function is None:
                assert story.remark
                continue
            simulated = simulate(story.engine, times, window.size, window.slide, kind=kind)
            expected = [tuple(content) for content in simulated if event.number - 1 in content]
            assert story.reports == len(expected)
            shown = [tuple(range(*content)) for content in story.contents]
            assert shown == list(dict.fromkeys(expected))


def test_an_engine_is_simulated_with_what_it_reported_before_the_near_events() -> None:
    times, window = [0, 0, 1, 1, 1, 1, 1, 2], windows.rows(1, every=2)
    assert [5] in simulate("oracle_cep", times, 1, 2, kind="count")
    why = explain(Query(windows=(window,), flush=False), one_by_one(map(Arrival, times)), key=None, at=1)
    sixth = next(event for event in why.events if event.number == 6)
    story = next(one for one in sixth.windows[0].engines if one.engine == "oracle_cep")
    assert (story.reports, story.contents) == (1, ((5, 6),))


def test_why_can_be_read_as_text_html_and_data() -> None:
    query = Query(windows=(windows.tumbling(10), windows.rows(2)), flush=False)
    why = explain(query, one_by_one(Arrival(t, "<k>") for t in (1, 5, 12)), key="<k>", at=5)
    assert isinstance(why, Why)
    assert "event 2 of key '<k>'" in str(why)
    assert "&lt;k&gt;" in as_html(why)
    assert "<k>" not in as_html(why)
    (event,) = why.to_dict()["events"]
    assert [window["window"] for window in event["windows"]] == ["time(10, 10)", "rows(2, every=2)"]


def test_an_engine_with_one_watermark_closes_windows_by_events_of_other_keys() -> None:
    """key a   1              window [0, 5) of a is closed by the 9 of b,
    key b        9         where engines have a watermark for all keys
    """
    query = Query(windows=(windows.tumbling(5),), flush=False)
    why = explain(query, one_by_one([Arrival(1, "a"), Arrival(9, "b")]), key="a", at=1)
    stories = {story.engine: story for story in why.events[0].windows[0].engines if not story.remark}
    for engine, story in stories.items():
        assert story.reports == (1 if PROFILES[engine].watermark else 0)
        assert story.same == PROFILES[engine].watermark


def test_large_timestamps_are_simulated_as_small_ones_are() -> None:
    """Windows of a year-long past would be as many empty reports: they are not looked at."""
    second, day = 1_000_000, 86_400_000_000
    small, large = ([base + n * second for n in range(10, 20)] for base in (0, 20_000 * day))
    stories = []
    for times in (small, large):
        query = Query(windows=(windows.tumbling("3 seconds"),), flush=False)
        arrivals = one_by_one(Arrival(time) for time in times)
        (event,) = explain(query, arrivals, key=None, at=times[4], calendar=True).events
        stories.append(event.windows[0].engines)
    assert stories[0] == stories[1]
    assert any(story.contents for story in stories[0])
