"""Queries that make no sense are refused before the first event, with what would work."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sash.errors import ArgumentError, DurationError, UnitError, Unsupported
from sash.semantics.durations import Duration, Unit, parse
from sash.semantics.event import Order
from sash.semantics.query import Emit, Query, When
from sash.semantics.windows import (
    cumulate,
    delta,
    rows,
    session,
    slide_by_time,
    slide_by_tuple,
    sliding,
    threshold,
    tumbling,
)

HOUR, MINUTE = parse("1 hour", "delay"), parse("1 minute", "delay")
TEN = Duration(10, Unit.TICKS)


def query(*windows: Any, **options: Any) -> Query:
    return Query(windows=windows, **options)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: query(), ArgumentError, "windows must be at least one window; got ()"),
        (lambda: query("1 hour"), ArgumentError, "windows must be a window such as sash.sliding('1 hour'"),
        (lambda: query(rows(5), rows(5)), ArgumentError,
         "windows must be windows with different names; got 'rows(5, every=5)'. Give each a name"),
        (lambda: query(rows(5).named("a"), session(3).named("a")), ArgumentError,
         "windows must be windows with different names; got 'a'"),
        (lambda: query(rows(5), delay=Duration(-1, Unit.TICKS)), DurationError,
         "delay must be zero or longer; got Duration(length=-1"),
        (lambda: query(rows(5), allowed_lateness=Duration(-1, Unit.TICKS)), DurationError,
         "allowed_lateness must be zero or longer"),
        (lambda: query(tumbling("1 hour"), delay=TEN), UnitError,
         "delay must be in the same unit as windows (durations such as '1 hour'); got 10"),
        (lambda: query(tumbling(10), delay=HOUR), UnitError,
         "delay must be in the same unit as windows (integers); got '1 hour'"),
        (lambda: query(tumbling(10), allowed_lateness=MINUTE), UnitError,
         "allowed_lateness must be in the same unit as windows (integers); got '1 minute'"),
        (lambda: query(tumbling("1 hour"), emit=Emit.parse("every 10")), UnitError,
         "emit must be in the same unit as windows (durations such as '1 hour'); got 10"),
        (lambda: query(rows(5), delay=TEN, allowed_lateness=HOUR), UnitError,
         "allowed_lateness must be in the same unit as delay (integers); got '1 hour'"),
        (lambda: query(tumbling("1 hour"), session(10)), UnitError,
         "windows must be all in durations like '1 hour' or all in integers; "
         "got ['time(1 hour, 1 hour)', 'session(10)']"),
        (lambda: query(rows(5), order="arrival"), ArgumentError,
         "order must be Order.EVENT_TIME or Order.ARRIVAL; got 'arrival'"),
    ],
)  # fmt: skip
def test_a_query_that_makes_no_sense_is_refused(
    make: Callable[[], Query], error: type[ArgumentError], message: str
) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)) as refused:
        make()
    assert type(refused.value) is error


@pytest.mark.parametrize(
    "window",
    [
        sliding(10, every=5),
        tumbling(10),
        cumulate(10, 5),
        slide_by_tuple(5, 1),
        slide_by_time(1, 5),
        session(5),
    ],
    ids=str,
)
def test_a_window_that_is_cut_by_time_cannot_run_in_arrival_order(window: Any) -> None:
    with pytest.raises(
        Unsupported, match=re.escape(f"order must be 'event-time' for {window}; got 'arrival'")
    ):
        query(window, order=Order.ARRIVAL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"delay": TEN},
            "delay must be zero in arrival order; got '10'. In arrival order no event is late",
        ),
        ({"allowed_lateness": HOUR}, "allowed_lateness must be zero in arrival order; got '1 hour'"),
        (
            {"emit": Emit.parse("every 10 seconds")},
            "emit must be 'close' or 'change', as arrival order has no clock; got 'every 10 seconds'",
        ),
    ],
    ids=["delay", "allowed_lateness", "emit"],
)
def test_arrival_order_has_no_clock(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Unsupported, match=re.escape(message)):
        query(rows(5), order=Order.ARRIVAL, **options)


@pytest.mark.parametrize(
    "window",
    [rows(5), delta("d", 5, 1), threshold(lambda row: row.x)],
    ids=["rows", "delta", "threshold"],
)
def test_a_window_that_is_cut_by_events_can_run_in_arrival_order(window: Any) -> None:
    assert query(window, order=Order.ARRIVAL).time_unit is Unit.EVENTS


@pytest.mark.parametrize("name", ["windows", "delay", "allowed_lateness", "emit"])
def test_a_window_may_be_named_like_an_argument_and_its_unit_still_counts(name: str) -> None:
    assert query(tumbling("1 hour").named(name)).time_unit is Unit.MICROSECONDS
    with pytest.raises(UnitError):
        query(tumbling("1 hour").named(name), delay=TEN, allowed_lateness=TEN, emit=Emit.parse("every 10"))


def test_the_unit_of_a_query_is_that_of_whatever_has_one() -> None:
    assert query(rows(5)).time_unit is Unit.EVENTS
    assert query(rows(5), delay=HOUR).time_unit is Unit.MICROSECONDS
    assert query(rows(5), emit=Emit.parse("every 5")).time_unit is Unit.TICKS
    assert query(rows(5), session(3)).time_unit is Unit.TICKS
    assert query(tumbling("1 hour"), delay=Duration(0, Unit.TICKS)).time_unit is Unit.MICROSECONDS


def test_only_lateness_and_early_reports_bring_revisions() -> None:
    assert not query(rows(5), delay=TEN).corrects
    assert query(rows(5), allowed_lateness=TEN).corrects
    assert query(rows(5), emit=Emit.parse("change")).corrects
    assert query(rows(5), emit=Emit.parse("every 5")).corrects


@pytest.mark.parametrize(
    "given", ["closed", "", "every", "every5", "Every 5", None, 5, ["close"]], ids=repr
)
def test_what_is_no_emit_is_refused(given: Any) -> None:
    with pytest.raises(ArgumentError) as refused:
        Emit.parse(given)
    message = f"emit must be 'close', 'change' or 'every <duration>'; got {given!r}"
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("given", "works"),
    [
        ("every 0", "longer than zero; got 0"),
        ("every -1 hour", "longer than zero; got '-1 hour'"),
        ("every 1 month", "of a fixed length; got '1 month'"),
        ("every now and then", "a duration such as '10 seconds'"),
    ],
)
def test_a_period_that_makes_no_sense_is_refused(given: str, works: str) -> None:
    with pytest.raises(DurationError, match=f"^emit must be .*{re.escape(works)}"):
        Emit.parse(given)


def test_a_periodic_emit_that_is_built_directly_needs_a_period() -> None:
    with pytest.raises(DurationError, match=r"^emit must be longer than zero"):
        Emit(When.EVERY)


@given(st.one_of(st.just("close"), st.just("change"), st.integers(1, 10**9).map(lambda n: f"every {n}")))
def test_an_emit_that_is_written_is_read_again_as_the_same(text: str) -> None:
    emit = Emit.parse(text)
    assert str(emit) == text
    assert Emit.parse(str(emit)) == emit == Emit.parse(emit)
    assert emit.early == (text != "close")
