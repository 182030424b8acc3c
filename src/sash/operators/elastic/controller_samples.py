"""What a controller sees: samples of a running operator, the oldest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sash.operators.elastic.instances import ElasticOperator


@dataclass(frozen=True)
class Sample:
    """What happened in the `seconds` before `time`."""

    time: float
    seconds: float
    degree: int
    rate: float
    """Tuples a second that arrived."""
    pending: int
    """Tuples that wait for the slowest instance."""
    utilisation: float
    """The part of their time in which the instances were at work: 1.0 is all of it."""

    @property
    def work(self) -> float:
        """Seconds of one instance that the interval cost."""
        return self.utilisation * self.degree * self.seconds


class Meter:
    """Takes samples of an operator; each begins where the last one ended."""

    def __init__(self, operator: ElasticOperator, *, clock: Callable[[], float]) -> None:
        self.busy = [0.0] * operator.limit
        self._operator, self._clock = operator, clock
        self._time, self._arrived, self._worked = clock(), 0, 0.0

    def sample(self) -> Sample:
        now, arrived, worked = self._clock(), self._operator.entry.ready, sum(self.busy)
        seconds = max(now - self._time, 1e-9)
        degree = self._operator.degree
        found = Sample(
            time=now,
            seconds=seconds,
            degree=degree,
            rate=(arrived - self._arrived) / seconds,
            pending=self._operator.entry.unread(),
            utilisation=min(1.0, (worked - self._worked) / (seconds * degree)),
        )
        self._time, self._arrived, self._worked = now, arrived, worked
        return found
