"""A running operator: its state in shares of the keys, each of which one instance touches at a time.

    step(run, mine)     one instance reads a run of tuples and handles those of its shares

Several instances may step at once, each over the same runs in the same order, as long as their shares are
disjoint. What is the same for all of them, above all the keys of every tuple, is computed by whoever comes
first and shared. A tuple reaches an instance once, whatever the number of its keys there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.kernels.key_sets import by_share, distinct
from sash.errors import OutOfOrder
from sash.operators.interleaved import END_OF_TIME, Interleaved
from sash.operators.ranges import NEVER
from sash.operators.stateful.declaration import Stateful
from sash.operators.stateful.names import names_for

Ints = NDArray[np.int64]
T = TypeVar("T")


@dataclass
class Prepared:
    """The keys of a run's tuples, grouped by share: pair p is the tuple event[p] and its key[p]."""

    offsets: Ints
    event: Ints
    key: Ints
    _shared: dict[str, Any] = field(default_factory=dict)
    _making: Lock = field(default_factory=Lock)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What a kind of operator computes once a run for all instances, under a name of its own."""
        with self._making:
            if name not in self._shared:
                self._shared[name] = make()
            found: T = self._shared[name]
            return found

    def pairs(self, share: int) -> slice:
        return slice(int(self.offsets[share]), int(self.offsets[share + 1]))


class Running(ABC):
    """The running half of an operator."""

    def __init__(self, operator: Stateful) -> None:
        self.operator = operator
        self.names = names_for(
            keys.type(own.schema) for keys, own in zip(operator.keys, operator.inputs, strict=True)
        )
        self.reached = np.full(operator.shares, -NEVER)
        """How far each share has come."""
        self._prepared: WeakKeyDictionary[Interleaved, Prepared] = WeakKeyDictionary()
        self._preparing = Lock()
        self._taken = 0

    def process(self, run: Interleaved) -> pa.Table:
        """What is said of one more run, when there is a single instance."""
        numbered = replace(run, first=self._taken)
        self._taken += len(run)
        return self.step(numbered, np.arange(self.operator.shares))

    def finish(self) -> pa.Table:
        """No more tuples come: every window expires."""
        tables = tuple(own.schema.empty_table() for own in self.operator.inputs)
        none = np.empty(0, np.int64)
        return self.process(Interleaved(none, none.astype(np.int8), tables, END_OF_TIME))

    def step(self, run: Interleaved, mine: Ints) -> pa.Table:
        """What is said of one more run by the instance that has the shares `mine`, in the order of time."""
        behind = self.reached[mine]
        if len(run) and len(behind) and run.times[0] < behind.max():
            raise OutOfOrder(f"the operator has come as far as {behind.max()}; {run.times[0]} is too late")
        answer = self._answer(run, self._prepare(run), mine)
        self.reached[mine] = max(run.watermark, int(run.times[-1]) if len(run) else run.watermark)
        return answer

    @contextmanager
    def share(self, number: int) -> Iterator[Any]:
        """The state of one share: the only way to it, so that a test can watch who takes it."""
        yield self._share(number)

    @abstractmethod
    def _share(self, number: int) -> Any: ...

    @abstractmethod
    def _answer(self, run: Interleaved, prepared: Prepared, mine: Ints) -> pa.Table: ...

    @abstractmethod
    def buffers(self) -> list[tuple[int, int]]:
        """Where the state lies, as (address, bytes): what a reconfiguration must not move."""

    def _prepare(self, run: Interleaved) -> Prepared:
        with self._preparing:
            if run not in self._prepared:
                self.names.forget(int(self.reached.min()) - self.operator.clock.size)
                self._prepared[run] = self._read(run)
            return self._prepared[run]

    def _read(self, run: Interleaved) -> Prepared:
        """The keys of all tuples, in the order of the tuples, then grouped by share."""
        events, numbers = [], []
        latest = int(run.times[-1]) if len(run) else run.watermark
        for number, (keys, rows) in enumerate(zip(self.operator.keys, run.tables, strict=True)):
            offsets, found = keys.sets(rows)
            named = self.names.numbers(found, time=latest)
            if not keys.distinct:
                offsets, named = distinct(offsets, named)
            events.append(np.repeat(run.positions(number), np.diff(offsets)))
            numbers.append(named)
        event, key = events[0], numbers[0]
        if len(events) > 1:
            event, key = np.concatenate(events), np.concatenate(numbers)
            order = np.argsort(event, kind="stable")
            event, key = event[order], key[order]
        return Prepared(*by_share(event, key, self.operator.shares))
