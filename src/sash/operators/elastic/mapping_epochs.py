"""Epochs: a mapping f_μ holds from one control tuple to the next.

    reconfigure → a control tuple at one place of the shared input → every instance stops there (barrier)
                → the last to arrive changes the mapping, the readers and the sources → all go on

Up to the control tuple every tuple is handled under the old mapping, from it on under the new one, so
each key has exactly one instance at any place of the stream. Requests that come together become epochs
one after the other, each applied once. What changes is who reads and who owns; the state of a share
stays where it is, and the bytes that did move are counted at the barrier, where nobody else can move
any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Condition, Event

import numpy as np

from sash.arrays import Ints
from sash.errors import ArgumentError
from sash.operators.elastic.instance_of_share import checked
from sash.operators.stateful.running_operator import Running
from sash.semantics.durations import whole_number


@dataclass(frozen=True)
class Epoch:
    """Who computes what, from a control tuple on."""

    number: int
    instances: tuple[int, ...]
    mapping: Ints

    def shares_of(self, instance: int) -> Ints:
        return np.flatnonzero(self.mapping == instance)


@dataclass
class Reconfiguration:
    """One change of the instances, from request to completion."""

    instances: tuple[int, ...]
    given: Ints | None
    requested: float
    gamma: int = 0
    epoch: int | None = None
    mapping: Ints | None = None
    completed: float | None = None
    moved_bytes: int | None = None
    _done: Event = field(default_factory=Event, repr=False)

    def wait(self, timeout: float | None = None) -> bool:
        """Whether all instances have switched, within `timeout` seconds."""
        return self._done.wait(timeout)

    def complete(self, epoch: Epoch, *, moved_bytes: int, at: float) -> None:
        self.epoch, self.mapping = epoch.number, epoch.mapping
        self.moved_bytes, self.completed = moved_bytes, at
        self._done.set()

    @property
    def seconds(self) -> float:
        """From the request until all instances have switched."""
        return float("nan") if self.completed is None else self.completed - self.requested


class Epochs:
    """The barrier. The last instance to arrive calls `switch(itself, those who enter, those who leave)`
    while all others wait."""

    def __init__(
        self,
        running: Running,
        first: Epoch,
        *,
        switch: Callable[[int, Sequence[int], Sequence[int]], None],
        clock: Callable[[], float],
    ) -> None:
        self.running, self.present = running, first
        self.history: list[Reconfiguration] = []
        self._switch, self._clock = switch, clock
        self._turn = Condition()
        self._arrived: set[int] = set()
        self._broken = False

    def arrive(self, instance: int, change: Reconfiguration) -> Epoch:
        """Wait at the barrier of `change`; the epoch that then holds."""
        with self._turn:
            before = self.present
            self._arrived.add(instance)
            if self._arrived == set(before.instances):
                self._apply(instance, change)
            else:
                self._turn.wait_for(lambda: self.present is not before or self._broken)
            return self.present

    def abandon(self) -> None:
        """An instance has failed and will never arrive: let the others go."""
        with self._turn:
            self._broken = True
            self._turn.notify_all()

    def _apply(self, leader: int, change: Reconfiguration) -> None:
        operator, before = self.running.operator, self.present
        buffers = self.running.buffers()
        mapping = change.given
        if mapping is None:
            mapping = operator.mapping(
                operator.shares, change.instances, before=before.mapping, load=self.running.load
            )
            # What was long ago counts less and less.
            self.running.load *= 0.5
        now = Epoch(before.number + 1, change.instances, mapping)
        entering = [each for each in now.instances if each not in before.instances]
        leaving = [each for each in before.instances if each not in now.instances]
        # The new epoch must hold before an instance that enters can read its first tuple.
        self.present = now
        self._arrived.clear()
        self._switch(leader, entering, leaving)
        moved = set(self.running.buffers()).difference(buffers)
        change.complete(now, moved_bytes=sum(size for _, size in moved), at=self._clock())
        self.history.append(change)
        self._turn.notify_all()


def chosen_instances(given: int | Sequence[int], *, limit: int) -> tuple[int, ...]:
    """Instances by number, or the first so many of them."""
    count = whole_number(given)
    numbers = tuple(range(count)) if count is not None else tuple(given)  # type: ignore[arg-type]
    good = all(whole_number(each) is not None and 0 <= each < limit for each in numbers)
    if not numbers or not good or len(set(numbers)) < len(numbers):
        raise ArgumentError("instances", given, f"from 1 to {limit} of the numbers 0 … {limit - 1}")
    return tuple(sorted(numbers))


def requested(
    instances: int | Sequence[int],
    mapping: Sequence[int] | Ints | None,
    *,
    limit: int,
    shares: int,
    now: float,
) -> Reconfiguration:
    """A reconfiguration that can be carried out, or an error with the reason."""
    chosen = chosen_instances(instances, limit=limit)
    given = None if mapping is None else checked(mapping, shares=shares, instances=chosen)
    return Reconfiguration(chosen, given, now)
