"""The events of operators that are killed, in files: what is generated, and parts of it.

Times are whole seconds, keys a, b and null. `old` events are 40 seconds behind: late, wherever kills let
Spark cut the stream. Others are at most four seconds out of order, with a delay of five. A last event of
a key of its own, far ahead, moves the watermark past everything else.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

Row = dict[str, Any]
Table = pa.Table
SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("us", "UTC")), ("tick", pa.int64()), ("key", pa.string()),
        ("number", pa.int64()), ("x", pa.int64()), ("km", pa.int64()), ("old", pa.bool_()),
    ]
)  # fmt: skip
OPENING = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)
EVENTS, SECONDS, AHEAD = 24, 12, 10_000
"""Of each file; and when the last event is."""
CLOCK = "the clock"
SILENT = 24
"""Seconds for which a key has no events, every other time."""


def files_of(count: int, *, seed: int) -> Iterator[Table]:
    """`count` files; the last one has the clock's events only."""
    choice = random.Random(seed)
    for file in range(count - 1):
        rows = []
        for number in range(file * EVENTS, (file + 1) * EVENTS):
            old = file >= 4 and choice.random() < 0.1
            tick = number * SECONDS // EVENTS - (40 if old else choice.choice([0, 0, choice.randrange(5)]))
            rows.append(
                _event(tick, choice.choice(["a", "b", None]), number, choice.randrange(-9, 10), old)
            )
        yield Table.from_pylist(rows, schema=SCHEMA)
    numbers = range(count * EVENTS, count * EVENTS + 2)
    yield Table.from_pylist([_event(AHEAD, CLOCK, number, 0, False) for number in numbers], schema=SCHEMA)


def _event(tick: int, key: str | None, number: int, x: int, old: bool) -> Row:
    at = OPENING + dt.timedelta(seconds=tick)
    return {"at": at, "tick": tick, "key": key, "number": number, "x": x, "km": tick * 100, "old": old}


PARTS: dict[str, tuple[Callable[[Row], bool], str]] = {
    "on time": (lambda row: not row["old"], "not old"),
    "even": (lambda row: row["number"] % 2 == 0, "number % 2 = 0"),
    "odd": (lambda row: row["number"] % 2 == 1, "number % 2 = 1"),
    "mostly a": (lambda row: row["key"] == "a" or row["number"] % 8 == 0, "key = 'a' or number % 8 = 0"),
    "b at times": (
        lambda row: row["key"] != "b" or row["tick"] // SILENT % 2 == 0,
        f"not (key <=> 'b') or floor(tick / {SILENT}) % 2 = 0",
    ),
}
"""Which events they have, in Python and in SQL."""


def part_of(data: Any, name: str) -> Any:
    """Rows of a table or of a DataFrame."""
    keep, condition = PARTS[name]
    if isinstance(data, Table):
        return Table.from_pylist([row for row in data.to_pylist() if keep(row)], schema=data.schema)
    return data.where(condition)
