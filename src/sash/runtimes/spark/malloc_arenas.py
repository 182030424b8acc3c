"""How many arenas the C library gives the JVM, which decides how much free memory it holds back.

    memory of the process  =  heap + code + classes + Σ over arenas of the most that was ever in use there

glibc gives threads arenas of their own, up to eight for each core. Buffers that Spark has outside of its
heap while a batch runs, and what the JVM's compiler works with, are freed with the batch; what is freed
inside an arena stays with the process. One day each arena has seen a large batch: a driver on two cores
grew by 4 MB per batch of 200,000 rows, for forty batches (docs/benchmarks/month.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE, ARENAS = "MALLOC_ARENA_MAX", 2
"""Measured: the same processor time per row as without a limit, and 90 MB less after forty batches; four
saved half of that. Java's objects do not come from there, so threads hardly wait for each other. Other C
libraries do not read the variable."""


@contextmanager
def few_arenas() -> Iterator[None]:
    """A JVM that starts meanwhile, and the Python workers that it starts, have few; this process stays as
    it is. Where the variable is set, it stays so."""
    if VARIABLE in os.environ:
        yield
        return
    os.environ[VARIABLE] = str(ARENAS)
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
