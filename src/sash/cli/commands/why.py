"""`sash why`: why a window over recorded events was reported, or has not been yet.

Its options are declared in `cli/main.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

import sash
from sash.api.window_parser import window_of
from sash.cli.event_files import read_events
from sash.errors import ArgumentError, UnknownColumn
from sash.semantics.durations import DurationLike
from sash.semantics.why import Why


def run(
    file: Path,
    *,
    time: str,
    at: str,
    windows: list[str],
    keys: list[str],
    delay: str,
    allowed_lateness: str,
    as_of: int | None,
    at_once: bool,
    engines: list[str],
    as_json: bool,
) -> None:
    """Explain the events at one time, and print the answer."""
    table = read_events(file, time=time)
    key = dict(_key(table, words) for words in keys)
    query = (
        sash.stream(
            table,
            time=time,
            key=list(key),
            delay=_length(delay),
            allowed_lateness=_length(allowed_lateness),
        )
        .window(*(window_of(words) for words in windows), flush=at_once)
        .agg(events=sash.count())
    )
    keyed: dict[str, Any] = {"key": key} if key else {}
    why = query.explain_window(
        at=_time(table, time, at),
        as_of=None if at_once else as_of or table.num_rows or None,
        engines=None if engines == ["all"] else engines,
        **keyed,
    )
    print(_json(why) if as_json else why)


def _json(why: Why) -> str:
    return json.dumps(why.to_dict(), indent=2, ensure_ascii=False, default=str)


def _key(table: pa.Table, words: str) -> tuple[str, Any]:
    """'symbol=ACME' as a column and a value of its type."""
    column, equals, value = words.partition("=")
    if not equals:
        raise ArgumentError("key", words, "a column and whose window, such as 'symbol=ACME'")
    if column not in table.column_names:
        raise UnknownColumn("key", column, table.column_names)
    type_ = table.schema.field(column).type
    try:
        return column, pa.scalar(value).cast(type_).as_py()
    except pa.ArrowException:
        raise ArgumentError("key", words, f"a value of {column}, which is {type_}") from None


def _time(table: pa.Table, time: str, words: str) -> str | int:
    """Text for timestamps, a number for integers."""
    if not pa.types.is_integer(table.schema.field(time).type):
        return words
    try:
        return int(words)
    except ValueError:
        raise ArgumentError("at", words, f"a whole number, as {time} is") from None


def _length(words: str) -> DurationLike:
    return int(words) if words.isdecimal() else words
