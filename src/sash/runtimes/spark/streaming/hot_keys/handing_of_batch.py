"""Which buckets hand windows out in a micro-batch, known to its tasks: `choose_busy_buckets` decides,
`handed_out_windows` hands out."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import TaskContext

from sash.runtimes.spark.patterns.agnostic import Dealer

PROPERTY = "sash.batch.handing"


@dataclass(frozen=True)
class Handing:
    """The buckets that hand windows out, and to how many workers."""

    workers: int = 1
    buckets: frozenset[int] = frozenset()

    def __str__(self) -> str:
        return f"{self.workers}:{','.join(map(str, sorted(self.buckets)))}"

    @classmethod
    def parse(cls, text: str | None) -> Handing:
        """
        >>> Handing.parse(str(Handing(8, frozenset({3, 7})))), Handing.parse(None)
        (Handing(workers=8, buckets=frozenset({3, 7})), Handing(workers=1, buckets=frozenset()))
        """
        if not text:
            return cls()
        workers, buckets = text.split(":")
        return cls(int(workers), frozenset(map(int, filter(None, buckets.split(",")))))

    def dealer(self, bucket: int) -> Dealer | None:
        return Dealer(self.workers, bucket) if bucket in self.buckets else None


def handing_of_batch() -> Handing:
    """As the driver has decided it for the batch of this task."""
    task = TaskContext.get()
    return Handing.parse(None if task is None else task.getLocalProperty(PROPERTY))
