"""Patterns of two steps: what the first hands to the second, at the three levels of fusion (see `stages`).

    level 0    a collector gathers all folds, then an emitter cuts out what each worker needs
    level 1    both in one stage
    level 2    nobody: each worker takes what it needs from those before

The folds that a worker gets are the same at every level, so that the answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Protocol, TypeVar

from sash.operators.folding.values import Values, in_order
from sash.operators.patterns.folding import Folds
from sash.operators.patterns.thread_pool import Job, Stages
from sash.operators.patterns.window_share import blocks

T = TypeVar("T")
IndexRange = tuple[int, int]
Needed = Callable[[], Folds]
"""What a worker needs, computed when it is called."""


class TwoSteps(Protocol):
    """What workers do, and how folds of parts become folds for windows first ≤ i < last."""

    @property
    def windows(self) -> int: ...

    def parts(self, workers: int) -> list[Job]:
        """The first step, which folds events."""
        ...

    def fold_windows(self, needed: Needed, first: int, last: int) -> Values:
        """The second one."""
        ...

    def gather(self, parts: list[Folds]) -> Folds: ...
    def cut(self, whole: Folds, first: int, last: int) -> Folds: ...
    def take(self, parts: list[Folds], first: int, last: int) -> Folds:
        """The same as to gather and to cut, without what nobody needs."""
        ...


def _exchanged(
    exchange: TwoSteps, parts: list[Folds], spans: list[IndexRange], *, level: int
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


def in_two_steps(steps: Callable[[], TwoSteps], *, first: int, second: int, level: int) -> Stages:
    """The stages of a pattern whose workers fold parts of the events, and then windows from those."""
    work = yield from _apart(steps, level=level)
    if level and first == second == 1:
        # Both steps by one worker: there is nobody to wait for in between.
        values: list[Values] = yield [partial(_alone, work)]
        return values[0]
    parts: list[Folds] = yield work.parts(first)
    spans = list(blocks(work.windows, second))
    needed = yield from _exchanged(work, parts, spans, level=level)
    values = yield [partial(work.fold_windows, own, *span) for own, span in zip(needed, spans, strict=True)]
    return (yield from _apart(partial(in_order, values), level=level))


def _alone(work: TwoSteps) -> Values:
    parts = [job() for job in work.parts(1)]
    return work.fold_windows(partial(work.take, parts, 0, work.windows), 0, work.windows)


def _apart(job: Callable[[], T], *, level: int) -> Generator[list[Job], list[Any], T]:
    """What is not parallel: a stage of its own at level 0, otherwise a part of the stage beside it."""
    if level > 0:
        return job()
    (result,) = yield [job]
    found: T = result
    return found


def _cut(exchange: TwoSteps, gather: Needed, spans: list[IndexRange]) -> list[Folds]:
    whole = gather()
    return [exchange.cut(whole, *span) for span in spans]


def _as_it_is(folds: Folds) -> Folds:
    return folds
