"""A running operator: its state in shares of the keys, each of which one instance touches at a time.

    step(run, mine)     one instance reads a run of tuples and handles those of its shares

Several instances may step at once, each over the same runs in the same order, as long as their shares are
disjoint. What is the same for all of them, above all the keys of every tuple, they compute together and
share (shared_preparation.py). A tuple reaches an instance once, whatever the number of its keys there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.rows.key_sets import by_share, without_repeats
from sash.arrays import Ints
from sash.errors import OutOfOrder
from sash.operators.order.interleaved import END_OF_TIME, Interleaved
from sash.operators.stateful.declaration import Stateful
from sash.operators.stateful.keys_as_integers import Integers, names_for
from sash.operators.stateful.shared_preparation import Piece, Prepared, cuts
from sash.operators.windows.ranges import NEVER


class StateLog(Protocol):
    """What of the windows is written between two batches, for an operator with one share: chunks of what
    has changed, each written once."""

    def take(self, run: Interleaved, prepared: Prepared) -> None:
        """One more run was processed."""
        ...

    def save(self, number: int, watermark: int) -> dict[int, pa.Table]:
        """What has changed since the last time, as chunks from `number` on."""
        ...

    @property
    def live(self) -> list[int]:
        """The chunks that are needed, in the order in which they were written."""
        ...

    @property
    def memory(self) -> int:
        """About how many bytes these are."""
        ...

    def load(self, chunks: Mapping[int, pa.Table], watermark: int) -> None:
        """The windows that were open at this watermark, from the chunks that were live."""
        ...


class Running(ABC):
    """The running half of an operator."""

    def __init__(self, operator: Stateful) -> None:
        self.operator = operator
        self.names = names_for(
            keys.type(own.schema) for keys, own in zip(operator.keys, operator.inputs, strict=True)
        )
        self.reached = np.full(operator.shares, -NEVER)
        """How far each share has come."""
        self.load = np.zeros(operator.shares)
        """What each share has cost lately: how many times a tuple met one of its keys."""
        self._prepared: WeakKeyDictionary[Interleaved, Prepared] = WeakKeyDictionary()
        self._preparing = Lock()
        self.taken = 0
        """How many tuples have come."""
        self.logged: StateLog | None = None
        self._keys_a_tuple = 0.0
        """As in the piece that was read last: the next run will not be very different."""

    def process(self, run: Interleaved) -> pa.Table:
        """What is emitted for one more run, when there is a single instance."""
        numbered = replace(run, first=self.taken)
        self.taken += len(run)
        answer = self.step(numbered, np.arange(self.operator.shares))
        if self.logged is not None:
            self.logged.take(numbered, self._prepared[numbered])
        return answer

    def finish(self) -> pa.Table:
        """No more tuples come: every window expires."""
        tables = tuple(own.schema.empty_table() for own in self.operator.inputs)
        none = np.empty(0, np.int64)
        return self.process(Interleaved(none, none.astype(np.int8), tables, END_OF_TIME))

    def step(self, run: Interleaved, mine: Ints) -> pa.Table:
        """What the instance that has the shares `mine` emits for one more run, in the order of time."""
        behind = self.reached[mine]
        if len(run) and len(behind) and run.times[0] < behind.max():
            raise OutOfOrder(f"the operator is at time {behind.max()}; {run.times[0]} is before it")
        # As many pieces as there are instances with shares like this one.
        prepared = self._prepare(run, pieces=self.operator.shares // max(len(mine), 1))
        answer = self._answer(run, prepared, mine)
        self.load[mine] += sum(np.diff(piece.offsets)[mine] for piece in prepared.pieces())
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

    # Between two batches of a stream

    @property
    @abstractmethod
    def holds(self) -> bool:
        """Whether any window is open, or any row waits for its turn."""

    @abstractmethod
    def log(self) -> StateLog | None:
        """What writes its windows down; None: they follow from their tuples."""

    def resume(self, floor: int, taken: int) -> None:
        """Go on where another one stopped: windows that start before `floor` have expired, and so many
        tuples have come."""
        self.taken = taken

    def close(self) -> None:  # noqa: B027 (most have nothing to do)
        """No more steps follow."""

    @abstractmethod
    def buffers(self) -> list[tuple[int, int]]:
        """Where the state lies, as (address, bytes): what a reconfiguration must not move."""

    def _prepare(self, run: Interleaved, *, pieces: int) -> Prepared:
        with self._preparing:
            if run not in self._prepared:
                self.names.forget(int(self.reached.min()) - self.operator.clock.size)
                self._prepared[run] = self._begin(run, pieces=pieces)
            return self._prepared[run]

    def _begin(self, run: Interleaved, *, pieces: int) -> Prepared:
        """How the run is to be read; called once a run, in the order of runs."""
        # Names are given in the order of arrival: keys that need them are read in one piece.
        most = pieces if isinstance(self.names, Integers) else 1
        parts = cuts(len(run), self._keys_a_tuple, pieces=most)
        return Prepared([partial(self._read, run, part) for part in parts])

    def _read(self, run: Interleaved, part: slice) -> Piece:
        """The keys of some of the tuples, in the order of the tuples, then grouped by share."""
        sets = []
        latest = int(run.times[-1]) if len(run) else run.watermark
        for number, keys in enumerate(self.operator.keys):
            positions, rows = run.part(number, part)
            offsets, found = keys.sets(rows)
            named = self.names.numbers(found, time=latest)
            if not keys.distinct:
                offsets, named = without_repeats(offsets, named)
            sets.append((offsets, named, positions))
        if len(sets) > 1:
            event = np.concatenate([np.repeat(at, np.diff(offsets)) for offsets, _, at in sets])
            order = np.argsort(event, kind="stable")
            key = np.concatenate([named for _, named, _ in sets])
            sets = [(np.arange(len(event) + 1), key[order], event[order])]
        piece = Piece(*by_share(*sets[0], self.operator.shares))
        self._keys_a_tuple = len(piece.key) / max(part.stop - part.start, 1)
        return piece
