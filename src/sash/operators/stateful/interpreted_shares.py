"""A share whose functions are plain Python: windows as objects, handled in the order of time.

multi    a window set for each (end, key); tuples meet all that hold their time
single   a window set for each key, all with the same bounds, that slide together by WA
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.arrays import Ints
from sash.errors import PredicateError, SashError
from sash.operators.columns.times import from_integers
from sash.operators.order.interleaved import Interleaved
from sash.operators.stateful.declaration import EmittedRows, Stateful
from sash.operators.stateful.running_operator import Running, StateLog
from sash.operators.stateful.shared_preparation import Prepared
from sash.operators.stateful.windows import InputEvent, WindowSet
from sash.operators.windows.ranges import NEVER
from sash.semantics.event import Row

TimedRow: TypeAlias = "tuple[int, Mapping[str, Any]]"
"""A row and its time."""

WindowName: TypeAlias = "tuple[int, Hashable]"
"""Start and key of a window; a single one has no start that stays."""
ALWAYS = 0
"""In the place of the start of a single window."""


class KeyShare(ABC):
    """The windows of some keys."""

    def __init__(self, operator: Stateful) -> None:
        self.operator = operator
        self.waiting: list[TimedRow] = []
        self.tracks = False
        """Whether what is new since the last saving is written down here."""
        self.fresh: list[TimedRow] = []
        """Rows since the last saving."""
        self.floor = -NEVER
        """Windows that start before have expired, and were handled before this share was made."""
        self.changed: set[WindowName] = set()
        """Windows that are other than when they were saved last, or are not there any more."""

    def step(self, pairs: Iterable[tuple[InputEvent, Hashable]], watermark: int) -> list[TimedRow]:
        for arrival, key in pairs:
            self.expire(arrival.time)
            self.meet(arrival, key)
        self.expire(watermark)
        # Nothing that is still to come has an earlier time than the end of the next window to expire.
        until = self.operator.next_end(watermark)
        due = [row for row in self.waiting if row[0] <= until]
        self.waiting = [row for row in self.waiting if row[0] > until]
        return due

    @abstractmethod
    def expire(self, now: int) -> None:
        """Handle the windows whose end is not after `now`, in the order of time."""

    @abstractmethod
    def meet(self, arrival: InputEvent, key: Hashable) -> None:
        """A tuple meets the windows of one of its keys."""

    @property
    @abstractmethod
    def holds(self) -> bool:
        """Whether any window is open."""

    @abstractmethod
    def named(self, name: WindowName) -> WindowSet | None:
        """An open window."""

    @abstractmethod
    def names(self) -> list[WindowName]:
        """Of all open windows."""

    @abstractmethod
    def put(self, windows: WindowSet) -> None:
        """Open a window that was saved."""

    def emit(self, time: int, function: Callable[[], EmittedRows], name: str, given: object) -> None:
        try:
            answer = function()
            rows = [answer] if isinstance(answer, Mapping) else list(answer or ())
        except SashError:
            raise
        except Exception as error:
            raise PredicateError(
                f"{name} raised {type(error).__name__}: {error}; called with {given}"
            ) from error
        for row in rows:
            if not isinstance(row, Mapping) or set(row) != set(self.operator.payload.names):
                expected = f"rows with the columns {self.operator.payload.names}"
                raise PredicateError(f"{name} must return {expected}; got {row!r}")
            self.waiting.append((time, row))
            if self.tracks:
                self.fresh.append((time, row))

    def touch(self, name: WindowName) -> None:
        if self.tracks:
            self.changed.add(name)

    def update(self, windows: WindowSet, arrival: InputEvent) -> None:
        self.emit(windows.end, lambda: self.operator.update(windows, arrival), "update", arrival.row)

    def output(self, windows: WindowSet) -> None:
        self.emit(windows.end, lambda: self.operator.output(windows), "output", windows)

    def windows(self, key: Hashable, start: int) -> WindowSet:
        states = [self.operator.state() for _ in self.operator.inputs]
        return WindowSet(key, start, start + self.operator.clock.size, states)


class MultiShare(KeyShare):
    def __init__(self, operator: Stateful) -> None:
        super().__init__(operator)
        self.open: dict[int, dict[Hashable, WindowSet]] = {}

    def meet(self, arrival: InputEvent, key: Hashable) -> None:
        for w in self.operator.clock.mapping(arrival.time):
            start = self.operator.clock.extent(w).start
            if start < self.floor:
                continue
            by_key = self.open.setdefault(start, {})
            if key not in by_key:
                by_key[key] = self.windows(key, start)
            self.touch((start, key))
            self.update(by_key[key], arrival)

    def expire(self, now: int) -> None:
        size = self.operator.clock.size
        if self.open and min(self.open) + size <= now:
            for start in sorted(start for start in self.open if start + size <= now):
                for windows in self.open.pop(start).values():
                    self.output(windows)

    @property
    def holds(self) -> bool:
        return bool(self.open)

    def named(self, name: WindowName) -> WindowSet | None:
        return self.open.get(name[0], {}).get(name[1])

    def names(self) -> list[WindowName]:
        return [(start, key) for start, by_key in self.open.items() for key in by_key]

    def put(self, windows: WindowSet) -> None:
        self.open.setdefault(windows.start, {})[windows.key] = windows


class SingleShare(KeyShare):
    def __init__(self, operator: Stateful) -> None:
        super().__init__(operator)
        self.start = 0
        self.keys: dict[Hashable, WindowSet] = {}

    def meet(self, arrival: InputEvent, key: Hashable) -> None:
        held = self.operator.clock.mapping(arrival.time)
        if not held:
            return
        if not self.keys:
            self.start = max(self.operator.clock.extent(held.start).start, self.floor)
        if key not in self.keys:
            self.keys[key] = self.windows(key, self.start)
        self.touch((ALWAYS, key))
        self.update(self.keys[key], arrival)

    def expire(self, now: int) -> None:
        clock = self.operator.clock
        if self.keys and self.operator.slides_silently and self.start + clock.size <= now:
            self._slide_to(self.operator.next_end(now) - clock.size)
        while self.keys and self.start + clock.size <= now:
            for windows in self.keys.values():
                self.output(windows)
            self._slide_to(self.start + clock.slide)

    def _slide_to(self, start: int) -> None:
        self.start = start
        for windows in self.keys.values():
            self.touch((ALWAYS, windows.key))
            windows.start, windows.end = start, start + self.operator.clock.size
            self.operator.slide(windows)
        self.keys = {key: windows for key, windows in self.keys.items() if not windows.empty}

    @property
    def holds(self) -> bool:
        return bool(self.keys)

    def named(self, name: WindowName) -> WindowSet | None:
        return self.keys.get(name[1])

    def names(self) -> list[WindowName]:
        return [(ALWAYS, key) for key in self.keys]

    def put(self, windows: WindowSet) -> None:
        self.start = windows.start
        self.keys[windows.key] = windows


class InterpretedShares(Running):
    """An operator whose functions are plain Python."""

    def __init__(self, operator: Stateful) -> None:
        super().__init__(operator)
        self._shares: list[KeyShare] = [share_of(operator) for _ in range(operator.shares)]

    def _share(self, number: int) -> Any:
        return self._shares[number]

    def _answer(self, run: Interleaved, prepared: Prepared, mine: Ints) -> pa.Table:
        arrived = prepared.once("arrivals", lambda: _arrived(run))
        emitted: list[TimedRow] = []
        for number in mine.tolist():
            events, keys = self.met(prepared, number)
            with self.share(number) as share:
                met = zip(map(arrived.__getitem__, events.tolist()), keys, strict=True)
                emitted += share.step(met, run.watermark)
        return timed_table(self.operator, emitted)

    def met(self, prepared: Prepared, share: int) -> tuple[Ints, list[Hashable]]:
        """The places in the run of the tuples that a share meets, and a key for each."""
        pairs = zip(*(piece.pairs(share) for piece in prepared.pieces()), strict=True)
        events, numbers = map(np.concatenate, pairs)
        return events, self.names.keys(numbers)

    @property
    def holds(self) -> bool:
        return any(share.holds or share.waiting for share in self._shares)

    def resume(self, floor: int, taken: int) -> None:
        super().resume(floor, taken)
        for share in self._shares:
            share.floor = floor

    def log(self) -> StateLog | None:
        from sash.operators.stateful.window_log import WindowLog

        (share,) = self._shares
        return None if self.operator.keeps_tuples else WindowLog(share)

    def buffers(self) -> list[tuple[int, int]]:
        return [(id(share), 0) for share in self._shares]


def share_of(operator: Stateful) -> KeyShare:
    """A share without windows."""
    return (MultiShare if operator.window_type == "multi" else SingleShare)(operator)


def arrivals(
    times: Ints, inputs: NDArray[np.int8], ordinals: Ints, tables: Sequence[pa.Table]
) -> list[InputEvent]:
    """Tuples as functions see them."""
    rows = [map(Row, table.to_pylist()) for table in tables]
    woven = zip(times.tolist(), inputs.tolist(), ordinals.tolist(), strict=True)
    return [InputEvent(time, number, ordinal, next(rows[number])) for time, number, ordinal in woven]


def _arrived(run: Interleaved) -> list[InputEvent]:
    return arrivals(run.times, run.inputs, run.first + np.arange(len(run)), run.tables)


def timed_table(operator: Stateful, emitted: list[TimedRow]) -> pa.Table:
    """Rows in the form of the output, in the order of time."""
    emitted = sorted(emitted, key=lambda one: one[0])
    times = np.array([time for time, _ in emitted], np.int64)
    rows = pa.Table.from_pylist([dict(row) for _, row in emitted], schema=operator.payload)
    columns = [from_integers(times, operator.schema.field(0).type), *rows.columns]
    return pa.Table.from_arrays(columns, schema=operator.schema)
