"""Durations: Spark interval strings and timedeltas are microseconds, integers are ticks.

A time column is either a timestamp, measured in microseconds as Spark does, or an integer in a unit that
only its owner knows. A duration therefore carries which of the two it is in, and the two are never
mixed: `sliding("1 hour", every=60)` is an error, because the unit of 60 is not known.

>>> parse("1 hour 30 minutes", "size")
Duration(length=5400000000, unit=<Unit.MICROSECONDS: 'microseconds'>)
>>> parse(60, "size")
Duration(length=60, unit=<Unit.TICKS: 'ticks'>)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from operator import index
from typing import Any, TypeAlias

from sash.errors import DurationError, UnitError, did_you_mean

DurationLike: TypeAlias = "str | timedelta | int"

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_SHORT = {
    "us": "microsecond", "µs": "microsecond", "μs": "microsecond", "ms": "millisecond", "s": "second",
    "sec": "second", "secs": "second", "m": "minute", "min": "minute", "mins": "minute", "h": "hour",
    "hr": "hour", "hrs": "hour", "d": "day", "w": "week",
}  # fmt: skip
UNIT_WORDS = frozenset([*MICROSECONDS, *(f"{name}s" for name in MICROSECONDS), *_SHORT])
"""All ways to write a unit."""
_PART = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([a-zµ]+)", re.IGNORECASE)
_WHOLE = "a whole number of microseconds"
_EXAMPLE = "a duration such as '10 seconds', timedelta(seconds=10), or an integer when times are integers"


class Unit(Enum):
    """What the numbers of a window are measured in."""

    MICROSECONDS = "microseconds"
    TICKS = "ticks"
    EVENTS = "events"

    @property
    def spelling(self) -> str:
        """How lengths in it are written."""
        return "durations such as '1 hour'" if self is Unit.MICROSECONDS else "integers"


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time on one of the two kinds of time column."""

    length: int
    unit: Unit

    def __str__(self) -> str:
        return format_length(self.length, self.unit)


def parse(given: DurationLike | Duration, argument: str) -> Duration:
    """Read a duration; `argument` is the name to blame when it cannot be read."""
    if isinstance(given, Duration):
        return given
    if isinstance(given, timedelta):
        length, rest = divmod(given, timedelta(microseconds=1))
        if rest:  # pandas' Timedelta is a timedelta that counts nanoseconds
            raise DurationError(argument, given, _WHOLE)
        return Duration(length, Unit.MICROSECONDS)
    if isinstance(given, str):
        return Duration(_parse_text(given, argument), Unit.MICROSECONDS)
    ticks = whole_number(given)
    if ticks is None:
        raise DurationError(argument, given, _EXAMPLE)
    return Duration(ticks, Unit.TICKS)


def whole_number(given: Any) -> int | None:
    """`given` as an int if it is one, of whatever library; True and False are not, and neither is numpy's
    timedelta64, which calls itself Integral but is a length of time in a unit of its own. Before numpy 2,
    its `bool_` can be an index, too."""
    if isinstance(given, bool) or type(given).__name__ == "bool_":
        return None
    try:
        return index(given)
    except TypeError:
        return None


def _parse_text(text: str, argument: str) -> int:
    body = re.sub(r"^\s*interval\b", "", text, flags=re.IGNORECASE).strip()
    parts = _PART.findall(body)
    if not parts or _PART.sub("", body).strip(" ,"):
        raise DurationError(argument, text, _EXAMPLE)
    total = 0
    for number, word in parts:
        name = word.lower()
        unit = _SHORT.get(name, name.removesuffix("s"))
        if unit in ("month", "year", "quarter"):
            raise DurationError(
                argument, text, "of a fixed length",
                hint=f"A {unit} has no fixed length; give a number of days.",
            )  # fmt: skip
        if unit not in MICROSECONDS:
            hint = did_you_mean(unit, MICROSECONDS)
            raise DurationError(argument, text, f"in one of the units {', '.join(MICROSECONDS)}", hint=hint)
        total += _scaled(number, MICROSECONDS[unit], argument, text)
    return total


DIGITS = 30
"""Of a duration in text: far more than there are microseconds in any time."""


def _scaled(number: str, factor: int, argument: str, text: str) -> int:
    """`number` × `factor`, exactly: durations are integers, so no float may touch them."""
    if len(number) > DIGITS:
        raise DurationError(argument, f"{text[:20]}…", f"a number of at most {DIGITS} digits")
    whole, _, fraction = number.partition(".")
    scaled, rest = divmod(int(whole + fraction) * factor, int(10 ** len(fraction)))
    if rest:
        raise DurationError(argument, text, _WHOLE)
    return scaled


def positive(given: DurationLike | Duration, argument: str) -> Duration:
    """A duration greater than zero."""
    duration = parse(given, argument)
    if duration.length <= 0:
        raise DurationError(argument, given, "longer than zero")
    return duration


def not_negative(given: DurationLike | Duration, argument: str) -> Duration:
    """A duration of zero or more."""
    duration = parse(given, argument)
    if duration.length < 0:
        raise DurationError(argument, given, "zero or longer")
    return duration


def same_unit(**durations: Duration | None) -> Unit:
    """The one unit of all the given durations. A zero fits either unit.

    >>> same_unit(size=parse("1 hour", "size"), every=parse(60, "every"))
    Traceback (most recent call last):
        ...
    sash.errors.UnitError: every must be in the same unit as size (durations such as '1 hour'); got 60. \
Durations are for timestamps, integers for integer time columns; use one of the two throughout.
    """
    unit, first = None, ""
    for name, duration in durations.items():
        if duration is None or duration.length == 0:
            continue
        if unit is None:
            unit, first = duration.unit, name
        elif duration.unit is not unit:
            raise UnitError(
                name, str(duration) if duration.unit is Unit.MICROSECONDS else duration.length,
                f"in the same unit as {first} ({unit.spelling})",
                hint="Durations are for timestamps, integers for integer time columns; use one of the two "
                "throughout.",
            )  # fmt: skip
    return unit or Unit.MICROSECONDS


def format_origin(origin: int, unit: Unit) -> str:
    """What a formula adds to a multiple of a slide: nothing, where windows are counted from 0.

    >>> format_origin(3_000_000, Unit.MICROSECONDS), format_origin(0, Unit.TICKS)
    ('3 seconds + ', '')
    """
    return f"{format_length(origin, unit)} + " if origin else ""


def format_last(length: int, unit: Unit) -> str:
    """The time before an instant, for people.

    >>> format_last(3_600_000_000, Unit.MICROSECONDS), format_last(5_400_000_000, Unit.MICROSECONDS)
    ('the last hour', 'the last 1 hour 30 minutes')
    """
    words = format_length(length, unit)
    return f"the last {words.removeprefix('1 ') if words.count(' ') == 1 else words}"


def format_length(length: int, unit: Unit) -> str:
    """A length for people.

    >>> format_length(5_400_000_000, Unit.MICROSECONDS)
    '1 hour 30 minutes'
    >>> format_length(-5_400_000_000, Unit.MICROSECONDS)
    '-1 hour -30 minutes'
    >>> format_length(7, Unit.TICKS)
    '7'
    """
    if unit is not Unit.MICROSECONDS:
        return str(length)
    if length == 0:
        return "0 seconds"
    sign, words, rest = "-" if length < 0 else "", [], abs(length)
    for name, size in reversed(MICROSECONDS.items()):
        count, rest = divmod(rest, size)
        if count:
            words.append(f"{sign}{count} {name}{'s' if count > 1 else ''}")
    return " ".join(words)
