"""The step of a stream, as benchmarks run it: with its processor time, or without its look for hot keys.

Processor time of a task does not depend on how many tasks share a core. A task has its Python process for
itself, so that it is the time of that process, whatever threads it has.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from pyspark.accumulators import Accumulator, AccumulatorParam

from sash.operators.engine.lanes import ring_lane
from sash.runtimes.spark.epochs import epoch_run
from sash.runtimes.spark.epochs.epoch_step import EpochStep
from sash.runtimes.spark.epochs.sharing_step import SharingStep

Spent = dict[tuple[int, int], float]
"""Seconds by epoch and task."""


class SpentByTasks(AccumulatorParam[Spent]):
    """That of the last attempt of a task counts."""

    def zero(self, value: Spent) -> Spent:
        return {}

    def addInPlace(self, value1: Spent, value2: Spent) -> Spent:
        return value1 | value2


class Blind:
    """numpy for a lane that looks for no key with many ranges: none has any."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def bincount(self, slots: Any) -> Any:
        return np.zeros(1, np.int64)


@dataclass(frozen=True, kw_only=True)
class MeasuredStep(EpochStep):
    """Sent to the tasks in the place of an `EpochStep`."""

    looks: bool = True
    meter: Accumulator[Spent] | None = None

    def of_task(
        self, task: int, batches: Iterable[pa.RecordBatch], *, attempt: int = 0
    ) -> Iterator[pa.RecordBatch]:
        # The process may have served a task of another run before.
        ring_lane.np = np if self.looks else Blind()
        began = time.process_time()
        yield from super().of_task(task, batches, attempt=attempt)
        if self.meter is not None:
            self.meter.add({(self.epoch, task): time.process_time() - began})


@dataclass(frozen=True)
class MeasuredSharingStep(MeasuredStep, SharingStep):
    """Of queries that share hot keys."""


@contextmanager
def stepping(**how: Any) -> Iterator[None]:
    """Queries that begin inside have measured steps."""
    own = {EpochStep: MeasuredStep, SharingStep: MeasuredSharingStep}
    with ExitStack() as patches:
        for step, measured in own.items():
            patches.enter_context(patch.object(epoch_run, step.__name__, partial(measured, **how)))
        yield
