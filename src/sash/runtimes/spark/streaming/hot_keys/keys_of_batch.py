"""Whose look-backs several buckets share in a micro-batch, known to its tasks.

`choose_shared_keys` decides, `look_back_packer` sends rows and elements, `look_back_buckets` get them.

    journal of the epoch before ──▶ a local property of the batch ──▶ its packers, and its step

All tasks of a batch must send and answer by the same regimes, and so must those of the batch when it is
executed again: the driver records them before any of them begins.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from sash.arrays import Ints
from sash.operators.look_back_regimes import Regime
from sash.runtimes.spark.packing.bucket_of_key_arrow import hashes

PROPERTY = "sash.batch.shared_keys"


@dataclass(frozen=True)
class SharedKeys:
    """The regimes of a batch, and Spark's watermark that judges it."""

    regimes: tuple[Regime, ...] = ()
    milliseconds: int = 0

    def __str__(self) -> str:
        """
        >>> str(SharedKeys((Regime(-7, 4, 5, 0, 10),), 3))
        '[3, [-7, 4, 5, 0, 10, 4611686018427387904, 4611686018427387904]]'
        """
        return json.dumps([self.milliseconds, *regimes_as_json(self.regimes)])

    @classmethod
    def parse(cls, text: str | None) -> SharedKeys:
        """
        >>> shared = SharedKeys((Regime(-7, 4, 5, 0, 10),), 3)
        >>> SharedKeys.parse(str(shared)) == shared, SharedKeys.parse(None).regimes
        (True, ())
        """
        if not text:
            return cls()
        milliseconds, *regimes = json.loads(text)
        return cls(regimes_in(regimes), milliseconds)


def regimes_as_json(regimes: Sequence[Regime]) -> list[Any]:
    return [list(astuple(regime)) for regime in regimes]


def regimes_in(found: Sequence[Any]) -> tuple[Regime, ...]:
    """ValueError for numbers that no regime has."""
    regimes = tuple(Regime(*map(int, regime)) for regime in found)
    if any(regime.shares < 1 or regime.length < 1 for regime in regimes):
        raise ValueError(f"these are no regimes: {regimes}")
    return regimes


def set_shared_keys(spark: SparkSession, shared: SharedKeys) -> None:
    """Known to all tasks that this thread starts from now on."""
    spark.sparkContext.setLocalProperty(PROPERTY, str(shared) if shared.regimes else "")


def shared_keys_of_batch() -> SharedKeys:
    """As the driver has decided it for the batch of this task."""
    task = TaskContext.get()
    return SharedKeys.parse(None if task is None else task.getLocalProperty(PROPERTY))


def hashes_of(rows: pa.Table, keys: Sequence[str]) -> Ints:
    """What a regime knows keys by: Spark's hash of them."""
    if not rows.num_rows:
        return np.empty(0, np.int64)
    (batch,) = rows.select(list(keys)).combine_chunks().to_batches()
    return hashes(batch, keys).astype(np.int64)
