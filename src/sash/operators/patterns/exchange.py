"""What one parallel stage hands to the next, at the three levels of fusion (see `stages`).

    level 0    a collector gathers all folds, then an emitter cuts out what each worker needs
    level 1    both in one stage
    level 2    nobody: each worker takes what it needs from those before

The folds that a worker gets are the same at every level, so that the answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Protocol, TypeVar

from sash.operators.patterns.crew import Job
from sash.operators.patterns.folding import Folds

T = TypeVar("T")
Span = tuple[int, int]
Needed = Callable[[], Folds]
"""What a worker needs, once it asks."""


class Exchange(Protocol):
    """How folds of parts become folds for windows first ≤ i < last."""

    def gather(self, parts: list[Folds]) -> Folds: ...
    def cut(self, whole: Folds, first: int, last: int) -> Folds: ...
    def take(self, parts: list[Folds], first: int, last: int) -> Folds:
        """The same as to gather and to cut, without what nobody asked for."""
        ...


def exchanged(
    exchange: Exchange, parts: list[Folds], spans: list[Span], *, level: int
) -> Generator[list[Job], list[Any], list[Needed]]:
    """For each span of windows what its worker needs of `parts`."""
    if level == 2:
        return [partial(exchange.take, parts, *span) for span in spans]
    gather = partial(exchange.gather, parts)
    if level == 0:
        (whole,) = yield [gather]
        gather = partial(_as_it_is, whole)
    (cuts,) = yield [partial(_cut, exchange, gather, spans)]
    return [partial(_as_it_is, cut) for cut in cuts]


def apart(job: Callable[[], T], *, level: int) -> Generator[list[Job], list[Any], T]:
    """What is not parallel: a stage of its own at level 0, otherwise a part of the stage beside it."""
    if level > 0:
        return job()
    (result,) = yield [job]
    found: T = result
    return found


def _cut(exchange: Exchange, gather: Needed, spans: list[Span]) -> list[Folds]:
    whole = gather()
    return [exchange.cut(whole, *span) for span in spans]


def _as_it_is(folds: Folds) -> Folds:
    return folds
