"""Shares of an operator in a worker process: what is sent to it, and what it does.

The process keeps the windows of its shares. A step brings the tuples that have keys there, once each, and
returns the rows that are due, in the order of time.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import cloudpickle
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.arrays import Ints
from sash.operators.patterns.worker_process_main import find_modules
from sash.operators.stateful.interpreted_shares import KeyShare, arrivals, share_of, timed_table


class ShareWorker:
    """The shares of a process, each made when its first tuple comes."""

    def __init__(self, operator: bytes) -> None:
        self.operator = cloudpickle.loads(operator)
        self.shares: dict[int, KeyShare] = {}

    def share(self, number: int) -> KeyShare:
        if number not in self.shares:
            self.shares[number] = share_of(self.operator)
        return self.shares[number]


@dataclass(frozen=True)
class ShareSetup:
    """An operator, as cloudpickle writes it."""

    operator: bytes
    path: tuple[str, ...]
    """Where modules are found that it refers to by name."""

    holds_state: ClassVar[bool] = True

    def set_up(self) -> ShareWorker:
        find_modules(self.path)
        return ShareWorker(self.operator)


@dataclass(frozen=True)
class StepRequest:
    """Tuples of a run, and which of them each share meets under which keys."""

    times: Ints
    inputs: NDArray[np.int8]
    ordinals: Ints
    tables: tuple[pa.Table, ...]
    watermark: int
    met: tuple[tuple[int, list[int], list[Hashable]], ...]
    """For each share: the places of tuples among these, and a key for each."""

    def answered_by(self, worker: ShareWorker) -> pa.Table:
        arrived = arrivals(self.times, self.inputs, self.ordinals, self.tables)
        emitted = []
        for number, places, keys in self.met:
            pairs = zip(map(arrived.__getitem__, places), keys, strict=True)
            emitted += worker.share(number).step(pairs, self.watermark)
        return timed_table(worker.operator, emitted)
