"""Cumulating windows: they grow by a step from a tumbling start up to a maximum, as Flink's CUMULATE does.

    n = max / step,   b = origin + ⌊w / n⌋·max
    E(w) = { τ : b ≤ τ < b + (w mod n + 1)·step },   w = …, −1, 0, 1, …

>>> cumulate(6, 2).extent(4)
range(6, 10)
>>> cumulate(6, 2).mapping(8)
range(4, 6)
"""

from __future__ import annotations

from dataclasses import dataclass

from sash.errors import DurationError
from sash.semantics import durations
from sash.semantics.durations import Duration, DurationLike, Unit, format_length, format_origin
from sash.semantics.window import IntervalWindow


@dataclass(frozen=True, slots=True, repr=False)
class CumulateWindow(IntervalWindow):
    """From every multiple of `size`, windows of 1, 2, … steps."""

    size: int
    step: int
    origin: int
    unit: Unit

    def __post_init__(self) -> None:
        for argument, length in (("max", self.size), ("step", self.step)):
            if length <= 0:
                raise DurationError(argument, length, "longer than zero")
        if self.size % self.step:
            size = format_length(self.size, self.unit)
            step = format_length(self.step, self.unit)
            raise DurationError("step", step, f"a divisor of max ({size})")

    def __str__(self) -> str:
        size, step = format_length(self.size, self.unit), format_length(self.step, self.unit)
        origin = f", origin={format_length(self.origin, self.unit)}" if self.origin else ""
        return f"cumulate({size}, {step}{origin})"

    @property
    def steps(self) -> int:
        """n: how many windows share one start."""
        return self.size // self.step

    @property
    def overlap(self) -> float:
        """A time is in all windows of its start that end after it."""
        return (self.steps + 1) / 2

    @property
    def capacity(self) -> Duration:
        return Duration(self.size, self.unit)

    @property
    def meaning(self) -> str:
        size, step = format_length(self.size, self.unit), format_length(self.step, self.unit)
        return f"starts every {size}, grows by {step}, [start, end)"

    @property
    def formula(self) -> str:
        size, step = format_length(self.size, self.unit), format_length(self.step, self.unit)
        n = self.steps
        base = f"{format_origin(self.origin, self.unit)}⌊w / {n}⌋·({size})"
        return f"E(w) = {{ τ : b ≤ τ < b + (w mod {n} + 1)·({step}) }} with b = {base}"

    def extent(self, w: int) -> range:
        block, index = divmod(w, self.steps)
        start = self.origin + block * self.size
        return range(start, start + (index + 1) * self.step)

    def mapping(self, x: int) -> range:
        block, offset = divmod(x - self.origin, self.size)
        return range(block * self.steps + offset // self.step, (block + 1) * self.steps)


def cumulate(max: DurationLike, step: DurationLike, *, origin: DurationLike = 0) -> CumulateWindow:
    """Windows that grow by `step` up to `max`, then start again."""
    size, growth = durations.positive(max, "max"), durations.positive(step, "step")
    shift = durations.parse(origin, "origin")
    unit = durations.same_unit(max=size, step=growth, origin=shift)
    return CumulateWindow(size.length, growth.length, shift.length, unit)
