"""Rows that a Python stage has at hand, packed in that very stage: nothing goes through the JVM between.

blocks or paths ──▶ rows ──▶ place = hash(keys) mod B ──▶ blocks
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import Packing
from sash.runtimes.spark.packing.bucket_of_key_arrow import buckets
from sash.runtimes.spark.packing.bucket_of_key_sql import Share


@dataclass(frozen=True)
class HashedPacker:
    """What a stage is given → rows → blocks: the function of `mapInArrow`."""

    rows: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    """Answers with the columns of a block, in its order."""
    shares: Sequence[Share]
    packer: Packing

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.packer(map(self._placed, self.rows(batches)))

    def _placed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows as Spark would have handed them to the packer."""
        places = [pa.array(buckets(rows, share.bound.keys, share.count)) for share in self.shares]
        names = [*by_position.places(rows.schema.names), *(share.name for share in self.shares)]
        return pa.record_batch([*rows.columns, *places], names=names)
