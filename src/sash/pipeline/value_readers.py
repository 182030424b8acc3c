"""How single values of a pipeline file are read: (what was given, whose value it is) → what it means."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sash.api.window_parser import window_of
from sash.errors import ArgumentError, did_you_mean
from sash.runtimes import ddl
from sash.semantics import durations
from sash.semantics.durations import DurationLike
from sash.semantics.query import Emit, When
from sash.semantics.secret import profile
from sash.semantics.window import Window
from sash.semantics.windows import SlideByTupleWindow, lifetime
from sash.serving.feature_stores import require_place

_TYPES = frozenset(ddl.TYPES) | {
    "array", "char", "character", "dec", "decimal", "interval", "map", "numeric", "struct", "timestamp_ltz",
    "varchar", "variant", "void",
}  # fmt: skip
_BRACKETS = re.compile(r"<.*>|\([^)]*\)|'[^']*'|\"[^\"]*\"", re.DOTALL)
"""What belongs to a type or is a comment; from the first to the last, as structs have structs."""
_COLUMN = re.compile(r"(?:^|,)\s*`?(?P<column>\w+)`?\s*:?\s+(?P<type>\w+)")
_NAME = re.compile(r"\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>\w+))[\s:]")


def text(given: Any, name: str) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ArgumentError(name, given, "a text")
    return given


def schema(given: Any, name: str) -> str:
    """Columns and types as Spark writes them. Words that are no type are refused here."""
    for column in _COLUMN.finditer(_BRACKETS.sub(_blank, text(given, name))):
        type_ = column["type"].lower()
        if type_ not in _TYPES:
            hint = did_you_mean(type_, _TYPES) or f"There are {', '.join(sorted(_TYPES))}."
            raise ArgumentError(
                name, given, "made of types of Spark", hint=hint,
                message=f"{name}: the column {column['column']!r} has the type {column['type']!r}, which "
                "is none",
            )  # fmt: skip
    return str(given)


def column_names(schema: str) -> list[str]:
    """Of the columns of a schema; none where one of them cannot be read here.

    >>> column_names("ts timestamp, `the price` decimal(10, 2)"), column_names("`a,b` int")
    (['ts', 'the price'], [])
    """
    found = [_NAME.match(column) for column in _BRACKETS.sub(_blank, schema).split(",")]
    return [one["quoted"] or one["plain"] for one in found if one] if all(found) else []


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def name(given: Any, name: str) -> str:
    """Of a query: part of the name of a table, and of a line in Spark's progress reports."""
    if not isinstance(given, str) or not given.isidentifier():
        raise ArgumentError(name, given, "a name of letters, digits and underscores")
    return given


def texts(given: Any, name: str) -> tuple[str, ...]:
    """One text, or a list of them.

    >>> texts("symbol", "key"), texts(["symbol", "venue"], "key")
    (('symbol',), ('symbol', 'venue'))
    """
    listed_ = given if isinstance(given, list) else [given]
    if not listed_ or not all(isinstance(one, str) and one.strip() for one in listed_):
        raise ArgumentError(name, given, "a text, or a list of texts")
    return tuple(listed_)


def listed(given: Any, name: str) -> list[Any]:
    """One value, or a list of them: what is in it is read one by one."""
    if given == []:
        raise ArgumentError(name, given, "given at least one, or left out")
    return given if isinstance(given, list) else [given]


def flag(given: Any, name: str) -> bool:
    if not isinstance(given, bool):
        raise ArgumentError(name, given, "true or false")
    return given


def options(given: Any, name: str) -> dict[str, str]:
    """Spark takes every option as text.

    >>> options({"header": True, "maxFilesPerTrigger": 10, "kafka": {"group.id": "x"}}, "options")
    {'header': 'true', 'maxFilesPerTrigger': '10', 'kafka.group.id': 'x'}
    """
    if not isinstance(given, dict):
        raise ArgumentError(name, given, "a table such as { header = true }")
    read: dict[str, str] = {}
    for option, value in given.items():
        if isinstance(value, dict):  # TOML reads a dotted key as a table inside of a table
            read |= {f"{option}.{inner}": words for inner, words in options(value, name).items()}
        elif isinstance(value, bool):
            read[option] = str(value).lower()
        elif isinstance(value, str | int | float):
            read[option] = str(value)
        else:
            raise ArgumentError(name, {option: value}, "texts, numbers, true or false")
    return read


def one_of(*words: str) -> Callable[[Any, str], str]:
    def read(given: Any, name: str) -> str:
        if isinstance(given, str) and given in words:
            return given
        raise ArgumentError(name, given, f"one of {', '.join(words)}", hint=did_you_mean(given, words))

    return read


def window(given: Any, name: str) -> Window:
    return window_of(given, argument=name)


def length(given: Any, name: str) -> DurationLike:
    """Zero or more of time, as it was given."""
    durations.not_negative(given, name)
    duration: DurationLike = given
    return duration


def lookback(given: Any, name: str) -> DurationLike:
    durations.positive(given, name)
    return length(given, name)


def rolling(given: Any, name: str) -> DurationLike | SlideByTupleWindow:
    """A look-back, or 'lifetime': one without end."""
    return lifetime() if given == "lifetime" else lookback(given, name)


def emit(given: Any, name: str) -> Emit:
    """As `Stream.window` and `Stream.rolling` take it."""
    if given == When.ARRIVAL.value:
        return Emit(When.ARRIVAL)
    try:
        return Emit.parse(given)
    except ArgumentError as error:
        works = "'close', 'change', 'every <duration>', or 'arrival' with rolling"
        raise ArgumentError(name, given, works) from error


def online(given: Any, name: str) -> str:
    """Where features are published."""
    require_place(text(given, name), name)
    return str(given)


def engine(given: Any, name: str) -> str:
    """The name of a SECRET profile."""
    profile(given)
    return str(given)


def identifier(words: str) -> str:
    """Words as a name that Spark takes for a table.

    >>> identifier("last hour-2")
    'last_hour_2'
    """
    return re.sub(r"\W+", "_", words)
