"""Panes folded before the shuffle, on a stream without a key, which otherwise is the work of one task.

    rows ──fold by pane, in all tasks──▶ panes ──shuffle──▶ step over panes

    behind the watermark m     counted as late, in a row without a time
    all others                 one row per pane: elements, the newest time, the oldest, how many events
    m is not known             the same, with events of one time instead of those of a pane

Events of one time are late together, and so are those of a pane that has none on the other side of m. The
step, which knows m, judges a row by its newest time, and raises where a pane lies on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.errors import DataError
from sash.operators.bound import BoundQuery
from sash.operators.columns.layout import key_codes
from sash.operators.columns.times import from_integers, to_integers
from sash.operators.engine import hands_panes_on
from sash.operators.folding.panes import Panes, group_by
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import Packer, numbered, without_nulls
from sash.runtimes.spark.packing.columns import BUCKET, ORDINAL
from sash.runtimes.spark.packing.outputs import REPORTS, Outputs
from sash.runtimes.spark.state.fingerprint import BUCKET_NUMBERS, FOLDED_EARLY, INPUT, describe
from sash.runtimes.spark.state.operators_in_state import Bucket
from sash.runtimes.spark.streaming.batch_watermark import watermark_of_batch
from sash.runtimes.spark.streaming.bucket_call import BucketCall
from sash.runtimes.spark.streaming.processor import WindowProcessor
from sash.runtimes.spark.streaming.window_stage import WindowStage
from sash.runtimes.spark.streaming.worker_gc import freeze_gc

EVENTS, OLDEST = "__sash_events", "__sash_oldest"


def folds_early(bound: BoundQuery, outputs: Outputs) -> bool:
    """Whether a query is better off with panes than with rows: a few for each task, whatever comes."""
    # Late rows leave as they came.
    asked = not bound.keys and outputs == (REPORTS,) and hands_panes_on(bound)
    return asked and Panes.of(bound) is not None


@dataclass(frozen=True)
class FoldingStage(WindowStage):
    """The stage of a query whose rows are folded where they are packed."""

    @cached_property
    def panes(self) -> Panes:
        panes = Panes.of(self.bound)
        assert panes is not None, "only for queries that fold panes"
        return panes

    @cached_property
    def step(self) -> StageOverPanes:
        """What the panes are sent to."""
        counts = [pa.field(EVENTS, pa.int64()), pa.field(OLDEST, pa.int64())]
        folded = self.panes.folded
        schema = pa.schema([*folded.schema, *counts])
        bound = BoundQuery(folded.query, schema, folded.time, folded.keys)
        return StageOverPanes(
            bound, self.outputs, self.buckets, self.clock, self.derived, self.operator, query=self.bound
        )

    @property
    def packer(self) -> Any:
        return PanePacker(self, self.step.packer)


@dataclass(frozen=True)
class StageOverPanes(WindowStage):
    """The stateful step over such panes."""

    query: BoundQuery | None = None
    """Over events."""

    @property
    def columns(self) -> list[str]:
        """Also those that are counted, and not read by the query."""
        return list(self.bound.schema.names)

    @property
    def description(self) -> dict[str, Any]:
        assert self.query is not None
        described = describe(self.query, buckets=len(self.buckets))
        numbers = {BUCKET_NUMBERS: list(self.buckets)}
        return described | numbers | {"state": self.operator.__name__, INPUT: FOLDED_EARLY}


@dataclass(frozen=True)
class PanePacker:
    """Rows → blocks of panes: the function of `mapInArrow` before the shuffle."""

    stage: FoldingStage
    packer: Packer

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        known = watermark_of_batch()
        watermark = None if known is None else self.stage.clock.watermark(known)
        return (self.packer.packed(self.folded(table, watermark)) for table in numbered(batches))

    def folded(self, table: pa.Table, watermark: int | None) -> pa.Table:
        """Of rows that are numbered already. None: the watermark is not known."""
        bound, panes = self.stage.bound, self.stage.panes
        columns = self.stage.columns
        rows = table.select(by_position.places(columns)).rename_columns(columns)
        times = to_integers(without_nulls(rows[bound.time]))
        on_time = rows[bound.time].is_valid().to_numpy()
        if watermark is not None:
            on_time &= times >= watermark
        late = table.num_rows - int(on_time.sum())
        chosen = np.flatnonzero(on_time)
        rows, times = rows.take(pa.array(chosen)), times[chosen]
        cells = times if watermark is None else panes.starts(times)
        codes, one = group_by(key_codes(rows, list(bound.keys)), cells)
        newest, oldest = times[one], times[one]
        np.maximum.at(newest, codes, times)
        np.minimum.at(oldest, codes, times)
        schema = self.stage.step.bound.schema
        found = pa.table(
            [
                *rows.select(list(bound.keys)).take(pa.array(one)).columns,
                from_integers(newest, schema.field(bound.time).type),
                *panes.fold_events(rows, codes, groups=len(one)),
                np.bincount(codes, minlength=len(one)),
                oldest,
            ],
            names=schema.names,
        ).cast(schema)
        origin = chosen[one]
        if late:
            nowhere = pa.Table.from_pylist([{EVENTS: late}], schema=schema)
            found, origin = pa.concat_tables([found, nowhere]), np.append(origin, 0)
        found = found.rename_columns(by_position.places(schema.names))
        for name in (ORDINAL, BUCKET):
            found = found.append_column(name, table[name].take(pa.array(origin)))
        return found


class PaneBucketCall(BucketCall):
    """What the step emits in the course of one call, with events counted and not panes."""

    def insert(self, rows: pa.Table) -> None:
        arrived = rows.drop_columns(ORDINAL).rename_columns(self._stage.columns)
        self._require_one_side(arrived)
        self._counts["events"] += pc.sum(arrived[EVENTS]).as_py() or 0
        late = self._bucket.operator.insert(arrived, rows[ORDINAL].to_numpy())
        self._counts["late"] += pc.sum(late[EVENTS]).as_py() or 0

    def _require_one_side(self, arrived: pa.Table) -> None:
        operator: Any = self._bucket.operator
        watermark, timed = operator.clock.value, arrived.filter(pc.is_valid(arrived[OLDEST]))
        if watermark is None or not timed.num_rows:
            return
        newest, oldest = to_integers(timed[self._stage.time]), timed[OLDEST].to_numpy()
        if ((oldest < watermark) & (newest >= watermark)).any():
            raise DataError(
                "panes were folded by another watermark than that of their batch: start it again"
            )


class PaneProcessor(WindowProcessor):
    """The stateful step over panes."""

    def _call(self, bucket: Bucket) -> BucketCall:
        return PaneBucketCall(self.stage, bucket)
