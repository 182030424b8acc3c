"""Instances of one operator: threads over shared state, between two ScaleGates.

    sources → entry gate → instance 0 … n − 1 → exit gate → readers
                              shares of one state

`setup(operator, m, n)` starts m instances and keeps n − m in a pool. Virtual shared-nothing: every instance
reads the same input and handles the keys of its shares, as if it were alone (Gulisano et al., STRETCH).
Kernels release Python's lock, so that instances whose work is a kernel run side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event, Thread
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.errors import ArgumentError
from sash.operators.elastic.epochs import Epoch, Epochs, Reconfiguration, chosen_instances, requested
from sash.operators.elastic.mapping import checked
from sash.operators.elastic.metrics import Meter, Sample
from sash.operators.interleaved import END_OF_TIME, Batch, Input, Interleaved
from sash.operators.scalegate import CAPACITY, Control, ScaleGate
from sash.operators.stateful.declaration import TIME, Stateful

Ints = NDArray[np.int64]
LAST_WORD = "the end of the stream"
"""The source that closes all windows when an operator is stopped."""


class ElasticOperator:
    """A running operator whose number of instances can change: a context manager, or to be stopped."""

    def __init__(
        self,
        operator: Stateful,
        m: int,
        n: int,
        *,
        sources: Iterable[str] | Mapping[str, int] = ("source",),
        readers: Iterable[str] = ("reader",),
        mapping: Sequence[int] | Ints | None = None,
        capacity: int = CAPACITY,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if not 1 <= m <= n <= operator.shares:
            expected = f"1 ≤ m ≤ n ≤ {operator.shares}, the number of shares"
            raise ArgumentError("m, n", (m, n), expected, hint="Give the operator more shares.")
        self.operator, self.limit, self.clock = operator, n, clock
        self.running = operator.start()
        first = chosen_instances(m, limit=n)
        self.entry = ScaleGate(operator.inputs, sources=sources, readers=map(str, first), capacity=capacity)
        self.exit = ScaleGate(
            Input(operator.schema, time=TIME), sources=map(str, first), readers=readers, capacity=capacity
        )
        assigned = (
            operator.mapping(operator.shares, first)
            if mapping is None
            else checked(mapping, shares=operator.shares, instances=first)
        )
        self.epochs = Epochs(self.running, Epoch(0, first, assigned), switch=self._switch, clock=clock)
        self.meter = Meter(self, clock=clock)
        self.deliveries = [0] * n
        """How many tuples each instance was handed: a tuple with several keys counts once."""
        self._failure: BaseException | None = None
        self._over = False
        self._wanted = [Event() for _ in range(n)]
        self._threads = [
            Thread(target=self._instance, args=(number,), name=f"instance {number}", daemon=True)
            for number in range(n)
        ]
        for number in first:
            self._wanted[number].set()
        for thread in self._threads:
            thread.start()

    # For sources, readers and owners

    def add(
        self,
        source: str,
        batch: Batch | None = None,
        *,
        watermark: int | None = None,
        timeout: float | None = None,
    ) -> bool:
        """Add rows of a source: see `ScaleGate.add`."""
        self._raise_failure()
        return self.entry.add(source, batch, watermark=watermark, timeout=timeout)

    def get(self, reader: str, *, timeout: float | None = None) -> pa.Table | None:
        """The next rows of the output; None when there are none within `timeout`, or none any more."""
        while True:
            run = self.exit.get(reader, timeout=timeout)
            self._raise_failure()
            if run is None:
                return None
            if isinstance(run, Interleaved) and len(run):
                return run.tables[0]

    def reconfigure(
        self, instances: int | Sequence[int], mapping: Sequence[int] | Ints | None = None
    ) -> Reconfiguration:
        """Change the instances, and which shares each of them has, at the place that the input has reached.

        Returns at once; `.wait()` for the switch.
        """
        self._raise_failure()
        change = requested(
            instances, mapping, limit=self.limit, shares=self.operator.shares, now=self.clock()
        )

        def announce(gamma: int) -> Reconfiguration:
            change.gamma = gamma
            return change

        self.entry.control(announce)
        return change

    @property
    def degree(self) -> int:
        return len(self.epochs.present.instances)

    def sample(self) -> Sample:
        """What happened since the last sample: for controllers."""
        return self.meter.sample()

    def stop(self) -> None:
        """No more tuples come: close all windows, let the instances end. The output can still be read."""
        self.entry.add_sources([LAST_WORD])
        self.entry.remove_sources(self.entry.sources - {LAST_WORD})
        self.entry.add(LAST_WORD, watermark=END_OF_TIME)
        self.entry.close()
        for thread in self._threads:
            thread.join()
        self.exit.close()
        self._raise_failure()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.entry.closed:
            return
        # Nobody is left to read: an instance must not wait for room for ever.
        self.exit.close()
        self.stop()

    # What an instance does

    def _instance(self, number: int) -> None:
        try:
            self._wanted[number].wait()
            while not self._over or number in self.epochs.present.instances:
                if not self._run_while_chosen(number):
                    break
                self._wanted[number].wait()
        except BaseException as error:
            self._failure = error
            self.epochs.abandon()
            self.entry.close()
            self.exit.close()
        # Whoever comes to the end of the input first ends those who wait in the pool.
        self._over = True
        for wanted in self._wanted:
            wanted.set()

    def _run_while_chosen(self, number: int) -> bool:
        """Handle the input until an epoch sends this instance into the pool (True), or until its end."""
        name, epoch = str(number), self.epochs.present
        mine = epoch.shares_of(number)
        while number in epoch.instances:
            item = self.entry.get(name)
            if item is None or self._failure is not None:
                return False
            if isinstance(item, Control):
                epoch = self.epochs.arrive(number, item.message)
                mine = epoch.shares_of(number)
                continue
            began = self.clock()
            answer = self.running.step(item, mine)
            promise = self.operator.next_end(item.watermark)
            self.exit.add(name, answer if answer.num_rows else None, watermark=promise)
            self.deliveries[number] += len(item)
            self.meter.busy[number] += self.clock() - began
        return True

    def _switch(self, leader: int, entering: Sequence[int], leaving: Sequence[int]) -> None:
        """Called at the barrier: those who enter go on where the leader stands."""
        self.entry.add_readers(map(str, entering), at=str(leader))
        self.exit.add_sources(map(str, entering))
        for number in leaving:
            self._wanted[number].clear()
        self.entry.remove_readers(map(str, leaving))
        self.exit.remove_sources(map(str, leaving))
        for number in entering:
            self._wanted[number].set()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


setup = ElasticOperator
"""The paper's setup(O+, m, n): m instances at work, n at most."""
