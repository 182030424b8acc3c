"""Durations: read exactly, written so that they can be read again, and never guessed at."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, strategies as st

from sash.errors import ArgumentError, DurationError, UnitError
from sash.semantics.durations import (
    MICROSECONDS,
    Duration,
    Unit,
    format_length,
    not_negative,
    parse,
    positive,
    same_unit,
)

LENGTHS = st.integers(-(10**18), 10**18)


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1 microsecond", 1),
        ("2 milliseconds", 2_000),
        ("10 seconds", 10_000_000),
        ("1 minute", 60_000_000),
        ("1 hour", 3_600_000_000),
        ("1 day", 86_400_000_000),
        ("2 weeks", 1_209_600_000_000),
        ("1 hour 30 minutes", 5_400_000_000),
        ("1 hour, 30 minutes", 5_400_000_000),
        ("1 day -1 hour", 82_800_000_000),
        ("INTERVAL 5 MINUTES", 300_000_000),
        ("interval 1 day 1 second", 86_401_000_000),
        ("  5   minutes ", 300_000_000),
        ("1.5 hours", 5_400_000_000),
        ("0.000001 seconds", 1),
        ("-0.5 seconds", -500_000),
        ("+3 s", 3_000_000),
        ("10ms", 10_000),
        ("1h30m", 5_400_000_000),
        ("7 us", 7),
        ("7 µs", 7),
        ("7 μs", 7),
        ("90 min", 5_400_000_000),
        ("2 hrs", 7_200_000_000),
        ("3 secs", 3_000_000),
    ],
)
def test_spark_interval_strings_are_microseconds(text: str, microseconds: int) -> None:
    assert parse(text, "size") == Duration(microseconds, Unit.MICROSECONDS)


@given(st.integers(-(10**12), 10**12), st.sampled_from(sorted(MICROSECONDS)))
def test_a_number_of_a_unit_is_that_many_times_its_microseconds(number: int, unit: str) -> None:
    assert parse(f"{number} {unit}s", "size").length == number * MICROSECONDS[unit]


@given(
    st.decimals(-(10**6), 10**6, places=6, allow_nan=False), st.sampled_from(["second", "minute", "hour"])
)
def test_fractions_are_exact_where_a_float_would_round(number: Decimal, unit: str) -> None:
    exact = Fraction(number) * MICROSECONDS[unit]
    assert parse(f"{number:f} {unit}", "size").length == exact


@given(LENGTHS)
def test_a_duration_that_is_written_is_read_again_as_the_same(length: int) -> None:
    duration = Duration(length, Unit.MICROSECONDS)
    assert parse(str(duration), "size") == duration
    assert format_length(length, Unit.TICKS) == str(length)


@given(st.timedeltas())
def test_a_timedelta_is_its_exact_number_of_microseconds(delta: timedelta) -> None:
    expected = (delta.days * 86_400 + delta.seconds) * 10**6 + delta.microseconds
    assert parse(delta, "size") == Duration(expected, Unit.MICROSECONDS)


@given(LENGTHS)
@example(0)
def test_an_integer_is_a_number_of_ticks(ticks: int) -> None:
    assert parse(ticks, "size") == Duration(ticks, Unit.TICKS)
    assert parse(np.int64(ticks), "size") == Duration(ticks, Unit.TICKS)


def test_a_duration_is_taken_as_it_is() -> None:
    assert parse(Duration(5, Unit.TICKS), "size") == Duration(5, Unit.TICKS)


@pytest.mark.parametrize(
    ("given", "works"),
    [
        ("1 month", "of a fixed length"),
        ("2 years", "of a fixed length"),
        ("1 quarter", "of a fixed length"),
        ("1 day 1 month", "of a fixed length"),
        ("3 parsecs", "in one of the units microsecond"),
        ("1 ss", "in one of the units microsecond"),
        ("0.5 microseconds", "a whole number of microseconds"),
        ("0.0000001 seconds", "a whole number of microseconds"),
        ("", "a duration such as '10 seconds'"),
        ("soon", "a duration such as '10 seconds'"),
        ("hour 1", "a duration such as '10 seconds'"),
        ("5", "a duration such as '10 seconds'"),
        ("1 hour 5", "a duration such as '10 seconds'"),
        ("--5 seconds", "a duration such as '10 seconds'"),
        ("1.5.5 seconds", "a duration such as '10 seconds'"),
        (1.5, "a duration such as '10 seconds'"),
        (10.0, "a duration such as '10 seconds'"),
        (True, "an integer when times are integers"),
        (np.True_, "an integer when times are integers"),
        (Fraction(1, 2), "a duration such as '10 seconds'"),
        (Decimal(1), "a duration such as '10 seconds'"),
        (None, "a duration such as '10 seconds'"),
        (["1 hour"], "a duration such as '10 seconds'"),
        (np.timedelta64(1, "h"), "timedelta(seconds=10)"),
        (np.timedelta64(5, "ns"), "timedelta(seconds=10)"),
        (pd.Timedelta(1500, "ns"), "a whole number of microseconds"),
        (pd.NaT, "a duration such as '10 seconds'"),
    ],
    ids=repr,
)
def test_what_is_no_duration_is_refused_with_what_would_work(given: Any, works: str) -> None:
    with pytest.raises(DurationError) as refused:
        parse(given, "every")
    assert str(refused.value).startswith("every must be ")
    assert works in str(refused.value)
    assert f"got {given!r}" in str(refused.value)


def test_a_month_is_refused_with_the_reason() -> None:
    with pytest.raises(DurationError, match="A month has no fixed length; give a number of days"):
        parse("1 month", "size")


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused_with_a_typed_error(text: str) -> None:
    with suppress(DurationError):
        parse(text, "size")


def test_a_pandas_timedelta_of_whole_microseconds_is_a_timedelta() -> None:
    assert parse(pd.Timedelta("90 s"), "size") == Duration(90_000_000, Unit.MICROSECONDS)


@pytest.mark.parametrize("given", [0, -1, "0 seconds", "-1 hour", timedelta(0), Duration(0, Unit.TICKS)])
def test_a_positive_duration_is_longer_than_zero(given: Any) -> None:
    with pytest.raises(DurationError, match="gap must be longer than zero"):
        positive(given, "gap")


@pytest.mark.parametrize("given", [-1, "-1 hour", timedelta(seconds=-1)])
def test_a_delay_may_be_zero_but_not_negative(given: Any) -> None:
    assert not_negative(0, "delay").length == 0
    with pytest.raises(DurationError, match="delay must be zero or longer"):
        not_negative(given, "delay")


def test_units_are_not_mixed_and_the_message_shows_what_was_given() -> None:
    hour, sixty = parse("1 hour", "size"), parse(60, "every")
    with pytest.raises(
        UnitError, match=r"every must be in the same unit as size \(durations such as '1 hour'\); got 60\b"
    ):
        same_unit(size=hour, every=sixty)
    with pytest.raises(
        UnitError, match=r"every must be in the same unit as size \(integers\); got '1 hour'"
    ):
        same_unit(size=sixty, every=hour)


@given(LENGTHS.filter(bool), st.sampled_from([Unit.MICROSECONDS, Unit.TICKS]))
def test_a_zero_fits_either_unit(length: int, unit: Unit) -> None:
    for zero in Duration(0, Unit.MICROSECONDS), Duration(0, Unit.TICKS), None:
        assert same_unit(origin=zero, size=Duration(length, unit)) is unit


def test_errors_of_durations_are_argument_errors_and_value_errors() -> None:
    assert issubclass(DurationError, ArgumentError)
    assert issubclass(UnitError, ArgumentError)
    assert issubclass(ArgumentError, ValueError)
