"""Executors that follow the degree of an elastic query.

    wanted = ⌈ degree · cores of a task / cores of an executor ⌉

More are requested before the step that needs them, which does not wait: they are there seconds later. Those
that are too many go when the batch is done, because its blocks lie in them until then. Only those without
a task go, because another query may have some there, and the newest first: the others have arenas for
longer.
What an executor held is read from the store by the tasks that serve its buckets next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from pyspark.sql import SparkSession

from sash.errors import Unsupported
from sash.runtimes.spark.compat import ExecutorPool


class Pool(Protocol):
    """What a cluster manager can do."""

    def tasks(self) -> dict[str, int]: ...
    def want(self, number: int) -> None: ...
    def end(self, names: Sequence[str]) -> None: ...


@dataclass
class ExecutorDegree:
    """As many executors as the tasks of a step need."""

    pool: Pool
    tasks: int
    """That an executor runs at a time."""
    _wanted: int | None = None

    @classmethod
    def of(cls, spark: SparkSession) -> Self:
        """Unsupported where the executors of this session cannot be changed, or not by us."""
        setting = spark.sparkContext.getConf().get
        master, cores = str(setting("spark.master")), setting("spark.executor.cores")
        if master.startswith("local"):
            raise Unsupported(
                "executors", True, f"left out with the master {master!r}",
                hint="There the driver does all the work; on a cluster there are executors.",
            )  # fmt: skip
        if setting("spark.dynamicAllocation.enabled") == "true":
            raise Unsupported(
                "executors", True, "left out where spark.dynamicAllocation.enabled is 'true'",
                hint="Spark has as many executors as there are tasks then, which follow the degree.",
            )  # fmt: skip
        if cores is None:
            raise Unsupported(
                "executors", True, "given with spark.executor.cores",
                hint="How many tasks an executor runs decides how many executors a degree needs.",
            )  # fmt: skip
        return cls(ExecutorPool(spark), max(1, int(cores) // int(setting("spark.task.cpus") or 1)))

    def before(self, degree: int) -> None:
        """A step with so many tasks is next."""
        wanted = -(-degree // self.tasks)
        if wanted != self._wanted:
            self.pool.want(wanted)
            self._wanted = wanted

    def after(self) -> None:
        """The batch is done: those that are too many can go."""
        tasks, wanted = self.pool.tasks(), self._wanted
        if wanted is None or len(tasks) <= wanted:
            return
        idle = [name for name, running in tasks.items() if not running]
        if idle:
            self.pool.end(idle[: len(tasks) - wanted])
            self.pool.want(wanted)
