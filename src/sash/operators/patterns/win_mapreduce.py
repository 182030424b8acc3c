"""Window map-reduce: one window is computed by several workers at once.

    event at position p        →  partition p mod m
    range [lo, hi) of events   →  range [⌈(lo − j) / m⌉, ⌈(hi − j) / m⌉) of partition j
    window                     =  partial of partition 0 ⊕ … ⊕ partial of partition m − 1

Events are dealt round-robin, so that partitions are equally long whatever the windows are; neighbours part,
so that the aggregates must commute.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from sash.operators.patterns.crew import Stages
from sash.operators.patterns.folding import Folding, Folds, dealt
from sash.operators.patterns.share import Share, blocks
from sash.operators.values import Values, in_order


def win_mapreduce(share: Share, folding: Folding, *, map: int, reduce: int) -> Stages:
    """The stages of one window map-reduce: partials of partitions, then windows."""
    parts: list[Folds] = yield [
        partial(_fold_partition, folding, share, partition, map) for partition in range(map)
    ]
    values: list[Values] = yield [
        partial(_combine, folding, share, parts, first, last) for first, last in blocks(len(share), reduce)
    ]
    return in_order(values)


def _fold_partition(folding: Folding, share: Share, partition: int, partitions: int) -> Folds:
    rows, ranges = share.layout.rows, share.ranges
    mine = rows.take(pa.array(np.arange(partition, rows.num_rows, partitions)))
    lo, hi = (-((partition - ends) // partitions) for ends in (ranges.lo, ranges.hi))
    return folding.fold(folding.lift(mine), lo, hi, ranges.slot)


def _combine(folding: Folding, share: Share, parts: list[Folds], first: int, last: int) -> Values:
    starts = np.arange(last - first) * len(parts)
    windows = folding.fold(
        dealt(parts, first, last), starts, starts + len(parts), np.zeros(last - first, np.int64)
    )
    return folding.lower(windows, last - first).owned_by(share.windows[first:last])
