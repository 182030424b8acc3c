"""From the rows of a micro-batch to the step behind them: through a shuffle, or in one task.

    large batch    rows ─▶ pack in all tasks ─▶ shuffle by bucket ─▶ step
    small batch    rows ─▶ one task: pack, sort by bucket, step

A second stage takes longer than the packing and the step of a few thousand rows. Which task serves a bucket
leaves no trace in its state, so that each batch can choose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sash.runtimes.spark.packing.blocks import PACKED, PACKED_BUCKET, Packing

LARGEST = 2**26
"""Bytes of the blocks that one task may have."""
Step = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""Blocks that are sorted by bucket → rows of answers."""


@dataclass(frozen=True)
class RowPacking:
    """What a packer reads of each row, and the packer."""

    columns: tuple[str, ...]
    """Expressions in SQL; none: the columns as they are."""
    packer: Packing

    def blocks(self, rows: DataFrame) -> DataFrame:
        return self.selected(rows).mapInArrow(self.packer, PACKED)

    def in_one_task(self, rows: DataFrame, step: Step, struct: StructType) -> DataFrame:
        """What the step answers with, of rows that are packed in its own task."""
        return self.selected(rows).coalesce(1).mapInArrow(PackedStep(self.packer, step, LARGEST), struct)

    def selected(self, rows: DataFrame) -> DataFrame:
        """What the packer reads. Rows that are selected already have a packing without columns."""
        return rows.selectExpr(*self.columns) if self.columns else rows


@dataclass(frozen=True)
class PackedStep:
    """Packing and step: the function of `mapInArrow` for a batch of one task."""

    packer: Packing
    step: Step
    largest: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """TooLarge before anything is written, where a batch has more rows than one task should have."""
        blocks, size = list[pa.RecordBatch](), 0
        for some in self.packer(batches):
            blocks.append(some)
            size += some.nbytes
            if size > self.largest:
                raise TooLarge(f"more than {self.largest:,} bytes: several tasks will have this batch")
        return self.step(pa.Table.from_batches(blocks).sort_by(PACKED_BUCKET).to_batches())


class TooLarge(Exception):
    """Of a batch in one task: one that comes after small ones may be a backlog."""

    @classmethod
    def is_in(cls, error: BaseException) -> bool:
        """Whether a job has failed of it: Spark has the text of what a worker raised."""
        return f"{cls.__name__}: more than" in str(error)
