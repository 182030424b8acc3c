"""The windows that depend on their events, against their definitions, word by word.

Each expected answer is a set comprehension over the positions of the events: nothing here bisects, scans
once or keeps a running state, as the implementations do.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from hypothesis import given, strategies as st

from sash.semantics import windows
from sash.semantics.event import sequence
from sash.semantics.window import Window
from tests.semantics.strategies import POLICIES, events_of, policy_of, streams

Rows = list[dict[str, Any]]
Held = dict[int, set[int]]


def held(window: Window, rows: Rows, *, horizon: int | None = None, empty: bool = False) -> Held:
    """What the implementation returns: identifier → numbers of the events."""
    placed, _ = window.place(events_of(rows))
    return {
        extent.id: {event.values["e"] for event in placed[extent.lo : extent.hi]}
        for extent in window.extents(placed, horizon=horizon, empty=empty)
    }


@given(size=st.integers(1, 15), every=st.integers(1, 4), rows=streams(max_size=14))
def test_oracle_slide_by_tuple_is_its_definition(size: int, every: int, rows: Rows) -> None:
    times = [row["t"] for row in rows]
    triggers = {w: (w + 1) * every - 1 for w in range(len(rows)) if (w + 1) * every - 1 < len(rows)}
    expected = {
        w: {p for p, time in enumerate(times) if times[r] - size < time <= times[r]}
        for w, r in triggers.items()
    }
    found = held(windows.slide_by_tuple(size, every), rows)
    assert found == expected
    nowhere = {
        p
        for p, t in enumerate(times)
        if not any(times[r] - size < t <= times[r] for r in triggers.values())
    }
    assert set(range(len(rows))) - set().union(*found.values()) == nowhere


def test_slide_by_tuple_leaves_out_events_after_the_last_trigger_and_between_two_ranges() -> None:
    #   t   1     5  6     20  21  22  23
    #   r            r0            r1            e6 comes after the last trigger
    #   w0        (4---6]
    #   w1                     (20---22]
    events = sequence([1, 5, 6, 20, 21, 22, 23])
    window = windows.slide_by_tuple(2, 3)
    assert [list(window.mapping(p, events)) for p in range(7)] == [[], [0], [0], [], [1], [1], []]


@given(
    size=st.integers(1, 5),
    every=st.integers(1, 15),
    origin=st.integers(-20, 20),
    rows=streams(max_size=14),
    horizon=st.one_of(st.none(), st.integers(-60, 60)),
)
def test_oracle_slide_by_time_holds_the_last_events_before_every_instant(
    size: int, every: int, origin: int, rows: Rows, horizon: int | None
) -> None:
    times = [row["t"] for row in rows]
    known = max([*times, -math.inf if horizon is None else horizon], default=0)
    instants = {w: origin + (w + 1) * every for w in range(-200, 201)}
    expected = {
        w: {
            p
            for p, time in enumerate(times)
            if time < T and len([q for q in range(p + 1, len(times)) if times[q] < T]) < size
        }
        for w, T in instants.items()
        if times and min(times) < T and T - every <= known
    }
    assert held(windows.slide_by_time(size, every, origin=origin), rows, horizon=horizon) == expected


@given(gap=st.integers(1, 15), rows=streams(max_size=14))
def test_oracle_sessions_are_what_can_be_reached_in_steps_of_at_most_the_gap(gap: int, rows: Rows) -> None:
    times = [row["t"] for row in rows]
    reach = {
        (p, q) for p in range(len(times)) for q in range(len(times)) if abs(times[p] - times[q]) <= gap
    }
    for _ in times:
        reach |= {(p, r) for p, q in reach for q2, r in reach if q == q2}
    expected = {}
    for p in range(len(times)):
        together = {q for q in range(len(times)) if (p, q) in reach}
        expected[min(times[q] for q in together)] = together
    assert held(windows.session(gap), rows) == expected


@given(
    size=st.integers(1, 12),
    every=st.integers(1, 8),
    closed=st.sampled_from(["left", "right"]),
    rows=streams(max_size=14),
)
def test_oracle_delta_is_its_definition(size: int, every: int, closed: Any, rows: Rows) -> None:
    window = windows.delta("d", size, every, closed=closed)
    placed = [event.values for event in window.place(events_of(rows))[0]]
    deltas = [row["d"] for row in placed]
    triggers = [0] if placed else []
    while later := [p for p in range(len(deltas)) if triggers and deltas[p] - deltas[triggers[-1]] > every]:
        triggers.append(min(later))

    def inside(value: float, at: float) -> bool:
        return at - size <= value < at or (closed == "right" and value == at)

    expected = {
        w: {row["e"] for row in placed if inside(row["d"], deltas[r])} for w, r in enumerate(triggers)
    }
    found = held(window, rows, empty=True)
    assert found == expected
    nowhere = {row["e"] for row in placed if not any(inside(row["d"], deltas[r]) for r in triggers)}
    assert {row["e"] for row in placed} - set().union(*found.values()) == nowhere


@given(rows=streams(max_size=14))
def test_oracle_delta_places_exactly_the_numbers_that_reach_the_greatest_before_them(rows: Rows) -> None:
    def number(value: Any) -> bool:
        return value is not None and value == value

    greatest = [
        max((row["d"] for row in rows[:p] if number(row["d"])), default=-math.inf) for p in range(len(rows))
    ]
    expected = {p: row["d"] for p, row in enumerate(rows) if number(row["d"]) and row["d"] >= greatest[p]}
    placed, displaced = windows.delta("d", 5, 3).place(events_of(rows))
    assert [event.ordinal for event in placed] == list(expected)
    assert {event.ordinal: reason for event, reason in displaced} == {
        p: "d decreased" if number(row["d"]) else "d is not a number"
        for p, row in enumerate(rows)
        if p not in expected
    }


def test_delta_leaves_out_events_after_the_last_trigger_and_between_two_extents() -> None:
    #   km  0   1   10   11   12   20   21
    #   r   r0      r1             r2           the slide is 8, the size 2
    #   w0  )
    #   w1          )                           [8, 10) holds nothing
    #   w2                         )            [18, 20) holds nothing
    events = sequence(range(7), km=[0, 1, 10, 11, 12, 20, 21])
    window = windows.delta("km", 2, 8)
    assert [list(window.mapping(p, events)) for p in range(7)] == [[]] * 7
    wider = windows.delta("km", 9, 8)
    assert [list(wider.mapping(p, events)) for p in range(7)] == [[], [1], [], [2], [2], [], []]


@given(
    kept=st.sampled_from(sorted(POLICIES)), n=st.integers(1, 12), every=st.integers(1, 4), rows=streams()
)
def test_oracle_a_policy_evicts_the_longest_prefix_for_which_it_is_true(
    kept: str, n: int, every: int, rows: Rows
) -> None:
    rule = {
        "the last n": lambda window, k: len(window) - k >= n,
        "the last n of time": lambda window, k: window[-1]["t"] - window[k - 1]["t"] >= n,
        "a sum of at most n": lambda window, k: sum(row["x"] for row in window[k - 1 :]) > n,
        "nothing after more than n": lambda window, k: max(row["x"] for row in window) > n,
    }[kept]
    window: Rows = []
    expected: Held = {}
    for inserted, row in enumerate(rows, start=1):
        window = [*window, row]
        leaving = max((k for k in range(1, len(window) + 1) if rule(window, k)), default=0)
        window = window[leaving:]
        if inserted % every == 0:
            expected[inserted // every - 1] = {row["e"] for row in window}
    assert held(policy_of(kept, n, every), rows, empty=True) == expected
    assert held(policy_of(kept, n, every), rows) == {w: events for w, events in expected.items() if events}


@given(least=st.integers(0, 9), rows=streams(max_size=14))
def test_oracle_threshold_windows_are_the_runs_that_cannot_be_extended(least: int, rows: Rows) -> None:
    n = len(rows)
    inside = [row["x"] > least for row in rows]
    runs = [
        (lo, hi)
        for lo in range(n)
        for hi in range(lo + 1, n + 1)
        if all(inside[lo:hi]) and (lo == 0 or not inside[lo - 1]) and (hi == n or not inside[hi])
    ]
    expected = {w: set(range(lo, hi)) for w, (lo, hi) in enumerate(sorted(runs))}
    found = held(windows.threshold(lambda row: row.x > least), rows)
    assert found == expected
    assert set().union(*found.values()) == {p for p in range(n) if inside[p]}


@given(mark=st.integers(0, 9), rows=streams(max_size=14))
def test_oracle_a_punctuated_window_is_named_by_the_punctuations_before_its_events(
    mark: int, rows: Rows
) -> None:
    before = [len([row for row in rows[:p] if row["x"] == mark]) for p in range(len(rows))]
    expected = {w: {p for p in range(len(rows)) if before[p] == w} for w in before}
    assert held(windows.punctuated(lambda row: row.x == mark), rows) == expected


def test_delta_takes_the_decimals_that_spark_gives() -> None:
    litres = [Decimal("0.10"), Decimal("0.35"), Decimal("0.60")]
    extents = windows.delta("x", 0.25, 0.25).extents(sequence(range(3), x=litres), empty=True)
    assert [(e.id, e.lo, e.hi) for e in extents] == [(0, 0, 0), (1, 1, 2)]
