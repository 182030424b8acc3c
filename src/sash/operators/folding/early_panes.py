"""Panes first: fold the events of each key and pane as they stand, before anything is grouped or sorted.

    rows → blocks → (key, pane) → elements        one pass, in the cache, blocks dealt to threads
    elements of all blocks → the query over panes

A query whose aggregates commute and whose windows the clock cuts (`Panes`) does not need its events in
order. Where a pane holds many events this is most of the work, and workers meet only over few panes.
Two blocks may both hold a part of one pane: to the query over panes these are two events at one time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from sash.aggregation.kernels.rows.key_and_pane_groups import pane_cells
from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.coded_keys import key_codes
from sash.operators.columns.times import from_integers
from sash.operators.folding.panes import Panes, group_by
from sash.operators.threads import in_threads


@dataclass(frozen=True)
class Early:
    """How to fold early, and when it pays."""

    workers: int
    block: int = 2**17
    """Rows that one thread folds at a time: few enough for their columns to stay in its cache."""
    least: int = 2**20
    """With fewer rows there are milliseconds to gain, and kernels over panes to compile for seconds."""
    gain: float = 8.0
    """How many events of the first block must share a pane on average."""

    def considers(self, bound: BoundQuery, rows: int) -> bool:
        """Whether so many rows of this query will be looked at; the first block then decides."""
        return rows >= self.least and Panes.of(bound) is not None

    def fold(self, bound: BoundQuery, rows: pa.Table, times: Ints) -> tuple[BoundQuery, pa.Table] | None:
        """The query over panes, and the panes of all blocks; None when events should stay events."""
        panes = Panes.of(bound) if len(times) >= self.least else None
        if panes is None:
            return None
        blocks = _blocks(rows, times, self.block)
        first = folded_block(panes, *next(blocks))
        if first.num_rows * self.gain > min(self.block, len(times)):
            return None
        others = in_threads(
            [partial(folded_block, panes, *block) for block in blocks], workers=self.workers
        )
        return panes.folded, pa.concat_tables([first, *others]).combine_chunks()


def _blocks(rows: pa.Table, times: Ints, size: int) -> Iterator[tuple[pa.Table, Ints]]:
    for start in range(0, max(len(times), 1), size):
        yield rows.slice(start, size), times[start : start + size]


def folded_block(panes: Panes, rows: pa.Table, times: Ints) -> pa.Table:
    """The panes of one block, as the query over panes wants them."""
    keys, schema = list(panes.bound.keys), panes.folded.schema
    slots = key_codes(rows, keys)
    cells = pane_cells(slots, times, origin=panes.origin, length=panes.length)
    codes, representatives = cells or group_by(slots, panes.starts(times))
    elements = panes.fold_events(rows, codes, groups=len(representatives))
    starts = panes.starts(times[representatives])
    held = rows.select(keys).take(pa.array(representatives))
    begins = from_integers(starts, schema.field(panes.bound.time).type)
    return pa.table([*held.columns, begins, *elements], schema=schema)
