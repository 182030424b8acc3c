"""Window map-reduce: one window is computed by several workers at once.

    event at position p        →  partition p mod m
    range [lo, hi) of events   →  range [⌈(lo − j) / m⌉, ⌈(hi − j) / m⌉) of partition j
    window                     =  partial of partition 0 ⊕ … ⊕ partial of partition m − 1

Events are dealt round-robin, so that partitions are equally long whatever the windows are; neighbours part,
so that the aggregates must commute.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.folding.values import Values
from sash.operators.patterns.folding import Folds, dealt, joined
from sash.operators.patterns.thread_pool import Job, Stages
from sash.operators.patterns.two_step_handover import Needed, in_two_steps
from sash.operators.patterns.window_share import WindowShare
from sash.operators.patterns.worker_pool import WorkerPool


def win_mapreduce(share: WindowShare, pool: WorkerPool, *, map: int, reduce: int, level: int = 2) -> Stages:
    """The stages of one window map-reduce: partials of partitions, then windows."""
    return in_two_steps(partial(_Split, share, pool, map), first=map, second=reduce, level=level)


def partition_of(share: WindowShare, partition: int, *, partitions: int) -> tuple[pa.Table, Ints, Ints]:
    """The events of a partition, and which of them each window has."""
    rows, ranges = share.layout.rows, share.ranges
    mine = rows.take(pa.array(np.arange(partition, rows.num_rows, partitions)))
    lo, hi = (-((partition - ends) // partitions) for ends in (ranges.lo, ranges.hi))
    return mine, lo, hi


@dataclass(frozen=True)
class _Split:
    """A share whose events are dealt to partitions, and what workers do with them."""

    share: WindowShare
    pool: WorkerPool
    partitions: int

    @property
    def windows(self) -> int:
        return len(self.share)

    def parts(self, workers: int) -> list[Job]:
        return [partial(self.fold_partition, partition) for partition in range(workers)]

    def fold_partition(self, partition: int) -> Folds:
        mine, lo, hi = partition_of(self.share, partition, partitions=self.partitions)
        return self.pool.lift_and_fold(mine, lo, hi, self.share.ranges.slot)

    def fold_windows(self, needed: Needed, first: int, last: int) -> Values:
        starts = np.arange(last - first) * self.partitions
        whole = np.zeros(last - first, np.int64)
        values = self.pool.fold_and_lower(needed(), starts, starts + self.partitions, whole)
        return values.owned_by(self.share.windows[first:last])

    # Between the steps: see `two_step_handover.TwoSteps`.

    def gather(self, parts: list[Folds]) -> Folds:
        return dealt(parts, 0, len(self.share))

    def cut(self, whole: Folds, first: int, last: int) -> Folds:
        return joined([whole], first * self.partitions, last * self.partitions)

    def take(self, parts: list[Folds], first: int, last: int) -> Folds:
        return dealt(parts, first, last)
