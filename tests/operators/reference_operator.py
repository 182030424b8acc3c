"""O+ as the STRETCH paper tells it, tuple by tuple: slow, obvious, and knowing neither shares nor columns.

    for every tuple, in the order of time:
        the watermark is its time: handle every window set that has expired, the earliest first
        for every key of the tuple, and every window of that key that holds the tuple: f_U
    at last the watermark passes everything

Rows carry the right end of its window. The one liberty: rows are sorted by time at the end, which
is what 'in the order of time' means when all of them are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sash.operators.order.interleaved import Interleaved
from sash.operators.stateful.declaration import Stateful
from sash.operators.stateful.windows import InputEvent, WindowSet
from sash.semantics.event import Row

TimedRow = tuple[int, dict[str, Any]]


def reference(operator: Stateful, run: Interleaved, keys_of: Any) -> list[TimedRow]:
    """Everything that `operator` emits for a bounded run; `keys_of(row, input)` is f_MK again."""
    WA, WS = operator.clock.slide, operator.clock.size
    open_sets: list[WindowSet] = []
    emitted: list[TimedRow] = []

    def emit(time: int, answer: Any) -> None:
        rows: Iterable[Mapping[str, Any]] = [answer] if isinstance(answer, Mapping) else answer or []
        emitted.extend((time, dict(row)) for row in rows)

    def handle_expired(watermark: int) -> None:
        while True:
            expired = [windows for windows in open_sets if windows.start + WS <= watermark]
            if not expired:
                return
            windows = min(expired, key=lambda each: each.start)
            emit(windows.end, operator.output(windows))
            if operator.window_type == "multi":
                open_sets.remove(windows)
            else:
                windows.start, windows.end = windows.start + WA, windows.end + WA
                operator.slide(windows)
                if windows.empty:
                    open_sets.remove(windows)

    def starts_of_windows_with(time: int) -> list[int]:
        first = (time - WS) // WA - 1
        starts = [k * WA for k in range(first, time // WA + 2)]
        return [start for start in starts if start <= time < start + WS]

    rows = [iter(table.to_pylist()) for table in run.tables]
    for ordinal, (time, number) in enumerate(zip(run.times.tolist(), run.inputs.tolist(), strict=True)):
        arrival = InputEvent(time, number, ordinal, Row(next(rows[number])))
        handle_expired(time)
        for key in dict.fromkeys(keys_of(arrival.row, number)):
            starts = starts_of_windows_with(time)
            for start in starts if operator.window_type == "multi" else starts[:1]:
                mine = [each for each in open_sets if each.key == key and each.start == start]
                if not mine:
                    mine = [WindowSet(key, start, start + WS, [operator.state() for _ in operator.inputs])]
                    open_sets.extend(mine)
                emit(start + WS, operator.update(mine[0], arrival))
    while open_sets:
        handle_expired(min(windows.end for windows in open_sets))
    return sorted(emitted, key=lambda one: one[0])


def comparable(emitted: Iterable[TimedRow]) -> list[tuple[int, str]]:
    """Rows by time; those of one time in an order of their own, for keys are not ordered among each
    other."""
    return sorted((time, repr(sorted(row.items(), key=lambda item: item[0]))) for time, row in emitted)


def timed_rows(rows: Iterable[Mapping[str, Any]]) -> list[TimedRow]:
    """An output table's rows, as the reference gives them."""
    return [(row["time"], {name: value for name, value in row.items() if name != "time"}) for row in rows]
