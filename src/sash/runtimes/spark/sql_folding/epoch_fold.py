"""The rows of a micro-batch as blocks of panes that Spark's generated code has folded.

    rows ─▶ groupBy(keys, pane) ─▶ one row per key and pane ─▶ blocks of panes ─▶ shuffle ─▶ step
         m, from the journal: what is behind it is late and in no pane. It is counted, or, where
         late rows are an output, a group by itself with all of its columns ─▶ blocks of rows

A query that runs in epochs knows its watermark before a batch begins, and its batch is an ordinary
DataFrame, of which an aggregation keeps no state. The blocks are those of `panes_before_shuffle`: the step
does not know who has folded, and every batch is folded here or packed as rows, as it pays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import PACKED, Packer, gathered
from sash.runtimes.spark.packing.bucket_of_key_sql import bucket
from sash.runtimes.spark.packing.columns import BUCKET, ORDINAL, places
from sash.runtimes.spark.packing.outputs import LATE
from sash.runtimes.spark.packing.pane_blocks import SharedPanes
from sash.runtimes.spark.packing.time_of_batch import StampedPacker
from sash.runtimes.spark.sql_folding.pane_fold_sql import (
    EVENTS,
    LATE_NUMBER,
    LATE_ROW,
    NativeFold,
    carries_late,
)
from sash.runtimes.spark.sql_folding.when_spark_folds import WORTH
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.runtimes.spark.streaming.worker_gc import freeze_gc

LEAST = 50_000
"""Events of a batch, from which on a further stage of Spark costs less than it saves."""


@dataclass(frozen=True)
class FoldedPacker:
    """Panes with the place of their bucket and their number of events, and late rows → blocks."""

    shared: SharedPanes
    buckets: tuple[int, ...]
    milliseconds: int
    """The watermark by which the batch is judged."""
    late: Packer | None = None
    """Of late rows; None where there are none."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        for rows in gathered(batches):
            panes = rows
            if self.late is not None:
                late = pc.is_valid(rows[LATE_NUMBER])
                if pc.any(late).as_py():
                    yield self.late.packed(_late_rows(rows.filter(late), self.late))
                panes = rows.filter(pc.invert(late)).drop_columns([LATE_ROW, LATE_NUMBER])
            if panes.num_rows:
                yield self._panes(panes)

    def _panes(self, rows: pa.Table) -> pa.RecordBatch:
        events, shares = rows[EVENTS].to_numpy(), rows[BUCKET].to_numpy()
        panes = rows.drop_columns([EVENTS, BUCKET]).rename_columns(self.shared.schema.names)
        return self.shared.blocks(
            panes.cast(self.shared.schema), events, shares,
            buckets=self.buckets, milliseconds=self.milliseconds,
        )  # fmt: skip


def _late_rows(rows: pa.Table, packer: Packer) -> pa.Table:
    """As the packer takes them: columns by position, the order of arrival, and the place of the bucket."""
    row = rows[LATE_ROW].combine_chunks()
    columns = dict(zip((field.name for field in row.type), row.flatten(), strict=True))
    return pa.table(columns | {ORDINAL: rows[LATE_NUMBER], packer.share: rows[BUCKET]})


@dataclass(frozen=True)
class EpochFold:
    """How Spark folds the panes of a query, batch by batch."""

    fold: NativeFold
    shared: SharedPanes
    buckets: tuple[int, ...]
    columns: tuple[str, ...]
    """Of a row."""
    late: Packer | None
    """Of rows that are behind the watermark, where they travel as rows."""

    @classmethod
    def of(cls, stage: WindowStage, df: DataFrame) -> EpochFold | None:
        """For the step of a query over such rows; None where it needs the rows."""
        if stage.panes is None:
            return None
        late = stage.row_packer if LATE in stage.outputs else None
        return cls.over(stage.panes, df, stage.buckets, stage.columns, late=late)

    @classmethod
    def over(
        cls, shared: SharedPanes, df: DataFrame, buckets: tuple[int, ...], columns: Sequence[str], *,
        late: Packer | None,
    ) -> EpochFold | None:  # fmt: skip
        """Of panes that several queries may share."""
        fold = NativeFold.of(shared.panes.bound, df.schema)
        if isinstance(fold, str) or (late is not None and not carries_late(df.schema, columns)):
            return None
        return cls(fold, shared, buckets, tuple(columns), late)

    def pays(self, *, events: int, saved: int) -> bool:
        """Whether to fold a batch after one of so many events, so many of which never left their task."""
        return events >= LEAST and saved >= events * WORTH

    def why(self, *, events: int, saved: int) -> str:
        """The reason for that, of which the first part decides where there were few."""
        if events < LEAST:
            return f"the batch before had {events:,} events; a further stage pays from {LEAST:,} on"
        share = f"panes saved {saved / events:.0%} of the {events:,} events of the batch before"
        return share if saved >= events * WORTH else f"{share}, less than {WORTH:.0%}"

    def blocks(self, rows: DataFrame, milliseconds: int, tasks: int) -> DataFrame:
        """Blocks of the panes of a batch that this watermark judges, and stamps for so many tasks."""
        shared, bound, late = self.shared, self.shared.panes.bound, self.late
        columns = None if late is None else self.columns
        panes = self.fold.arrived(rows, shared.panes, shared.watermark(milliseconds), columns)
        names = shared.panes.folded.schema.names
        share = f"{bucket(bound, len(self.buckets))} AS {BUCKET}"
        more = [EVENTS] if late is None else [EVENTS, LATE_ROW, LATE_NUMBER]
        packer = FoldedPacker(shared, self.buckets, milliseconds, late)
        counted = (EVENTS, places(names)[len(bound.keys)]) if late is None else None
        return panes.selectExpr(*by_position.placed(names), share, *more).mapInArrow(
            StampedPacker(packer, tasks, counted), PACKED
        )
