"""Which buckets the rows of a join go to, so that every pair meets in exactly one.

    hash           both sides to the bucket of their group
    band cells     left: to the bucket of its range;  right: to those of all ranges that its band touches
    join matrix    buckets stand in a grid; left: to all of one row;  right: to all of one column

A row that is emitted also when it stays alone has to meet all its candidates in one bucket. So the side
that an outer join keeps is the one that goes to one bucket: of bands the sides change roles for a right
join, and of a matrix the grid is one line of buckets, to each of which the other side is copied. A full
join without an equality has one bucket.

A range is several bands wide, so that few right rows touch two. A left row goes to one bucket, or meets
each column in one, hence no pair is found twice. The grid is the join matrix of Stamos and Young
(1993), in the form of Okcan and Riedewald's 1-Bucket-Theta (2011). A row that goes to several buckets
is an original in one of them and a copy elsewhere: only originals are
counted and reported as late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.joins.hash_band_or_matrix import Band, Strategy
from sash.runtimes.spark.packing.balanced_bucket_ids import BUCKETS_PER_PARTITION
from sash.runtimes.spark.packing.blocks import Arrived, Sent
from sash.runtimes.spark.packing.bucket_of_key_arrow import hashes
from sash.runtimes.spark.packing.columns import ORDINAL
from sash.semantics.expression import Side

RANGE = 8
"""How many bands a range is wide: one right row in four touches two."""


def bucket_count(strategy: Strategy, kept: Sequence[Side], partitions: int) -> int:
    """A few buckets for each partition; as many as partitions where rows are copied along a line."""
    if strategy.how != "hash" and len(kept) > 1:
        return 1
    return partitions if strategy.how == "join matrix" else partitions * BUCKETS_PER_PARTITION


def elastic_bucket_count(strategy: Strategy, kept: Sequence[Side], *, buckets: int, tasks: int) -> int:
    """The same where any number of tasks up to `tasks` may serve the buckets: a row that is copied along a
    line is copied for each task there could be, and no more."""
    if strategy.how != "hash" and len(kept) > 1:
        return 1
    return tasks if strategy.how == "join matrix" else buckets


@dataclass(frozen=True)
class JoinRoute:
    """Where the rows of one side go."""

    strategy: Strategy
    side: Side
    count: int
    """Of the buckets."""
    schema: pa.Schema
    """Of the side."""
    kept: tuple[Side, ...] = ()
    """The sides whose rows are emitted also when they stay alone."""

    def sent(self, arrived: Arrived) -> Sent:
        named = arrived.rows.drop_columns(ORDINAL).rename_columns(self.schema.names)
        return self.spread(named, arrived.ordinals)

    def spread(self, rows: pa.Table, ordinals: Ints) -> Sent:
        """Rows of the schema, as they arrived."""
        match self.strategy.how:
            case "hash":
                return _once(self._group(rows))
            case "band cells":
                return self._ranges(rows, self.strategy.bands[0])
            case "join matrix":
                return self._grid(ordinals)

    def _group(self, rows: pa.Table) -> Ints:
        groups = [rows[group.name(self.side)].cast(group.type) for group in self.strategy.groups]
        names = [str(number) for number in range(len(groups))]
        (batch,) = pa.table(groups, names).combine_chunks().to_batches() or [None]
        if batch is None:
            return np.empty(0, np.int64)
        return hashes(batch, names).astype(np.int64) % self.count

    def _ranges(self, rows: pa.Table, band: Band) -> Sent:
        first, last = band.ranges(rows, self.side, width=RANGE * band.width, single=self._single)
        here, there = first % self.count, last % self.count
        both = np.flatnonzero(here != there)
        rows = np.concatenate([np.arange(len(here)), both])
        return Sent(rows, np.concatenate([here, there[both]]), np.arange(len(rows)) < len(here))

    def _grid(self, ordinals: Ints) -> Sent:
        down, across = grid(self.count)
        if self.kept:
            down, across = (self.count, 1) if self._single is Side.LEFT else (1, self.count)
        line, others = (down, across) if self.side is Side.LEFT else (across, down)
        mine, other = np.repeat(ordinals % line, others), np.tile(np.arange(others), len(ordinals))
        bucket = mine * across + other if self.side is Side.LEFT else other * across + mine
        return Sent(np.repeat(np.arange(len(ordinals)), others), bucket, other == 0)

    @property
    def _single(self) -> Side:
        """The side each row of which goes to one bucket."""
        return self.kept[0] if self.kept else Side.LEFT


def grid(count: int) -> tuple[int, int]:
    """The rows and columns of the squarest grid of so many buckets.

    >>> grid(12), grid(2)
    ((3, 4), (1, 2))
    """
    rows = next(rows for rows in range(isqrt(count), 0, -1) if count % rows == 0)
    return rows, count // rows


def _once(bucket: Ints) -> Sent:
    return Sent(np.arange(len(bucket)), bucket, np.ones(len(bucket), np.bool_))
