"""Count, time and cumulating windows, against their formulas: written out, without a closed form."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings, strategies as st

from sash.semantics import windows
from sash.semantics.window import ContextFreeWindow, Window
from tests.semantics.strategies import KINDS, events_of, streams

Held = dict[int, list[int]]
ANYWHERE = st.integers(-(10**15), 10**15)
"""Where microseconds since 1970 lie, and their negatives."""


def held(
    window: Window, rows: list[dict[str, Any]], *, horizon: int | None = None, empty: bool = False
) -> Held:
    """What the implementation returns: identifier → numbers of the events."""
    events = events_of(rows)
    return {
        extent.id: [event.values["e"] for event in events[extent.lo : extent.hi]]
        for extent in window.extents(events, horizon=horizon, empty=empty)
    }


def non_empty(candidates: Held) -> Held:
    return {w: events for w, events in candidates.items() if events}


@given(window=KINDS[windows.RowsWindow], x=st.integers(-5, 10**12), off=st.integers(-8, 8))
def test_a_position_is_in_a_window_of_rows_exactly_when_the_window_is_mapped_to_it(
    window: ContextFreeWindow, x: int, off: int
) -> None:
    w = x // window.slide + off
    assert (x in window.extent(w)) == (w in window.mapping(x))


@given(window=KINDS[windows.TimeWindow], x=ANYWHERE, off=st.integers(-20, 20))
def test_a_time_is_in_a_time_window_exactly_when_the_window_is_mapped_to_it(
    window: ContextFreeWindow, x: int, off: int
) -> None:
    w = (x - window.origin) // window.slide + off
    assert (x in window.extent(w)) == (w in window.mapping(x))


@given(window=KINDS[windows.CumulateWindow], x=ANYWHERE, off=st.integers(-12, 12))
def test_a_time_is_in_a_cumulating_window_exactly_when_the_window_is_mapped_to_it(
    window: ContextFreeWindow, x: int, off: int
) -> None:
    w = (x - window.origin) // window.step + off
    assert (x in window.extent(w)) == (w in window.mapping(x))


def test_there_are_no_windows_of_rows_before_the_first_event() -> None:
    window = windows.rows(4, every=2)
    assert not window.extent(-1)
    assert not window.mapping(-1)
    assert list(window.mapping(0)) == [0]


@given(size=st.integers(1, 6), slide=st.integers(1, 6), rows=streams(max_size=14))
def test_oracle_windows_of_rows_hold_the_positions_of_the_formula(
    size: int, slide: int, rows: list[dict[str, Any]]
) -> None:
    n = len(rows)
    expected = {w: [i for i in range(n) if w * slide <= i < w * slide + size] for w in range(n)}
    assert held(windows.rows(size, every=slide), rows) == non_empty(expected)


@given(size=st.integers(1, 5), hop=st.integers(1, 5), rows=streams(max_size=14))
def test_oracle_events_between_windows_of_rows_belong_to_none(
    size: int, hop: int, rows: list[dict[str, Any]]
) -> None:
    found = held(windows.rows(size, every=size + hop), rows)
    in_some = {e for events in found.values() for e in events}
    assert in_some == {i for i in range(len(rows)) if i % (size + hop) < size}


@given(
    size=st.integers(1, 15),
    slide=st.integers(1, 15),
    origin=st.integers(-20, 20),
    rows=streams(max_size=14),
)
def test_oracle_time_windows_hold_the_times_of_the_formula(
    size: int, slide: int, origin: int, rows: list[dict[str, Any]]
) -> None:
    expected = {
        w: [row["e"] for row in rows if origin + w * slide <= row["t"] < origin + w * slide + size]
        for w in range(-100, 101)
    }
    assert held(windows.time(size, slide, origin=origin), rows) == non_empty(expected)


@given(
    size=st.integers(1, 15),
    slide=st.integers(1, 15),
    rows=streams(),
    horizon=st.integers(-60, 60),
)
def test_oracle_empty_time_windows_reach_from_the_first_event_to_the_horizon(
    size: int, slide: int, rows: list[dict[str, Any]], horizon: int
) -> None:
    times = [row["t"] for row in rows]
    expected = {
        w: [row["e"] for row in rows if w * slide <= row["t"] < w * slide + size]
        for w in range(-100, 101)
        if rows and w * slide + size > min(times) and w * slide <= max(*times, horizon)
    }
    assert held(windows.time(size, slide), rows, horizon=horizon, empty=True) == expected


@given(
    steps=st.integers(1, 5), step=st.integers(1, 5), origin=st.integers(-20, 20), rows=streams(max_size=14)
)
def test_oracle_cumulating_windows_grow_from_every_start(
    steps: int, step: int, origin: int, rows: list[dict[str, Any]]
) -> None:
    size = steps * step
    expected = {
        block * steps + grown - 1: [
            row["e"]
            for row in rows
            if origin + block * size <= row["t"] < origin + block * size + grown * step
        ]
        for block in range(-80, 81)
        for grown in range(1, steps + 1)
    }
    assert held(windows.cumulate(size, step, origin=origin), rows) == non_empty(expected)


@given(window=KINDS[windows.CumulateWindow], rows=streams())
@settings(max_examples=50)
def test_the_last_window_of_a_cumulation_is_a_tumbling_window(
    window: windows.CumulateWindow, rows: list[dict[str, Any]]
) -> None:
    tumbling = held(windows.tumbling(window.size, origin=window.origin), rows)
    full = {w: events for w, events in held(window, rows).items() if w % window.steps == window.steps - 1}
    assert {w // window.steps: events for w, events in full.items()} == tumbling


def test_durations_with_a_unit_cut_in_microseconds() -> None:
    window = windows.sliding("1 hour", every="1 minute")
    assert window.extent(0) == range(3_600_000_000)
    assert len(window.mapping(10**15)) == 60
    assert windows.tumbling("1 day", origin="-1 hour").extent(0).start == -3_600_000_000
