"""The input of the simulator: timed arrivals in batches, checked once and never again.

    times[0] ≤ times[1] ≤ …        batches[0] ≤ batches[1] ≤ …

The model knows no disorder. Without batch numbers every event is a batch of its own.

>>> arrivals([10, 10, 12])
Arrivals(times=(10, 10, 12), batches=(0, 1, 2))
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sash.errors import ArgumentError
from sash.semantics.secret.scope import Axis


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The events in the order of their arrival."""

    times: tuple[int, ...]
    batches: tuple[int, ...]

    def positions(self, kind: Axis) -> Sequence[int]:
        """Where each event lies on the axis of the windows: its time, or its number from 1.

        >>> arrivals([10, 10, 12]).positions(Axis.COUNT)
        range(1, 4)
        """
        return self.times if kind is Axis.TIME else range(1, len(self.times) + 1)


def arrivals(times: Iterable[int], *, batches: Iterable[int] | None = None) -> Arrivals:
    """Checked arrivals: whole numbers that never decrease, one batch number for each time."""
    checked = _never_decreasing("times", times)
    if batches is None:
        return Arrivals(checked, tuple(range(len(checked))))
    numbers = _never_decreasing("batches", batches)
    if len(numbers) != len(checked):
        expected = f"one batch number for each of the {len(checked)} times"
        raise ArgumentError("batches", list(numbers), expected, hint=f"There are {len(numbers)}.")
    return Arrivals(checked, numbers)


def positive(argument: str, given: Any) -> int:
    """A whole number of one or more.

    >>> positive("slide", 0)
    Traceback (most recent call last):
        ...
    sash.errors.ArgumentError: slide must be a positive whole number; got 0
    """
    number = _whole(given)
    if number is None or number <= 0:
        raise ArgumentError(argument, given, "a positive whole number")
    return number


def axis_of(given: Any) -> Axis:
    """'time' or 'count', as an Axis."""
    try:
        return Axis(given)
    except ValueError:
        raise ArgumentError("kind", given, "'time' or 'count'") from None


def _never_decreasing(argument: str, given: Any) -> tuple[int, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ArgumentError(argument, given, "a sequence of whole numbers")
    numbers: list[int] = []
    for index, value in enumerate(given):
        number = _whole(value)
        if number is None:
            raise ArgumentError(f"{argument}[{index}]", value, "a whole number")
        if numbers and number < numbers[-1]:
            expected = f"at least {argument}[{index - 1}] = {numbers[-1]}, as {argument} never decrease"
            raise ArgumentError(f"{argument}[{index}]", number, expected)
        numbers.append(number)
    return tuple(numbers)


def _whole(value: Any) -> int | None:
    # A bool is an int to Python, but never what someone means by a time or a size.
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
