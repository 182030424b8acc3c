"""Rows of hot keys on their way to the buckets that share their look-backs, as rows and as elements.

    row of a key that is not shared, or late  ──▶ the bucket of its key
    row of a shared key                       ──▶ as its regime has it: the bucket of its key,
                                                  bucket B + (h + ⌊τ/p⌋ mod R) mod B as a row,
                                                  and R − 1 others in an element of its pane

B is how many buckets the query has: as many more share hot keys, and are there in batches that have some.
Rows and elements have one form (`LookBackPanes.lifted`), so that they come in one block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sash.arrays import Ints, Mask
from sash.operators.columns.coded_keys import key_codes
from sash.operators.columns.times import to_integers
from sash.operators.folding.panes import group_by
from sash.operators.look_back_regimes import Regime
from sash.operators.look_backs_by_pane import LookBackPanes
from sash.runtimes.spark.packing.blocks import (
    Packer,
    block_of,
    block_schema,
    in_order_of_arrival,
    packed_blocks,
    without_nulls,
)
from sash.runtimes.spark.packing.columns import ORDINAL
from sash.runtimes.spark.streaming.hot_keys.keys_of_batch import SharedKeys, hashes_of, shared_keys_of_batch
from sash.runtimes.spark.streaming.worker_gc import freeze_gc


def share_block(panes: LookBackPanes) -> pa.Schema:
    """Of rows and elements on their way to the buckets that share keys."""
    return block_schema(panes.schema, originals=True)


@dataclass(frozen=True)
class LookBackPacker:
    """Rows → blocks for the buckets of keys, and for those that share some: the function of `mapInArrow`
    before the shuffle."""

    packer: Packer
    panes: LookBackPanes

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        shared = shared_keys_of_batch()
        return (blocks for rows in in_order_of_arrival(batches) for blocks in self.blocks(rows, shared))

    def blocks(self, table: pa.Table, shared: SharedKeys) -> Iterator[pa.RecordBatch]:
        """Of rows that are numbered already."""
        near = self._near(table, shared)
        if not len(near):
            yield self.packer.packed(table)
            return
        fields = [field for field in self.packer.schema if field.name != ORDINAL]
        rows = table.select([field.name for field in fields]).take(pa.array(near)).cast(pa.schema(fields))
        rows = rows.rename_columns(self.panes.bound.schema.names)
        known, keys = rows[self.panes.bound.time], hashes_of(rows, self.panes.bound.keys)
        times = to_integers(without_nulls(known))
        on_time = (times >= self.packer.clock.watermark(shared.milliseconds)) & known.is_valid().to_numpy()
        owned, parts = np.ones(table.num_rows, np.bool_), list[pa.Table]()
        for regime in shared.regimes:
            mine = np.flatnonzero((keys == regime.key) & on_time)
            owned[near[mine]] = regime.to_owner(times[mine])
            mine = mine[regime.to_workers(times[mine])]
            if len(mine):
                ordinals = table[ORDINAL].to_numpy()[near[mine]]
                parts += self._shared(regime, rows.take(pa.array(mine)), times[mine], ordinals)
        if owned.any():
            yield self.packer.packed(table if owned.all() else table.filter(pa.array(owned)))
        if parts:
            yield self._packed(pa.concat_tables(parts))

    def _near(self, table: pa.Table, shared: SharedKeys) -> Ints:
        """The rows that have a bucket with a key that is shared: only of these a hash is computed."""
        if not shared.regimes:
            return np.empty(0, np.int64)
        places = {regime.key % len(self.packer.buckets) for regime in shared.regimes}
        return np.flatnonzero(np.isin(table[self.packer.share].to_numpy(), list(places)))

    def _shared(self, regime: Regime, rows: pa.Table, times: Ints, ordinals: Ints) -> Iterator[pa.Table]:
        """The rows of a regime, and their panes for each bucket that does not have them as rows."""
        panes = self.panes
        own, pane = regime.of_workers(times), times // regime.length
        yield self._addressed(
            panes.lifted(rows, own), ordinals, ~regime.to_owner(times), self._bucket(regime, pane)
        )
        codes, one = group_by(key_codes(rows, list(panes.bound.keys)), pane)
        elements, ordinals, pane = panes.elements(rows, codes, one), ordinals[one], pane[one]
        for other in range(1, regime.shares):
            yield self._addressed(
                elements, ordinals, np.zeros(len(one), np.bool_), self._bucket(regime, pane + other)
            )

    def _bucket(self, regime: Regime, pane: Ints) -> Ints:
        """The place, among those that share, of the one that has the rows of a pane."""
        place: Ints = (regime.key + pane % regime.shares) % len(self.packer.buckets)
        return place

    def _addressed(self, rows: pa.Table, ordinals: Ints, originals: Mask, places: Ints) -> pa.Table:
        more = (pa.array(ordinals), pa.array(originals), pa.array(places))
        names = [*self._block.names, self.packer.share]
        return pa.table([*rows.columns, *more], names=names)

    def _packed(self, rows: pa.Table) -> pa.RecordBatch:
        places = rows[self.packer.share].to_numpy()
        order = np.argsort(places, kind="stable")
        rows, count = rows.drop_columns(self.packer.share).take(pa.array(order)), len(self.packer.buckets)

        def block(place: int, lo: int, hi: int) -> tuple[int, bytes, int]:
            part, bucket = rows.slice(lo, hi - lo), count + place
            stamp = self.packer.clock.stamp(to_integers(part[self.packer.time]))
            return bucket, block_of(bucket, part), stamp

        return packed_blocks(places[order], block)

    @cached_property
    def _block(self) -> pa.Schema:
        return share_block(self.panes)
