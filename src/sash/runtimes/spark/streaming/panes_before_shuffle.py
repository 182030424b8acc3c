"""Panes folded where rows are packed, before the shuffle.

    rows ──▶ behind the watermark, or few of their key and pane ──▶ blocks of rows
         └─▶ the others, one row per key and pane ────────────────▶ blocks of panes

The tasks of a query that runs with `start()` know the watermark that judges their batch. The step keeps the
same of rows and of panes, so that every block of rows is folded or not as it pays; a hot key, and a stream
without a key, are small by then. Spark's generated code has no part in it: an aggregation of a streaming
plan keeps a state of its own (decision 34). In epochs it can fold whole batches instead: see
`sql_folding/epoch_fold.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.rows.key_and_pane_groups import pane_cells
from sash.arrays import Ints, Mask
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.coded_keys import key_codes
from sash.operators.columns.times import to_integers
from sash.operators.engine import keeps_panes
from sash.operators.folding.panes import group_by, pane_grid
from sash.runtimes.spark.packing.blocks import Packer, in_order_of_arrival, without_nulls
from sash.runtimes.spark.packing.columns import places
from sash.runtimes.spark.packing.pane_blocks import SharedPanes
from sash.runtimes.spark.streaming.watermark_to_tasks import watermark_of_batch
from sash.runtimes.spark.streaming.worker_gc import freeze_gc


class Worth(NamedTuple):
    """When rows are folded."""

    least: int = 1024
    """Fewer rows than these are sent as they are."""
    few: int = 4
    """So many rows of a key and pane are worth a pane, which is wider than a row."""
    saved: float = 0.25
    """The part of all rows that must be saved."""
    rest: int = 15
    """How many blocks are sent as they are after one that was not worth it."""


_RESTING: dict[tuple[object, ...], int] = {}
"""How many more blocks of a stream this process sends as they are."""


def why_rows(bound: BoundQuery) -> str | None:
    """Why the rows of a query are not folded before the shuffle; None where they are."""
    if keeps_panes(bound):
        return None
    if pane_grid(bound) is None:
        return "only sliding, tumbling and cumulate windows in event-time order have panes"
    if bound.query.forget_after.length:
        return "forget_after counts from the newest event of a key, not of a pane"
    return "an aggregate depends on the order of events, or its elements do not fit columns of numbers"


@dataclass(frozen=True)
class PanePacker:
    """Rows → blocks of rows and of panes: the function of `mapInArrow` before the shuffle."""

    packer: Packer
    shared: SharedPanes
    columns: tuple[str, ...]
    """Of the rows, which have them by position."""
    worth: Worth = field(default_factory=Worth)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        return (blocks for rows in in_order_of_arrival(batches) for blocks in self.blocks(rows))

    def blocks(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Of rows that are numbered already. A task that does not know the watermark folds nothing."""
        milliseconds = None if self._rests(rows.num_rows) else watermark_of_batch()
        chosen = None
        if milliseconds is not None:
            chosen = self.chosen(rows, self.shared.watermark(milliseconds))
        if milliseconds is None or chosen is None:
            yield self.packer.packed(rows)
            return
        folded, codes = chosen
        if not folded.all():
            yield self.packer.packed(rows.filter(pa.array(~folded)))
            rows = rows.filter(pa.array(folded))
        yield self._folded(rows, codes, milliseconds)

    def chosen(self, rows: pa.Table, watermark: int) -> tuple[Mask, Ints] | None:
        """Which rows are folded, and for each of these the number of its key and pane; None where too few
        rows would be saved."""
        panes, worth, count = self.shared.panes, self.worth, rows.num_rows
        keys, time = list(panes.bound.keys), panes.bound.time
        rows = self._named(rows, [*keys, time])
        times = to_integers(without_nulls(rows[time]))
        folded: Mask = (times >= watermark) & rows[time].is_valid().to_numpy()
        if not folded.all():
            rows, times = rows.filter(pa.array(folded)), times[folded]
        slots = key_codes(rows, keys)
        cells = pane_cells(slots, times, origin=panes.origin, length=panes.length)
        codes, _ = cells or group_by(slots, panes.starts(times))
        counts = np.bincount(codes)
        many = counts >= worth.few
        if counts[many].sum() - many.sum() < max(worth.saved * count, 1):
            _RESTING[self._stream] = worth.rest
            return None
        if not many.all():
            kept = many[codes]
            folded[np.flatnonzero(folded)[~kept]] = False
            codes = (np.cumsum(many) - 1)[codes[kept]]
        return folded, codes

    def _rests(self, rows: int) -> bool:
        """Whether these rows are not worth a look: by their number, or by the blocks before them."""
        if rows < self.worth.least:
            return True
        left = _RESTING.get(self._stream, 0)
        _RESTING[self._stream] = max(left - 1, 0)
        return left > 0

    @property
    def _stream(self) -> tuple[object, ...]:
        panes = self.shared.panes
        return panes.bound.time, panes.bound.keys, panes.length, panes.origin

    def _named(self, rows: pa.Table, names: list[str]) -> pa.Table:
        place_of = dict(zip(self.columns, places(self.columns), strict=True))
        return rows.select([place_of[name] for name in names]).rename_columns(names)

    def _folded(self, rows: pa.Table, codes: Ints, milliseconds: int) -> pa.RecordBatch:
        """A block for each bucket that has panes."""
        shared, shares = self.shared, rows[self.packer.share].to_numpy()
        bound = shared.panes.bound
        rows = self._named(rows, bound.columns)
        times, events = to_integers(rows[bound.time]), np.bincount(codes)
        one = np.empty(len(events), np.int64)
        one[codes] = np.arange(len(codes))
        newest = times[one]
        np.maximum.at(newest, codes, times)
        panes = pa.table(
            [
                *rows.select(list(bound.keys)).take(pa.array(one)).columns,
                pa.array(newest),
                *shared.panes.fold_events(rows, codes, groups=len(one)),
            ],
            schema=shared.schema,
        )
        return shared.blocks(
            panes, events, shares[one], buckets=self.packer.buckets, milliseconds=milliseconds
        )
