"""A pool of threads, and patterns that run on it in stages.

A pattern is a generator: it yields the jobs of a stage, is sent their results in order, yields the next
stage, and returns the values of its windows. Several patterns (the replicas of a farm) share one pool, and
none of them waits for another. Kernels release the GIL, so threads over one shared layout are real workers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

from sash.operators.folding.values import Values

Job: TypeAlias = Callable[[], Any]
Stages: TypeAlias = Generator[list[Job], list[Any], Values]


def run(farms: list[Stages], *, workers: int) -> list[Values]:
    """The values of every farm, in the order of the farms. The first error ends all of them."""
    done: dict[int, Values] = {}
    with ThreadPoolExecutor(workers, thread_name_prefix="sash") as executor:
        try:
            waiting = {number: _submit(executor, next(farm)) for number, farm in enumerate(farms)}
            while waiting:
                for number, jobs in list(waiting.items()):
                    try:
                        stage = farms[number].send([job.result() for job in jobs])
                        waiting[number] = _submit(executor, stage)
                    except StopIteration as end:
                        done[number] = end.value
                        del waiting[number]
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    return [done[number] for number in range(len(farms))]


def one_stage(job: Callable[[], Values]) -> Stages:
    """A pattern with a single job."""
    results: list[Values] = yield [job]
    return results[0]


def _submit(executor: ThreadPoolExecutor, stage: list[Job]) -> list[Future[Any]]:
    return [executor.submit(job) for job in stage]
