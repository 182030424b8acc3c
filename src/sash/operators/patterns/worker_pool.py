"""Where windows are computed: in this process by threads, or in others (`process_workers.py`).

A pool keeps chunks of rows where its workers can read them. Aggregates are computed by threads, in kernels
that release the GIL. A user's function over whole windows holds it, so its windows go to processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa

from sash.operators.folding.values import Values
from sash.operators.patterns.folding import Folding
from sash.operators.windows.ranges import Ranges

Chunk = Any
"""Rows, as a pool keeps them."""


class WorkerPool(Protocol):
    """A place for chunks, and workers that compute windows over them. Called by many threads at once."""

    def put(self, rows: pa.Table) -> Chunk: ...
    def free(self, chunk: Chunk) -> None: ...
    def values(self, chunks: Sequence[Chunk], ranges: Ranges) -> Values:
        """The values of ranges over the rows of these chunks, one after the other."""
        ...


@dataclass(frozen=True)
class ThreadWorkers:
    """This process: a chunk is the table itself, and the thread that calls does the work."""

    folding: Folding
    schema: pa.Schema

    def put(self, rows: pa.Table) -> Chunk:
        return rows

    def free(self, chunk: Chunk) -> None:
        """Nothing to do: a table goes when nobody holds it any more."""

    def values(self, chunks: Sequence[Chunk], ranges: Ranges) -> Values:
        return self.folding.values(*trimmed(rows_of(chunks, self.schema), ranges))


def rows_of(chunks: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """The rows of several tables, not copied."""
    return pa.concat_tables(chunks) if chunks else schema.empty_table()


def trimmed(rows: pa.Table, ranges: Ranges) -> tuple[pa.Table, Ranges]:
    """Without the rows before the first window and after the last."""
    lo, hi = int(ranges.lo[0]), int(ranges.hi[-1])
    return rows.slice(lo, hi - lo), replace(ranges, lo=ranges.lo - lo, hi=ranges.hi - lo)


def at_once(pool: WorkerPool, rows: pa.Table, ranges: Ranges) -> Values:
    """The values of ranges over rows that no other worker needs."""
    chunk = pool.put(rows)
    try:
        return pool.values([chunk], ranges)
    finally:
        pool.free(chunk)
