"""Panes on their way through Spark, in blocks beside those of rows.

    block of panes  =  "panes" · watermark · how many events · seal(keys, the newest time, elements)

The watermark is the one that judges the batch, and no event of a pane is behind it: the step takes panes as
it takes the events in them, and what it keeps is the same. It refuses panes of another watermark.

Several queries over the same keys share panes: of the greatest length that cuts all their windows, with
each aggregate once. A pane of theirs is a part of a pane of each.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sash.aggregation.monoid import Monoid
from sash.aggregation.stores.values import reading, unseal
from sash.arrays import Ints
from sash.errors import DataError
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.table_bytes import batch_of
from sash.operators.engine import keeps_panes
from sash.operators.folding.panes import Panes
from sash.runtimes.spark.packing.blocks import block, packed_blocks
from sash.runtimes.spark.packing.columns import places
from sash.runtimes.spark.state.fingerprint import canonical
from sash.runtimes.spark.state.stable_json import plain
from sash.runtimes.spark.streaming.watermark_units import Clock

NEWEST = "__sash_newest"
_HEADER = struct.Struct("<8sqq")
_MAGIC = b"panes\0\0\0"
"""A block of rows begins with the word of a sealed value."""


class ArrivedPanes(NamedTuple):
    """The panes of a bucket in a batch."""

    rows: pa.Table
    """Keys by position, the time of the newest event, and the elements."""
    events: int
    """How many are folded in them."""


@dataclass(frozen=True)
class SharedPanes:
    """The panes of one query, or of several over the same keys."""

    panes: Panes
    """Over the aggregates of all queries, each once."""
    own: tuple[tuple[int, ...], ...]
    """For each query: which aggregates are its own, in its order."""
    clocks: tuple[Clock, ...]
    """Of the queries: an event in a pane is late for none of them."""

    @classmethod
    def of(cls, bounds: Sequence[BoundQuery], clocks: Sequence[Clock]) -> SharedPanes | None:
        """None where one of the queries needs its rows."""
        every = [panes for panes in map(Panes.of, filter(keeps_panes, bounds)) if panes is not None]
        if len(every) < len(bounds):
            return None
        found: dict[bytes, Monoid] = {}
        own = []
        for bound in bounds:
            known = [(canonical(plain(one)), one) for one in bound.aggregates.values()]
            for name, one in known:
                found.setdefault(name, one)
            own.append(tuple(list(found).index(name) for name, _ in known))
        return cls(_merged(every, list(found.values())), tuple(own), tuple(clocks))

    @cached_property
    def schema(self) -> pa.Schema:
        """Of a block."""
        bound = self.panes.bound
        keys = [
            bound.schema.field(key).with_name(place)
            for key, place in zip(bound.keys, places(bound.keys), strict=True)
        ]
        return pa.schema([*keys, pa.field(NEWEST, pa.int64()), *self.panes.parts])

    def watermark(self, milliseconds: int) -> int:
        """The least time that no query judges to be late, when Spark's watermark is this."""
        return max(clock.watermark(milliseconds) for clock in self.clocks)

    def block(self, bucket: int, rows: pa.Table, *, milliseconds: int, events: int) -> bytes:
        return _HEADER.pack(_MAGIC, milliseconds, events) + block(_name(bucket), rows)

    def blocks(
        self, panes: pa.Table, events: Ints, shares: Ints, *, buckets: Sequence[int], milliseconds: int
    ) -> pa.RecordBatch:
        """A block for each bucket that has panes. `events`: how many are in each; `shares`: the place of
        each pane's bucket."""
        order = np.argsort(shares, kind="stable")
        panes, events, shares = panes.take(pa.array(order)), events[order], shares[order]
        newest = panes[NEWEST].to_numpy()

        def block(share: int, lo: int, hi: int) -> tuple[int, bytes, int]:
            bucket, part, count = buckets[share], panes.slice(lo, hi - lo), int(events[lo:hi].sum())
            sealed = self.block(bucket, part, milliseconds=milliseconds, events=count)
            return bucket, sealed, self.clocks[0].stamp(newest[lo:hi])

        return packed_blocks(shares, block)

    def arrived(
        self, bucket: int, payloads: Iterable[bytes | pa.Buffer], *, milliseconds: int
    ) -> tuple[list[bytes | pa.Buffer], ArrivedPanes]:
        """The blocks of rows, as they are, and the panes; DataError where these were folded by another
        watermark than that of the batch."""
        rows, batches, total = list[bytes | pa.Buffer](), list[pa.RecordBatch](), 0
        for payload in payloads:
            view = memoryview(payload)
            if view[: len(_MAGIC)] != _MAGIC:
                rows.append(payload)
                continue
            with reading(f"a block of panes of bucket {bucket}"):
                _, judged_by, events = _HEADER.unpack_from(view)
            if judged_by != max(milliseconds, 0):  # both mean that there is none yet
                raise DataError(
                    "panes were folded by another watermark than that of their batch: start it again"
                )
            batches.append(batch_of(unseal(_name(bucket), view[_HEADER.size :]), self.schema))
            total += events
        return rows, ArrivedPanes(pa.Table.from_batches(batches, self.schema), total)

    def keys(self, panes: pa.Table) -> pa.Table:
        keys = self.panes.bound.keys
        return panes.select(places(keys)).rename_columns(list(keys))

    def elements(self, panes: pa.Table, query: int) -> pa.Table:
        """Those of one query, in its order."""
        columns = [monoid.columns for monoid in self.panes.folded.aggregates.values()]
        return panes.select([column for number in self.own[query] for column in columns[number]])


def _merged(every: Sequence[Panes], aggregates: Sequence[Monoid]) -> Panes:
    first = every[0]
    bound, lengths = first.bound, [(each.length, each.origin - first.origin) for each in every]
    length = math.gcd(*(part for pair in lengths for part in pair))
    named = {f"__aggregate {number}": monoid for number, monoid in enumerate(aggregates)}
    query = replace(bound.query, aggregates=named)
    return Panes(BoundQuery(query, bound.schema, bound.time, bound.keys), length, first.origin % length)


def _name(bucket: int) -> bytes:
    return b"panes of bucket %d" % bucket
