"""What holds for every window kind. A kind is tested here from the day on which it is exported."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sash.semantics import windows
from sash.semantics.event import Event, Order, arrange
from sash.semantics.window import Context, ContextAwareWindow, ContextFreeWindow, Extent, Window
from tests.semantics.strategies import KINDS, events_of, streams

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
HORIZONS = st.one_of(st.none(), st.integers(-60, 80))


def exported_kinds() -> set[type]:
    exported = [getattr(windows, name) for name in windows.__all__]
    return {thing for thing in exported if isinstance(thing, type) and issubclass(thing, Window)}


def placed_events(window: Window, rows: list[dict[str, Any]]) -> list[Event]:
    return window.place(events_of(rows))[0]


def test_every_exported_kind_has_a_strategy() -> None:
    assert exported_kinds() == set(KINDS)


@every_kind
@given(data=st.data())
@settings(max_examples=10)
def test_a_strategy_makes_windows_of_its_kind(kind: type[Window], data: st.DataObject) -> None:
    assert type(data.draw(KINDS[kind])) is kind


def test_the_class_of_every_kind_is_the_one_of_the_design() -> None:
    context_free = {windows.RowsWindow, windows.TimeWindow, windows.CumulateWindow}
    forward_context_free = {windows.SessionWindow}
    assert {kind for kind in exported_kinds() if kind.context is Context.CF} == context_free
    assert {kind for kind in exported_kinds() if kind.context is Context.FCF} == forward_context_free


def test_a_kind_that_is_cut_by_time_runs_in_event_time_order_only() -> None:
    by_events = {kind for kind in exported_kinds() if Order.ARRIVAL in kind.orders}
    assert by_events == {
        windows.RowsWindow,
        windows.DeltaWindow,
        windows.PolicyWindow,
        windows.ThresholdWindow,
        windows.PunctuatedWindow,
    }


@every_kind
@given(data=st.data())
@settings(max_examples=20)
def test_a_window_is_a_value_with_a_name_and_a_formula(kind: type[Window], data: st.DataObject) -> None:
    window = data.draw(KINDS[kind])
    named = window.named("mine")
    assert named.label == "mine"
    assert named.named("mine") == named
    assert named != window
    assert hash(window.named("mine")) == hash(named)
    assert window.label == str(window)
    assert window.formula


@every_kind
@given(data=st.data(), rows=streams(), horizon=HORIZONS, empty=st.booleans())
@settings(max_examples=30)
def test_ranges_are_monotone_and_identifiers_increase(
    kind: type[Window], data: st.DataObject, rows: list[dict[str, Any]], horizon: int | None, empty: bool
) -> None:
    window = data.draw(KINDS[kind])
    events = placed_events(window, rows)
    extents = list(window.extents(events, horizon=horizon, empty=empty))
    assert all(0 <= extent.lo <= extent.hi <= len(events) for extent in extents)
    for before, after in pairwise(extents):
        assert before.id < after.id
        assert before.lo <= after.lo
        assert before.hi <= after.hi


@every_kind
@given(data=st.data(), rows=streams(), horizon=HORIZONS)
@settings(max_examples=30)
def test_asking_for_empty_windows_adds_only_empty_windows(
    kind: type[Window], data: st.DataObject, rows: list[dict[str, Any]], horizon: int | None
) -> None:
    window = data.draw(KINDS[kind])
    events = placed_events(window, rows)
    with_empty = list(window.extents(events, horizon=horizon, empty=True))
    without = list(window.extents(events, horizon=horizon))
    assert [extent for extent in with_empty if len(extent)] == without


@every_kind
@given(data=st.data(), rows=streams())
@settings(max_examples=30)
def test_extent_and_mapping_are_inverse_over_events(
    kind: type[Window], data: st.DataObject, rows: list[dict[str, Any]]
) -> None:
    window = data.draw(KINDS[kind])
    events = placed_events(window, rows)
    ids = {extent.id for extent in window.extents(events, empty=True)}
    for w in ids | {w + 1 for w in ids} | {w - 1 for w in ids}:
        for position in range(len(events)):
            if isinstance(window, ContextAwareWindow):
                held = position in window.extent(w, events)
                assert held == (w in window.mapping(position, events))
            else:
                assert isinstance(window, ContextFreeWindow)
                x = position if isinstance(window, windows.RowsWindow) else events[position].time
                held = x in window.extent(w)
                assert held == (w in window.mapping(x))


@every_kind
@given(data=st.data(), rows=streams(), later=streams(max_size=4))
@settings(max_examples=60)
def test_once_the_watermark_reached_closes_at_no_event_on_time_changes_the_window(
    kind: type[Window], data: st.DataObject, rows: list[dict[str, Any]], later: list[dict[str, Any]]
) -> None:
    window = data.draw(KINDS[kind])
    seen = events_of(rows)
    for id, (extent, content) in contents(window, seen, horizon=None).items():
        if extent.closes_at is None:
            continue
        # Right at closes_at is where one too few would show.
        on_time = [{**row, "t": extent.closes_at + data.draw(st.integers(0, 2))} for row in later]
        coming = events_of(on_time, first_ordinal=len(seen))
        now, holds = contents(window, [*seen, *coming], horizon=None)[id]
        assert holds == content
        assert (now.start, now.end) == (extent.start, extent.end)


@every_kind
@given(data=st.data(), rows=streams())
@settings(max_examples=30)
def test_before_closes_at_events_on_time_can_change_the_window(
    kind: type[Window], data: st.DataObject, rows: list[dict[str, Any]]
) -> None:
    window = data.draw(KINDS[kind])
    seen = events_of(rows)
    grown = {event.values["d"] for event in window.place(seen)[0]} if kind is windows.DeltaWindow else {0}
    # One event changes most windows; a run of one instant is moved by a whole run before it.
    values = [*((x,) for x in range(11)), (0, 10, 0)]
    for id, (extent, content) in contents(window, seen, horizon=None).items():
        if extent.closes_at is None or not content:
            continue
        time = extent.closes_at - 1
        attempts = ([{"e": -1, "t": time, "x": x, "d": d} for x in xs] for xs in values for d in grown)
        comings = (events_of(attempt, first_ordinal=len(seen)) for attempt in attempts)
        outcomes = (contents(window, seen + coming, horizon=None) for coming in comings)
        assert any(id not in outcome or outcome[id][1] != content for outcome in outcomes)


def contents(
    window: Window, events: list[Event], *, horizon: int | None
) -> dict[int, tuple[Extent, tuple[int, ...]]]:
    """Every window of these events, with the ordinals that it holds."""
    placed, _ = window.place(arrange(events, Order.EVENT_TIME))
    return {
        extent.id: (extent, tuple(event.ordinal for event in placed[extent.lo : extent.hi]))
        for extent in window.extents(placed, horizon=horizon, empty=True)
    }
