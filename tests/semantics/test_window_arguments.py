"""Windows that make no sense are refused, with the argument, what was given and what would work."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from sash.errors import ArgumentError, DurationError, UnitError
from sash.semantics import windows as w
from sash.semantics.durations import Unit
from tests.semantics.strategies import SUM

EVENTS = "a positive whole number of events"
LONGER = "longer than zero"
DURATION = "a duration such as '10 seconds'"
NUMBER = "a positive, finite number, in the attribute's unit"
Make = Callable[[], object]


def never(total: Any, old: Any) -> bool:
    return False


REFUSED: list[tuple[str, Make, type[ArgumentError], str, Any, str]] = [
    ("rows of nothing", lambda: w.rows(0), ArgumentError, "size", 0, EVENTS),
    ("rows below nothing", lambda: w.rows(-3), ArgumentError, "size", -3, EVENTS),
    ("rows of a fraction", lambda: w.rows(2.0), ArgumentError, "size", 2.0, EVENTS),
    ("rows of a bool", lambda: w.rows(True), ArgumentError, "size", True, EVENTS),
    ("rows of a duration", lambda: w.rows("1 hour"), ArgumentError, "size", "1 hour", EVENTS),
    ("rows of a numpy duration", lambda: w.rows(np.timedelta64(3, "ns")), ArgumentError, "size",
     np.timedelta64(3, "ns"), EVENTS),
    ("rows that stands still", lambda: w.rows(5, every=0), ArgumentError, "every", 0, EVENTS),
    ("rows every bool", lambda: w.rows(5, every=True), ArgumentError, "every", True, EVENTS),
    ("sliding of nothing", lambda: w.sliding(0, every=1), DurationError, "size", 0, LONGER),
    ("sliding that stands still", lambda: w.sliding("1 hour", every="0 seconds"), DurationError, "every",
     "0 seconds", LONGER),
    ("sliding backwards", lambda: w.sliding(10, every=-5), DurationError, "every", -5, LONGER),
    ("sliding over a float", lambda: w.sliding(1.5, every=1), DurationError, "size", 1.5, DURATION),
    ("sliding over a bool", lambda: w.sliding(True, every=1), DurationError, "size", True, DURATION),
    ("sliding over a month", lambda: w.sliding("1 month", every="1 day"), DurationError, "size", "1 month",
     "of a fixed length"),
    ("sliding in two units", lambda: w.sliding("1 hour", every=60), UnitError, "every", 60,
     "in the same unit as size (durations such as '1 hour')"),
    ("sliding from an origin in another unit", lambda: w.sliding(60, every=30, origin="1 hour"), UnitError,
     "origin", "1 hour", "in the same unit as size (integers)"),
    ("sliding from an origin that is none", lambda: w.sliding(60, every=30, origin=0.5), DurationError,
     "origin", 0.5, DURATION),
    ("tumbling of nothing", lambda: w.tumbling(timedelta(0)), DurationError, "size", timedelta(0), LONGER),
    ("cumulate to nothing", lambda: w.cumulate(0, 1), DurationError, "max", 0, LONGER),
    ("cumulate by nothing", lambda: w.cumulate(10, 0), DurationError, "step", 0, LONGER),
    ("cumulate by no divisor", lambda: w.cumulate(10, 3), DurationError, "step", "3",
     "a divisor of max (10)"),
    ("cumulate by more than all", lambda: w.cumulate("1 hour", "2 hours"), DurationError, "step", "2 hours",
     "a divisor of max (1 hour)"),
    ("cumulate in two units", lambda: w.cumulate("1 hour", 5), UnitError, "step", 5,
     "in the same unit as max (durations such as '1 hour')"),
    ("session without a gap", lambda: w.session(0), DurationError, "gap", 0, LONGER),
    ("session with a negative gap", lambda: w.session("-5 minutes"), DurationError, "gap",
     "-5 minutes", LONGER),
    ("session with a float", lambda: w.session(5.0), DurationError, "gap", 5.0, DURATION),
    ("slide by tuple over nothing", lambda: w.slide_by_tuple(0, 1), DurationError, "size", 0, LONGER),
    ("slide by tuple every duration", lambda: w.slide_by_tuple("1 hour", "1 minute"), ArgumentError,
     "every", "1 minute", EVENTS),
    ("slide by tuple every nothing", lambda: w.slide_by_tuple(5, 0), ArgumentError, "every", 0, EVENTS),
    ("slide by time over a duration", lambda: w.slide_by_time("1 hour", "1 minute"), ArgumentError, "size",
     "1 hour", EVENTS),
    ("slide by time that stands still", lambda: w.slide_by_time(5, 0), DurationError, "every", 0, LONGER),
    ("slide by time in two units", lambda: w.slide_by_time(5, "1 hour", origin=3), UnitError, "origin", 3,
     "in the same unit as every (durations such as '1 hour')"),
    ("delta of nothing", lambda: w.delta("km", 0, 1), ArgumentError, "size", 0, NUMBER),
    ("delta that stands still", lambda: w.delta("km", 1, 0), ArgumentError, "every", 0, NUMBER),
    ("delta without end", lambda: w.delta("km", float("inf"), 1), ArgumentError, "size",
     float("inf"), NUMBER),
    ("delta of no number", lambda: w.delta("km", float("nan"), 1), ArgumentError, "size",
     float("nan"), NUMBER),
    ("delta of text", lambda: w.delta("km", "5 km", 1), ArgumentError, "size", "5 km", NUMBER),
    ("delta of a bool", lambda: w.delta("km", 5, True), ArgumentError, "every", True, NUMBER),
    ("delta without a column", lambda: w.delta("", 5, 1), ArgumentError, "attribute", "",
     "the name of a numeric column"),
    ("delta of a column that is none", lambda: w.delta(3, 5, 1), ArgumentError, "attribute", 3,
     "the name of a numeric column"),
    ("delta closed elsewhere", lambda: w.delta("km", 5, 1, closed="both"), ArgumentError, "closed", "both",
     "'left' or 'right'"),
    ("policy without a function", lambda: w.policy(5, track={"s": SUM}), ArgumentError, "wsp", 5,
     "a function such as lambda total, old:"),
    ("policy that tracks nothing", lambda: w.policy(never, track={}), ArgumentError, "track", {},
     "a non-empty dict of names to aggregates"),
    ("policy that tracks no dict", lambda: w.policy(never, track=SUM), ArgumentError, "track", SUM,
     "a non-empty dict of names to aggregates"),
    ("policy that tracks no aggregate", lambda: w.policy(never, track={"s": "x"}), ArgumentError, "track",
     {"s": "x"}, "names of aggregates such as sash.sum('x')"),
    ("policy every nothing", lambda: w.policy(never, track={"s": SUM}, every=0), ArgumentError, "every", 0,
     EVENTS),
    ("threshold without a function", lambda: w.threshold("x > 3"), ArgumentError, "predicate", "x > 3",
     "a function such as lambda row: row.price > 100"),
    ("punctuated without a function", lambda: w.punctuated(None), ArgumentError, "predicate", None,
     "a function such as lambda row: row.kind == 'checkout'"),
    ("no name", lambda: w.rows(5).named(""), ArgumentError, "name", "", "a non-empty string"),
    ("a name that is none", lambda: w.rows(5).named(7), ArgumentError, "name", 7, "a non-empty string"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "error", "argument", "given", "works"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_a_window_that_makes_no_sense_is_refused(
    make: Make, error: type[ArgumentError], argument: str, given: Any, works: str
) -> None:
    with pytest.raises(ArgumentError) as refused:
        make()
    assert type(refused.value) is error
    assert refused.value.argument == argument
    assert str(refused.value).startswith(f"{argument} must be ")
    assert works in str(refused.value)
    assert f"got {given!r}" in str(refused.value)


@pytest.mark.parametrize("make", [w.sliding, w.hopping])
def test_sliding_without_every_is_an_error_that_shows_what_to_write(make: Callable[[str], object]) -> None:
    with pytest.raises(ArgumentError, match=r"sliding\('1 hour'\) needs every=") as refused:
        make("1 hour")
    assert refused.value.argument == "every"
    assert str(refused.value).endswith("are tumbling('1 hour')")


def test_every_exported_function_has_a_refusal() -> None:
    others = {"time", "hopping", "lifetime"}  # sliding is both of the first, and the last has no arguments
    functions = {name for name in w.__all__ if not name.endswith("Window")} - others
    refusing = {
        name for name in functions for case in REFUSED if case[0].startswith(name.replace("_", " "))
    }
    assert refusing == functions


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: w.RowsWindow(3, 0), "every"),
        (lambda: w.TimeWindow(0, 1, 0, Unit.TICKS), "size"),
        (lambda: w.TimeWindow(1, 0, 0, Unit.TICKS), "every"),
        (lambda: w.CumulateWindow(10, 4, 0, Unit.TICKS), "step"),
        (lambda: w.SessionWindow(0, Unit.TICKS), "gap"),
        (lambda: w.SlideByTupleWindow(0, 1, Unit.TICKS), "size"),
        (lambda: w.SlideByTimeWindow(1, 0, 0, Unit.TICKS), "every"),
        (lambda: w.DeltaWindow("d", 0, 1, "left"), "size"),
        (lambda: w.PolicyWindow(never, {}, 1), "track"),
        (lambda: w.ThresholdWindow(1), "predicate"),
        (lambda: w.PunctuatedWindow(1), "predicate"),
    ],
)
def test_a_window_that_is_built_directly_is_checked_as_well(make: Make, argument: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{argument} must be "):
        make()


def test_a_policy_must_say_what_it_tracks() -> None:
    with pytest.raises(TypeError, match="track"):
        w.policy(never)
