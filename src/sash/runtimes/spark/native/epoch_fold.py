"""The rows of a micro-batch as blocks of panes that Spark's generated code has folded.

    rows ─▶ groupBy(keys, pane) ─▶ one row per key and pane ─▶ blocks of panes ─▶ shuffle ─▶ step
         m, from the journal: what is behind it is late, counted, and in no pane
      └──▶ those behind m, where late rows are an output ─▶ blocks of rows ──────▶

A query that runs in epochs knows its watermark before a batch begins, and its batch is an ordinary
DataFrame, of which an aggregation keeps no state. The blocks are those of `early_panes`: the step does not
know who has folded, and every batch is folded here or packed as rows, as it pays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from sash.runtimes.spark.native.choice import WORTH
from sash.runtimes.spark.native.fold import EVENTS, NativeFold
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import PACKED, Packing, gathered, pack_rows
from sash.runtimes.spark.packing.columns import BUCKET, Share, places
from sash.runtimes.spark.packing.outputs import LATE
from sash.runtimes.spark.packing.pane_blocks import SharedPanes
from sash.runtimes.spark.packing.stamps import StampedPacker
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.runtimes.spark.streaming.worker_gc import freeze_gc

LEAST = 50_000
"""Events of a batch, from which on a further stage of Spark costs less than it saves."""


@dataclass(frozen=True)
class FoldedPacker:
    """Panes with the place of their bucket and their number of events → blocks."""

    shared: SharedPanes
    buckets: tuple[int, ...]
    milliseconds: int
    """The watermark by which the batch is judged."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        for rows in gathered(batches):
            events, shares = rows[EVENTS].to_numpy(), rows[BUCKET].to_numpy()
            panes = rows.drop_columns([EVENTS, BUCKET]).rename_columns(self.shared.schema.names)
            yield self.shared.blocks(
                panes.cast(self.shared.schema), events, shares,
                buckets=self.buckets, milliseconds=self.milliseconds,
            )  # fmt: skip


class PackedRows(Protocol):
    """What a stage has to pack rows for it."""

    @property
    def columns(self) -> list[str]: ...
    @property
    def shares(self) -> list[Share]: ...
    @property
    def packer(self) -> Packing: ...


@dataclass(frozen=True)
class EpochFold:
    """How Spark folds the panes of a query, batch by batch."""

    fold: NativeFold
    shared: SharedPanes
    buckets: tuple[int, ...]
    stage: PackedRows
    late: bool
    """Whether rows that are behind the watermark travel as rows."""

    @classmethod
    def of(cls, stage: WindowStage, df: DataFrame) -> EpochFold | None:
        """For the step of a query over such rows; None where it needs the rows."""
        if stage.panes is None:
            return None
        return cls.over(stage.panes, df, stage.buckets, stage, late=LATE in stage.outputs)

    @classmethod
    def over(
        cls, shared: SharedPanes, df: DataFrame, buckets: tuple[int, ...], stage: PackedRows, *, late: bool
    ) -> EpochFold | None:
        """Of panes that several queries may share."""
        fold = NativeFold.of(shared.panes.bound, df.schema)
        return None if isinstance(fold, str) else cls(fold, shared, buckets, stage, late)

    def pays(self, *, events: int, saved: int) -> bool:
        """Whether to fold a batch after one of so many events, so many of which never left their task."""
        return events >= LEAST and saved >= events * WORTH

    def blocks(self, rows: DataFrame, milliseconds: int, tasks: int) -> DataFrame:
        """Blocks of the panes of a batch that this watermark judges, and stamps for so many tasks."""
        watermark = self.shared.watermark(milliseconds)
        if not self.late:
            return self._panes(rows, watermark, milliseconds, tasks)
        # Late rows leave as they came. To read them once more costs less than to fold all rows in Python.
        on_time = f"coalesce({self.fold.time} >= {watermark}, false)"
        late = self.rows(rows.where(f"NOT {on_time}"))
        return self._panes(rows.where(on_time), watermark, milliseconds, tasks).unionAll(late)

    def rows(self, rows: DataFrame) -> DataFrame:
        """Blocks of rows as they are, for a batch that is not to be folded."""
        return pack_rows(rows, self.stage.columns, self.stage.shares, self.stage.packer)

    def _panes(self, rows: DataFrame, watermark: int, milliseconds: int, tasks: int) -> DataFrame:
        shared, bound = self.shared, self.shared.panes.bound
        panes = self.fold.arrived(rows, shared.panes, watermark)
        names = shared.panes.folded.schema.names
        bucket = f"{by_position.bucket(bound, len(self.buckets))} AS {BUCKET}"
        packer = FoldedPacker(shared, self.buckets, milliseconds)
        time = places(names)[len(bound.keys)]
        return panes.selectExpr(*by_position.placed(names), bucket, EVENTS).mapInArrow(
            StampedPacker(packer, tasks, (EVENTS, time)), PACKED
        )
