"""The watermark: how far event time has come, and what that makes of an event."""

from __future__ import annotations

from hypothesis import given, strategies as st

from sash.semantics.event import Order, arrange, sequence
from sash.semantics.watermark import Lateness, Watermark

TIMES = st.lists(st.integers(-100, 100), min_size=1)


def test_before_the_first_event_everything_is_on_time_and_nothing_is_reached() -> None:
    mark = Watermark(delay=5)
    assert mark.value is None
    assert mark.judge(-(10**18)) is Lateness.ON_TIME
    assert not mark.has_reached(-(10**18))


@given(TIMES, st.integers(0, 20))
def test_the_watermark_is_the_greatest_time_less_the_delay(times: list[int], delay: int) -> None:
    mark = Watermark(delay=delay)
    mark.observe(times)
    assert mark.value == max(times) - delay
    assert mark.horizon == max(times)


@given(TIMES, st.integers(0, 20), st.integers(-100, 100))
def test_a_source_moves_the_watermark_forward_and_never_back(
    times: list[int], delay: int, given_mark: int
) -> None:
    mark = Watermark(delay=delay)
    mark.observe(times)
    mark.advance_to(given_mark)
    assert mark.value == max(max(times) - delay, given_mark)
    assert mark.horizon == max(*times, given_mark)


@given(TIMES)
def test_the_watermark_never_decreases(times: list[int]) -> None:
    mark, seen = Watermark(), []
    for time in times:
        mark.observe([time])
        seen.append(mark.value)
    assert seen == sorted(seen)


@given(st.integers(-50, 50), st.integers(0, 20), st.integers(-100, 100))
def test_an_event_is_judged_by_how_far_it_is_behind(value: int, lateness: int, time: int) -> None:
    mark = Watermark(allowed_lateness=lateness)
    mark.advance_to(value)
    behind = value - time
    expected = (
        Lateness.ON_TIME if behind <= 0 else Lateness.REOPENS if behind <= lateness else Lateness.TOO_LATE
    )
    assert mark.judge(time) is expected
    assert mark.has_reached(time) == (behind >= 0)


@given(TIMES)
def test_event_time_order_sorts_by_time_and_keeps_ties_as_they_arrived(times: list[int]) -> None:
    events = sequence(times)
    ordered = arrange(reversed(events), Order.EVENT_TIME)
    assert [(event.time, event.ordinal) for event in ordered] == sorted(
        zip(times, range(len(times)), strict=True)
    )
    assert arrange(reversed(events), Order.ARRIVAL) == events
