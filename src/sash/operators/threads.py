"""Several pieces of work at a time: kernels and Arrow release Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def in_threads(work: Sequence[Callable[[], T]], *, workers: int | None = None) -> list[T]:
    """The results, in the order of the work; as many threads as there are pieces, unless `workers` is less.

    >>> in_threads([lambda: 1, lambda: 2])
    [1, 2]
    """
    threads = len(work) if workers is None else min(workers, len(work))
    if threads <= 1:
        return [piece() for piece in work]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda piece: piece(), work))
