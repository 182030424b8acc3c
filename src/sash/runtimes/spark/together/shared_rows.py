"""What has come for a bucket of several queries: rows, opened once, and panes that the queries share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from sash.runtimes.spark.packing.blocks import rows_of
from sash.runtimes.spark.packing.columns import ORDINAL
from sash.runtimes.spark.packing.pane_blocks import ArrivedPanes, SharedPanes
from sash.runtimes.spark.streaming.bucket_call import BucketCall
from sash.runtimes.spark.together.stage import TogetherStage


@dataclass(frozen=True)
class SharedRows:
    """Of one bucket, in one batch."""

    stage: TogetherStage
    rows: pa.Table
    sharing: tuple[str, ...]
    """The queries of the bucket, in the order in which they share panes."""
    shared: SharedPanes | None = None
    panes: ArrivedPanes | None = None

    @classmethod
    def of(
        cls, stage: TogetherStage, bucket: int, payloads: Iterable[bytes | pa.Buffer], milliseconds: int
    ) -> Self:
        """Of the blocks of a batch that Spark's watermark of so many milliseconds judges."""
        shared, panes = stage.panes_of(bucket), None
        if shared is not None:
            payloads, panes = shared.arrived(bucket, payloads, milliseconds=milliseconds)
        rows = rows_of(bucket, payloads, stage.block).rename_columns([*stage.columns, ORDINAL])
        return cls(stage, rows, tuple(query.name for query in stage.of_bucket(bucket)), shared, panes)

    def into(self, name: str, call: BucketCall) -> None:
        """Give a query its columns, and its aggregates of the panes."""
        call.insert(self.rows.select([*self.stage.stages[name].columns, ORDINAL]))
        if self.shared is not None and self.panes is not None:
            call.insert_panes(self.shared, self.panes, self.sharing.index(name))
