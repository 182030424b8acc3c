"""Where windows are computed: in this process by threads, or in others (`process_workers.py`).

A pool keeps chunks of rows where its workers can read them. Aggregates of numbers are computed by threads,
in kernels that release the GIL. What Python computes holds it, so such windows go to processes: a user's
function over whole windows, and aggregates that are interpreted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery
from sash.operators.folding.values import Values, values_over
from sash.operators.patterns.element_bytes import NotSent, as_bytes, from_bytes
from sash.operators.patterns.folding import Folding, Folds
from sash.operators.windows.ranges import Ranges

PooledRows = Any
"""Rows, as a pool keeps them."""


class WorkerPool(Protocol):
    """A place for chunks, and workers that compute windows over them. Called by many threads at once."""

    def put(self, rows: pa.Table, start: int, stop: int) -> PooledRows:
        """The rows start ≤ i < stop of a table."""
        ...

    def free(self, chunk: PooledRows) -> None: ...
    def values(self, chunks: Sequence[PooledRows], ranges: Ranges) -> Values:
        """The values of ranges over the rows of these chunks, which follow each other in their table."""
        ...

    def lift_and_fold(self, rows: pa.Table, lo: Ints, hi: Ints, slot: Ints) -> Folds:
        """The first of two steps: one element for each [lo, hi) of rows that no other worker needs."""
        ...

    def fold_and_lower(self, folds: Folds, lo: Ints, hi: Ints, slot: Ints) -> Values:
        """The second one: one value for each [lo, hi) of the elements."""
        ...


@dataclass(frozen=True)
class ThreadWorkers:
    """This process: a chunk is a part of the table, which is not copied, and the thread that calls does the
    work."""

    folding: Folding
    schema: pa.Schema

    def put(self, rows: pa.Table, start: int, stop: int) -> PooledRows:
        return rows, start, stop

    def free(self, chunk: PooledRows) -> None:
        """Nothing to do: a table goes when nobody holds it any more."""

    def values(self, chunks: Sequence[PooledRows], ranges: Ranges) -> Values:
        if not chunks:
            return self.folding.values(self.schema.empty_table(), ranges)
        rows, start, _ = chunks[0]
        return self.folding.values(*trimmed(rows.slice(start, chunks[-1][2] - start), ranges))

    def lift_and_fold(self, rows: pa.Table, lo: Ints, hi: Ints, slot: Ints) -> Folds:
        return self.folding.lift_and_fold(rows, lo, hi, slot)

    def fold_and_lower(self, folds: Folds, lo: Ints, hi: Ints, slot: Ints) -> Values:
        return self.folding.fold_and_lower(folds, lo, hi, slot)


@dataclass(frozen=True)
class AggregatesOver:
    """The aggregates of a query, for a worker process."""

    bound: BoundQuery

    def over(self, rows: pa.Table, ranges: Ranges) -> tuple[Ints, pa.Table]:
        values = values_over(self.bound, *trimmed(rows, ranges))
        return values.owners, values.columns

    @cached_property
    def _folding(self) -> Folding:
        return Folding.apart(self.bound)

    def lift_and_fold(self, rows: pa.Table, lo: Ints, hi: Ints, slot: Ints) -> Folds | NotSent:
        return as_bytes(self._folding, self._folding.lift_and_fold(rows, lo, hi, slot))

    def fold_and_lower(self, folds: Folds, lo: Ints, hi: Ints, slot: Ints) -> tuple[Ints, pa.Table]:
        values = self._folding.fold_and_lower(from_bytes(self._folding, folds), lo, hi, slot)
        return values.owners, values.columns


def trimmed(rows: pa.Table, ranges: Ranges) -> tuple[pa.Table, Ranges]:
    """Without the rows before the first window and after the last."""
    lo, hi = int(ranges.lo[0]), int(ranges.hi[-1])
    return rows.slice(lo, hi - lo), replace(ranges, lo=ranges.lo - lo, hi=ranges.hi - lo)


def at_once(pool: WorkerPool, rows: pa.Table, ranges: Ranges) -> Values:
    """The values of ranges over rows that no other worker needs."""
    chunk = pool.put(rows, 0, rows.num_rows)
    try:
        return pool.values([chunk], ranges)
    finally:
        pool.free(chunk)
