"""Instances of one operator: threads over shared state, between two ScaleGates.

    sources → entry gate → instance 0 … n − 1 → exit gate → readers
                              shares of one state

`setup(operator, m, n)` starts m instances and keeps n − m in a pool. Virtual shared-nothing: every instance
reads the same input and handles the keys of its shares, as if it were alone (Gulisano et al., STRETCH,
2022). Kernels release Python's lock, so that instances whose work is a kernel run side by side; functions
in plain Python do so with `processes=True` (`stateful.process_shares`).

Operators form graphs by the gates that they have in common: `entry` is the gate that an operator reads,
such as the exit of another one, and `exit` the gate that it feeds, such as the entry of another one.

    in a row      a = setup(A, 1, 2, readers=())              b = setup(B, 1, 2, entry=a.exit, name="b")
    a diamond     join = setup(J, 1, 2, sources=())           a = setup(A, 1, 2, readers=())
                  left = setup(L, 1, 2, entry=a.exit, exit=join.entry, feeds=0, name="left")
                  right = setup(R, 1, 2, entry=a.exit, exit=join.entry, feeds=1, name="right")

All of them are set up before the first tuple comes. When a gate has come to its end, so do the operators
that read it, and with the last of its sources the next gate: to stop the first operators stops all, and
`stop()` of the others waits for it. A failure ends the whole graph, and is raised wherever it is used.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

import pyarrow as pa

from sash.arrays import Ints
from sash.errors import ArgumentError
from sash.operators.elastic.controller_samples import Meter, Sample
from sash.operators.elastic.instance_of_share import checked
from sash.operators.elastic.mapping_epochs import (
    Epoch,
    Epochs,
    Reconfiguration,
    chosen_instances,
    requested,
)
from sash.operators.order.interleaved import Input, InputTable, Interleaved
from sash.operators.order.scalegate import CAPACITY, ScaleGate
from sash.operators.order.scalegate_log import Control
from sash.operators.stateful.declaration import TIME, Stateful
from sash.operators.stateful.process_shares import ProcessShares

TOGETHER = 2**12
"""The most tuples of a step of instances that are behind. A step has a price of its own, which is small
then beside that of its tuples; a switch waits for the end of a step."""


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
        entry: ScaleGate | None = None,
        exit: ScaleGate | None = None,
        feeds: int = 0,
        name: str = "",
        mapping: Sequence[int] | Ints | None = None,
        processes: bool = False,
        capacity: int = CAPACITY,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`sources` and `readers` are those of the gates that are made here; `feeds` is the input of a
        given `exit` that this operator feeds, and `name` distinguishes it from others at the same gates.
        `processes`: the operator's functions, which are plain Python and take long, run in n processes."""
        if not 1 <= m <= n <= operator.shares:
            expected = f"1 ≤ m ≤ n ≤ {operator.shares}, the number of shares"
            raise ArgumentError("m, n", (m, n), expected, hint="Give the operator more shares.")
        self.operator, self.limit, self.clock = operator, n, clock
        self.running = ProcessShares(operator, n) if processes else operator.start()
        first = chosen_instances(m, limit=n)
        self._name, self._feeds, self._owns_exit = name, feeds, exit is None
        output = Input(operator.schema, time=TIME)
        if entry is None:
            entry = ScaleGate(operator.inputs, sources=sources, readers=(), capacity=capacity)
        if exit is None:
            exit = ScaleGate(output, sources=(), readers=readers, capacity=capacity)
        _require_fitting("entry", operator.inputs, entry.inputs)
        _require_fitting("exit", [output], exit.inputs[feeds : feeds + 1])
        self.entry, self.exit = entry, exit
        names = self._names(first)
        if not (entry.add_readers(names) and exit.add_sources(dict.fromkeys(names, feeds))):
            raise ArgumentError("name", name, "a name that no other operator has at these gates")
        assigned = (
            operator.mapping(operator.shares, first, before=None, load=None)
            if mapping is None
            else checked(mapping, shares=operator.shares, instances=first)
        )
        self.epochs = Epochs(self.running, Epoch(0, first, assigned), switch=self._switch, clock=clock)
        self.meter = Meter(self, clock=clock)
        self.deliveries = [0] * n
        """How many tuples each instance was handed: a tuple with several keys counts once."""
        self._failure: BaseException | None = None
        self._failure_is_known = False
        self._over, self._stopped = False, False
        self._ended, self._ending = 0, Lock()
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
        batch: InputTable | None = None,
        *,
        watermark: int | None = None,
        timeout: float | None = None,
    ) -> bool:
        """Add rows of a source: see `ScaleGate.add`."""
        self._raise_failure()
        added = self.entry.add(source, batch, watermark=watermark, timeout=timeout)
        if not added:
            self._raise_failure()
        return added

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

        def begin_at(gamma: int) -> Reconfiguration:
            change.gamma = gamma
            return change

        # Others may read the same gate: a message is for the operator that it names.
        self.entry.control(lambda gamma: (self, begin_at(gamma)))
        return change

    @property
    def degree(self) -> int:
        return len(self.epochs.present.instances)

    def sample(self) -> Sample:
        """What happened since the last sample: for controllers."""
        return self.meter.sample()

    def stop(self) -> None:
        """No more tuples come: close all windows, let the instances end. The output can still be read."""
        self._end()
        self._raise_failure()

    def _end(self) -> None:
        self._stopped = True
        self.entry.end()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stopped:
            return
        if self._owns_exit:
            # Nobody is left to read: an instance must not wait for room for ever.
            self.exit.close()
        self._end()
        if error is None and not self._failure_is_known:
            self._raise_failure()

    # What an instance does

    def _instance(self, number: int) -> None:
        try:
            self._wanted[number].wait()
            while not self._over or number in self.epochs.present.instances:
                if not self._run_while_chosen(number):
                    break
                self._wanted[number].wait()
        except BaseException as error:
            self._failure = self._failure or error
            self.epochs.abandon()
            self.entry.close(error)
            self.exit.close(error)
        # Whoever comes to the end of the input first ends those who wait in the pool.
        self._over = True
        for wanted in self._wanted:
            wanted.set()
        with self._ending:
            self._ended += 1
            if self._ended == self.limit:
                self.running.close()
                self.exit.remove_sources(self._names(range(self.limit)))
                if not self.exit.sources:
                    self.exit.close()

    def _run_while_chosen(self, number: int) -> bool:
        """Handle the input until an epoch sends this instance into the pool (True), or until its end."""
        (name,), epoch = self._names([number]), self.epochs.present
        mine = epoch.shares_of(number)
        while number in epoch.instances:
            item = self.entry.get(name, together=TOGETHER)
            if item is None or self._failure is not None:
                if self.entry.failure is not None:
                    raise self.entry.failure
                return False
            if isinstance(item, Control):
                operator, change = item.message
                if operator is self:
                    epoch = self.epochs.arrive(number, change)
                    mine = epoch.shares_of(number)
                continue
            began = self.clock()
            answer = self.running.step(item, mine)
            reached = self.operator.next_end(item.watermark)
            added = self.exit.add(name, answer if answer.num_rows else None, watermark=reached)
            if not added and self.exit.failure is not None:
                raise self.exit.failure
            self.deliveries[number] += len(item)
            self.meter.busy[number] += self.clock() - began
        return True

    def _switch(self, leader: int, entering: Sequence[int], leaving: Sequence[int]) -> None:
        """Called at the barrier: those who enter go on where the leader stands."""
        (leading,) = self._names([leader])
        self.entry.add_readers(self._names(entering), at=leading)
        self.exit.add_sources(dict.fromkeys(self._names(entering), self._feeds))
        for number in leaving:
            self._wanted[number].clear()
        self.entry.remove_readers(self._names(leaving))
        self.exit.remove_sources(self._names(leaving))
        for number in entering:
            self._wanted[number].set()

    def _names(self, instances: Iterable[int]) -> list[str]:
        """What instances are called at the gates."""
        return [f"{self._name}/{number}" if self._name else str(number) for number in instances]

    def _raise_failure(self) -> None:
        if self._failure is not None:
            self._failure_is_known = True
            raise self._failure


def _require_fitting(argument: str, wanted: Sequence[Input], found: Sequence[Input]) -> None:
    """Refuse a gate whose streams have other columns than the operator."""
    if [*wanted] != [*found]:
        columns, expected = ([(str(own.schema), own.time) for own in each] for each in (found, wanted))
        raise ArgumentError(argument, columns, f"a gate with the columns and the time of {expected}")


setup = ElasticOperator
"""The paper's setup(O+, m, n): m instances at work, n at most."""
