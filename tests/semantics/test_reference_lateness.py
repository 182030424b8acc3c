"""The reference, when events come late: corrections are right, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby, pairwise

import pytest
from hypothesis import given, settings, strategies as st

from sash.semantics import windows
from sash.semantics.event import Order, arrange
from sash.semantics.query import Emit
from sash.semantics.reference import Batch, Outcome, WindowReport, evaluate
from sash.semantics.window import Window
from tests.semantics.strategies import ANY_WINDOW, KINDS, Stream, arrivals_of, cut, events_of, streams
from tests.semantics.test_reference_order import EARLY, collapsed, displaced, query_of, ticks

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
EMITS = st.one_of(st.just("close"), EARLY).map(Emit.parse)
FOREVER = ticks(10_000)


@every_kind
@given(
    data=st.data(), rows=streams(distinct=True, nulls=True), delay=st.integers(0, 10), emit=EMITS,
    empty=st.booleans(),
)  # fmt: skip
@settings(max_examples=30)
def test_with_enough_allowed_lateness_any_order_of_arrival_ends_in_the_result_of_the_sorted_one(
    kind: type[Window], data: st.DataObject, rows: Stream, delay: int, emit: Emit, empty: bool
) -> None:
    window = data.draw(KINDS[kind])
    query = query_of(window, delay=ticks(delay), allowed_lateness=FOREVER, emit=emit, empty=empty)
    shuffled = data.draw(st.permutations(rows))
    in_order = evaluate(query, [Batch(arrivals_of(rows))])
    out_of_order = evaluate(query, data.draw(cut(arrivals_of(shuffled))))
    assert collapsed(out_of_order) == collapsed(in_order)
    assert displaced(out_of_order) == displaced(in_order)


@every_kind
@given(data=st.data(), rows=streams(nulls=True), emit=EMITS, empty=st.booleans(), flush=st.booleans())
@settings(max_examples=30)
def test_revisions_count_up_and_each_says_something_new(
    kind: type[Window], data: st.DataObject, rows: Stream, emit: Emit, empty: bool, flush: bool
) -> None:
    window = data.draw(KINDS[kind])
    query = query_of(window, allowed_lateness=FOREVER, emit=emit, empty=empty, flush=flush)
    outcome = evaluate(query, data.draw(cut(arrivals_of(data.draw(st.permutations(rows))))))
    for reports in by_window(outcome):
        assert [report.revision for report in reports] == list(range(len(reports)))
        repeated = [after for before, after in pairwise(reports) if before.ordinals == after.ordinals]
        # A periodic query tells a window once more when it closes, which may be all that is new.
        assert not repeated or (str(emit).startswith("every") and len(repeated) == 1)


@given(
    data=st.data(), rows=streams(nulls=True), delay=st.integers(0, 10), lateness=st.integers(0, 30),
    emit=EMITS,
)  # fmt: skip
@settings(max_examples=120)
def test_every_arrival_is_either_placed_or_in_the_late_output_exactly_once(
    data: st.DataObject, rows: Stream, delay: int, lateness: int, emit: Emit
) -> None:
    everything, other = windows.rows(1).named("everything"), data.draw(ANY_WINDOW).named("other")
    query = query_of(everything, other, delay=ticks(delay), allowed_lateness=ticks(lateness), emit=emit)
    arrivals = [
        replace(arrival, time=data.draw(st.sampled_from([arrival.time, arrival.time, arrival.time, None])))
        for arrival in arrivals_of(data.draw(st.permutations(rows)))
    ]
    batches = [
        replace(batch, watermark=data.draw(st.one_of(st.none(), st.integers(-60, 60))))
        for batch in data.draw(cut(arrivals))
    ]
    outcome = evaluate(query, batches)
    final = collapsed(outcome)
    placed = [e for (_, name, _), (_, _, holds) in final.items() if name == "everything" for e in holds]
    refused = [late.arrival.values["e"] for late in outcome.late if late.window is None]
    assert Counter(placed + refused) == Counter(row["e"] for row in rows)
    assert {late.arrival.values["e"]: late.reason for late in outcome.late if late.window is None} == (
        refused_by_hand(batches, delay, lateness)
    )
    accepted = [
        row for batch in batches for row in (a.values for a in batch.arrivals) if row["e"] in placed
    ]
    without_place = Counter(e for e, _, name in displaced(outcome) if name == "other")
    assert without_place == Counter(e for key in "ab" for e in displaced_by_hand(other, accepted, key))


def refused_by_hand(batches: list[Batch], delay: int, lateness: int) -> dict[int, str]:
    """Which events are too late or have no time: the rule of the watermark, batch by batch."""
    refused = {}
    for count, batch in enumerate(batches):
        before = batches[:count]
        stamps = [a.time - delay for earlier in before for a in earlier.arrivals if a.time is not None]
        marks = [earlier.watermark for earlier in before if earlier.watermark is not None]
        watermark = max([*stamps, *marks], default=-10_000)
        for arrival in batch.arrivals:
            if arrival.time is None:
                refused[arrival.values["e"]] = "time is null"
            elif arrival.time < watermark - lateness:
                refused[arrival.values["e"]] = "behind the watermark"
    return refused


def displaced_by_hand(window: Window, rows: Stream, key: str) -> list[int]:
    own = [row for row in rows if "ab"[row["e"] % 2] == key]
    _, out_of_place = window.place(arrange(events_of(own), Order.EVENT_TIME))
    return [event.values["e"] for event, _ in out_of_place]


@every_kind
@given(data=st.data(), rows=streams(nulls=True), lateness=st.integers(0, 30))
@settings(max_examples=25)
def test_too_late_events_leave_the_result_as_if_they_had_never_come(
    kind: type[Window], data: st.DataObject, rows: Stream, lateness: int
) -> None:
    query = query_of(data.draw(KINDS[kind]), allowed_lateness=ticks(lateness))
    batches = data.draw(cut(arrivals_of(data.draw(st.permutations(rows)))))
    outcome = evaluate(query, batches)
    too_late = {late.arrival.values["e"] for late in outcome.late if late.window is None}
    without = [
        replace(batch, arrivals=tuple(a for a in batch.arrivals if a.values["e"] not in too_late))
        for batch in batches
    ]
    assert evaluate(query, without).reports == outcome.reports


def test_an_event_that_a_window_has_no_place_for_is_late_for_that_window_only() -> None:
    rows = [{"e": 0, "t": 0, "x": 1, "d": 5}, {"e": 2, "t": 1, "x": 1, "d": 3}]
    query = query_of(windows.delta("d", 5, 1).named("grown"), windows.rows(1).named("all"))
    outcome = evaluate(query, [Batch(arrivals_of(rows))])
    assert displaced(outcome) == [(2, "d decreased", "grown")]
    assert [report.values["holds"] for report in outcome.reports if report.window == "all"] == [(0,), (2,)]


def by_window(outcome: Outcome) -> list[list[WindowReport]]:
    def identity(report: WindowReport) -> tuple[str, str, int]:
        return str(report.key), report.window, report.id

    return [list(reports) for _, reports in groupby(sorted(outcome.reports, key=identity), key=identity)]
