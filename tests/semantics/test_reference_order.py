"""The reference, when nobody is late: how the input is cut and in which order it comes does not matter."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Order, arrange
from sash.semantics.query import Emit, Query
from sash.semantics.reference import Batch, Outcome, evaluate, one_by_one
from sash.semantics.window import Window
from tests.semantics.strategies import (
    ANY_WINDOW,
    COLLECT,
    KINDS,
    Stream,
    arrivals_of,
    cut,
    delayed,
    events_of,
    streams,
)

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
EARLY = st.one_of(st.just("change"), st.integers(1, 20).map(lambda period: f"every {period}"))


def ticks(length: int) -> Duration:
    return Duration(length, Unit.TICKS)


def query_of(*windows: Window, **options: object) -> Query:
    return Query(windows=windows, aggregates={"holds": COLLECT}, **options)


def collapsed(outcome: Outcome, *, empty: bool = False) -> dict:
    """The last revision of every window. A dissolved window is as good as one that never was."""
    last = {(report.key, report.window, report.id): report for report in outcome.reports}
    return {
        identity: (report.start, report.end, report.values["holds"])
        for identity, report in last.items()
        if report.ordinals or empty
    }


def displaced(outcome: Outcome) -> list[tuple[int, str, str | None]]:
    return sorted((late.arrival.values["e"], late.reason, late.window) for late in outcome.late)


@every_kind
@given(data=st.data(), rows=streams(nulls=True), delay=st.integers(0, 20), empty=st.booleans())
@settings(max_examples=30)
def test_the_result_depends_neither_on_batches_nor_on_arrival_within_the_delay(
    kind: type[Window], data: st.DataObject, rows: Stream, delay: int, empty: bool
) -> None:
    query = query_of(data.draw(KINDS[kind]), empty=empty, delay=ticks(delay))
    at_once = evaluate(query, [Batch(arrivals_of(rows))])
    arriving = data.draw(delayed(rows, delay))
    in_pieces = evaluate(query, data.draw(cut(arrivals_of(arriving))))
    assert collapsed(in_pieces, empty=empty) == collapsed(at_once, empty=empty)
    assert displaced(in_pieces) == displaced(at_once)


@every_kind
@given(data=st.data(), rows=streams(nulls=True), delay=st.integers(0, 20), empty=st.booleans())
@settings(max_examples=25)
def test_when_nobody_is_late_every_window_is_told_once_and_no_sooner_than_it_closes(
    kind: type[Window], data: st.DataObject, rows: Stream, delay: int, empty: bool
) -> None:
    query = query_of(data.draw(KINDS[kind]), empty=empty, delay=ticks(delay))
    arriving = data.draw(delayed(rows, delay))
    outcome = evaluate(query, one_by_one(arrivals_of(arriving)))
    identities = [(report.key, report.id) for report in outcome.reports]
    assert len(identities) == len(set(identities))
    assert all(report.revision == 0 for report in outcome.reports)
    streamed = evaluate(replace(query, flush=False), one_by_one(arrivals_of(arriving))).reports
    assert outcome.reports[: len(streamed)] == streamed
    times = [report.at for report in streamed]
    assert times == sorted(times)
    assert all(report.at is None for report in outcome.reports[len(streamed) :])


@every_kind
@given(data=st.data(), rows=streams(nulls=True), watermark=st.integers(-45, 45), empty=st.booleans())
@settings(max_examples=25)
def test_oracle_a_stream_that_has_not_ended_tells_exactly_the_windows_that_the_watermark_closed(
    kind: type[Window], data: st.DataObject, rows: Stream, watermark: int, empty: bool
) -> None:
    window = data.draw(KINDS[kind])
    query = query_of(window, empty=empty, flush=False, delay=ticks(1000))
    outcome = evaluate(query, [Batch(arrivals_of(rows), watermark)])
    horizon = max([watermark, *(row["t"] for row in rows)])
    expected = set()
    for key in {arrival.key for arrival in arrivals_of(rows)}:
        own = [row for row in rows if "ab"[row["e"] % 2] == key]
        placed, _ = window.place(arrange(events_of(own), Order.EVENT_TIME))
        expected |= {
            (key, extent.id, tuple(event.values["e"] for event in placed[extent.lo : extent.hi]))
            for extent in window.extents(placed, horizon=horizon, empty=empty)
            if extent.closes_at is not None and extent.closes_at <= watermark
        }
    assert {(report.key, report.id, report.values["holds"]) for report in outcome.reports} == expected
    assert all(report.at == watermark for report in outcome.reports)


@every_kind
@given(data=st.data(), rows=streams(nulls=True), delay=st.integers(0, 20), emit=EARLY, empty=st.booleans())
@settings(max_examples=30)
def test_early_reports_never_change_the_final_content(
    kind: type[Window], data: st.DataObject, rows: Stream, delay: int, emit: str, empty: bool
) -> None:
    on_close = query_of(data.draw(KINDS[kind]), empty=empty, delay=ticks(delay))
    early = replace(on_close, emit=Emit.parse(emit))
    batches = data.draw(cut(arrivals_of(data.draw(delayed(rows, delay)))))
    assert collapsed(evaluate(early, batches)) == collapsed(evaluate(on_close, batches))
    assert displaced(evaluate(early, batches)) == displaced(evaluate(on_close, batches))


@given(data=st.data(), rows=streams(nulls=True), delay=st.integers(0, 20))
@settings(max_examples=30)
def test_several_windows_are_told_as_if_each_were_alone(
    data: st.DataObject, rows: Stream, delay: int
) -> None:
    windows = [data.draw(ANY_WINDOW).named(name) for name in ("first", "second", "third")]
    batches = data.draw(cut(arrivals_of(data.draw(delayed(rows, delay)))))
    together = evaluate(query_of(*windows, delay=ticks(delay)), batches)
    alone = [evaluate(query_of(window, delay=ticks(delay)), batches) for window in windows]
    assert sorted(map(repr, together.reports)) == sorted(repr(r) for one in alone for r in one.reports)
    assert displaced(together) == sorted(late for one in alone for late in displaced(one))


@given(data=st.data(), rows=streams(nulls=True))
@settings(max_examples=30)
def test_in_arrival_order_times_and_watermarks_do_not_matter(data: st.DataObject, rows: Stream) -> None:
    kinds = [kind for kind in KINDS if Order.ARRIVAL in kind.orders]
    window = data.draw(st.one_of(*(KINDS[kind] for kind in kinds)))
    query = query_of(window, order=Order.ARRIVAL)
    # `t` is payload for the policy that looks at it; the time of the event itself is moved.
    arrivals = arrivals_of(rows)
    moved = [replace(arrival, time=data.draw(st.integers(-9, 9))) for arrival in arrivals]
    watermarked = [Batch((arrival,), data.draw(st.integers(-50, 50))) for arrival in moved]
    expected = evaluate(query, [Batch(arrivals)])
    found = evaluate(query, watermarked)
    assert contents_only(found) == contents_only(expected)
    assert displaced(found) == displaced(expected)
    assert all(report.revision == 0 and report.at is None for report in found.reports)


def contents_only(outcome: Outcome) -> dict:
    return {identity: holds for identity, (_, _, holds) in collapsed(outcome).items()}
