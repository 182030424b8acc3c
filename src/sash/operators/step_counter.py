"""How far a long computation has come, for a watcher in another thread.

    share done  =  (d₁ + (d₂ + (d₃ + …) / n₃) / n₂) / n₁          level by level: dᵢ of nᵢ steps are done

A loop that may be long is written `for window in counted(windows): …`. Loops inside of
loops are levels. When nobody watches, `counted` hands out the items as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


class StepCounter:
    """The levels of a computation that are under way.

    >>> with watched() as steps:
    ...     shares = [steps.share for _ in counted("ab") for _ in counted("cd")]
    >>> shares
    [0.0, 0.25, 0.5, 0.75]
    """

    def __init__(self) -> None:
        self.levels: list[tuple[int, int]] = []
        """Steps done, and steps in all; the outermost first."""

    @property
    def share(self) -> float:
        inner = 0.0
        for done, total in reversed(tuple(self.levels)):
            inner = (done + inner) / total
        return inner


_watched: ContextVar[StepCounter | None] = ContextVar("steps", default=None)


@contextmanager
def watched() -> Iterator[StepCounter]:
    """Count the steps of what runs in the block."""
    steps = StepCounter()
    before = _watched.set(steps)
    try:
        yield steps
    finally:
        _watched.reset(before)


def counted(items: Collection[T]) -> Iterator[T]:
    """The items, each a step of what is being computed."""
    steps = _watched.get()
    if steps is None:
        yield from items
        return
    level = len(steps.levels)
    steps.levels.append((0, len(items)))
    try:
        for done, item in enumerate(items):
            steps.levels[level] = done, len(items)
            yield item
    finally:
        del steps.levels[level:]
