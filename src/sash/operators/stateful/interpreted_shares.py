"""A share whose functions are plain Python: windows as objects, handled in the order of time.

multi    a window set for each (end, key); tuples meet all that hold their time
single   a window set for each key, all with the same bounds, that slide together by WA
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.errors import PredicateError, SashError
from sash.operators.columns.times import from_integers
from sash.operators.order.interleaved import Interleaved
from sash.operators.stateful.declaration import Answer, Stateful
from sash.operators.stateful.prepared import Prepared
from sash.operators.stateful.running import Running
from sash.operators.stateful.windows import Arrival, WindowSet
from sash.semantics.event import Row

TimedRow: TypeAlias = "tuple[int, Mapping[str, Any]]"
"""A row and its time."""


class KeyShare(ABC):
    """The windows of some keys."""

    def __init__(self, operator: Stateful) -> None:
        self.operator = operator
        self.waiting: list[TimedRow] = []

    def step(self, pairs: Iterable[tuple[Arrival, Hashable]], watermark: int) -> list[TimedRow]:
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
    def meet(self, arrival: Arrival, key: Hashable) -> None:
        """A tuple meets the windows of one of its keys."""

    def emit(self, time: int, function: Callable[[], Answer], name: str, given: object) -> None:
        try:
            answer = function()
            rows = [answer] if isinstance(answer, Mapping) else list(answer or ())
        except SashError:
            raise
        except Exception as error:
            raise PredicateError(
                f"{name} raised {type(error).__name__}: {error}; asked about {given}"
            ) from error
        for row in rows:
            if not isinstance(row, Mapping) or set(row) != set(self.operator.payload.names):
                expected = f"rows with the columns {self.operator.payload.names}"
                raise PredicateError(f"{name} must answer with {expected}; got {row!r}")
            self.waiting.append((time, row))

    def update(self, windows: WindowSet, arrival: Arrival) -> None:
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

    def meet(self, arrival: Arrival, key: Hashable) -> None:
        for w in self.operator.clock.mapping(arrival.time):
            start = self.operator.clock.extent(w).start
            by_key = self.open.setdefault(start, {})
            if key not in by_key:
                by_key[key] = self.windows(key, start)
            self.update(by_key[key], arrival)

    def expire(self, now: int) -> None:
        size = self.operator.clock.size
        if self.open and min(self.open) + size <= now:
            for start in sorted(start for start in self.open if start + size <= now):
                for windows in self.open.pop(start).values():
                    self.output(windows)


class SingleShare(KeyShare):
    def __init__(self, operator: Stateful) -> None:
        super().__init__(operator)
        self.start = 0
        self.keys: dict[Hashable, WindowSet] = {}

    def meet(self, arrival: Arrival, key: Hashable) -> None:
        held = self.operator.clock.mapping(arrival.time)
        if not held:
            return
        if not self.keys:
            self.start = self.operator.clock.extent(held.start).start
        if key not in self.keys:
            self.keys[key] = self.windows(key, self.start)
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
            windows.start, windows.end = start, start + self.operator.clock.size
            self.operator.slide(windows)
        self.keys = {key: windows for key, windows in self.keys.items() if not windows.empty}


class InterpretedShares(Running):
    """An operator whose functions are plain Python."""

    def __init__(self, operator: Stateful) -> None:
        super().__init__(operator)
        kind = MultiShare if operator.window_type == "multi" else SingleShare
        self._shares: list[KeyShare] = [kind(operator) for _ in range(operator.shares)]

    def _share(self, number: int) -> Any:
        return self._shares[number]

    def _answer(self, run: Interleaved, prepared: Prepared, mine: Ints) -> pa.Table:
        arrivals = prepared.once("arrivals", lambda: _arrivals(run))
        emitted: list[TimedRow] = []
        pieces = prepared.pieces()
        for number in mine.tolist():
            events, numbers = map(
                np.concatenate, zip(*(piece.pairs(number) for piece in pieces), strict=True)
            )
            keys = self.names.keys(numbers)
            met = zip(map(arrivals.__getitem__, events.tolist()), keys, strict=True)
            with self.share(number) as share:
                emitted += share.step(met, run.watermark)
        emitted.sort(key=lambda one: one[0])
        times = from_integers(
            np.array([time for time, _ in emitted], np.int64), self.operator.schema.field(0).type
        )
        rows = pa.Table.from_pylist([dict(row) for _, row in emitted], schema=self.operator.payload)
        return pa.Table.from_arrays([times, *rows.columns], schema=self.operator.schema)

    def buffers(self) -> list[tuple[int, int]]:
        return [(id(share), 0) for share in self._shares]


def _arrivals(run: Interleaved) -> list[Arrival]:
    rows = [map(Row, table.to_pylist()) for table in run.tables]
    woven = zip(run.times.tolist(), run.inputs.tolist(), strict=True)
    return [Arrival(time, i, run.first + at, next(rows[i])) for at, (time, i) in enumerate(woven)]
