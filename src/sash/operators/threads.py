"""Several pieces of work at a time: kernels and Arrow release Python's lock.

Whoever asks works too, and is helped by threads that stay: to start one takes as long as to sum some
hundred thousand numbers, and a query asks some ten times. Pieces that no helper has begun are the caller's,
so that work within work never waits for a thread that is free.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

from sash.operators.step_counter import counted

T = TypeVar("T")


def available_cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(
    work: Sequence[Callable[[], T]], *, workers: int | None = None, steps: bool = False
) -> list[T]:
    """The results, in the order of the work; the first piece that fails ends it. As many threads as there
    are pieces, unless `workers` or the number of cores is less. `steps`: pieces are steps of what is being
    computed (`step_counter`).

    >>> in_threads([lambda: 1, lambda: 2])
    [1, 2]
    """
    left, done, failed = deque(enumerate(work)), dict[int, T](), dict[int, BaseException]()

    def compute() -> None:
        # Steps of a helper are nobody's: the watcher is in the context of whoever asked.
        for _, (number, piece) in zip(counted(work) if steps else work, _taken(left), strict=False):
            try:
                done[number] = piece()
            except BaseException as error:
                failed[number] = error
                left.clear()

    threads = len(work) if workers is None else min(workers, len(work))
    helpers = [_helpers().submit(compute) for _ in range(min(threads, available_cores()) - 1)]
    compute()
    # What a helper has not begun by now has nothing left to do.
    wait([helper for helper in helpers if not helper.cancel()])
    if failed:
        raise failed[min(failed)]
    return [done[number] for number in range(len(work))]


def _taken(left: deque[T]) -> Iterator[T]:
    """What is left, each for one thread."""
    while True:
        try:
            one = left.popleft()
        except IndexError:
            return
        yield one


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cores(), thread_name_prefix="sash")


if hasattr(os, "register_at_fork"):
    # A child process has the executor, and none of its threads.
    os.register_at_fork(after_in_child=_helpers.cache_clear)
