"""What a candidate does, as steps one after the other.

    seconds  =  Σ work of the step × share of its busiest worker

Work is what one core would need alone. With n workers that are equally busy the share is 1 / n; a worker
that owns a hot key has the share of that key.

>>> CostStep("fold", 8e9, 0.5).seconds
4.0
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class CostStep:
    """A part of the work, shared by workers of which the busiest has `share`."""

    what: str
    work: float
    """Nanoseconds."""
    share: float = 1.0

    @property
    def seconds(self) -> float:
        return self.work * self.share / 1e9


def total(steps: Iterable[CostStep]) -> float:
    return sum(step.seconds for step in steps)
