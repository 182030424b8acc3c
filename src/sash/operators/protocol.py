"""The streaming window operator, seen from a runtime: all keys of one bucket, batch after batch.

    insert(rows)          events arrive; those that are too late come back
    advance(watermark)    time passes; what closes is reported

A runtime calls the two in turn. An engine that learns the watermark of a batch only at the start of the
next one (Spark) calls advance, then insert: the sequence is the same. Between two batches the operator is
bytes: a small header that is rewritten, and numbered chunks of events that are written once, and dropped
when no window can need them any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self

import pyarrow as pa

from sash.arrays import Ints
from sash.operators.answer import Answer
from sash.operators.bound_query import BoundQuery


@dataclass(frozen=True)
class Saved:
    """What to write so that `load` gives the operator back: the difference since the last `save`."""

    header: bytes
    written: Mapping[int, bytes] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()
    keys: int = 0
    """How many are held; 0 also where that is not counted …"""
    size: int = 0
    """… and how many bytes a store has of them."""

    def put_into(self, chunks: dict[int, bytes]) -> None:
        """Bring chunks that are kept in memory up to date."""
        chunks.update(self.written)
        for number in self.dropped:
            del chunks[number]


class StreamOperator(Protocol):
    """A bucket of keys, between two batches."""

    @classmethod
    def load(
        cls,
        bound: BoundQuery,
        header: bytes | None,
        chunks: Mapping[int, bytes],
        *,
        name: str | None = None,
    ) -> Self:
        """The operator as it was saved; a new one when there is no header. Chunks are read when needed, and
        not at all where the machine has what they fold to, under the bucket's own `name`."""
        ...

    def resume(self, header: bytes, chunks: Mapping[int, bytes]) -> None:
        """A batch begins with an operator that made the last writing in this process."""
        ...

    def insert(self, rows: pa.Table, ordinals: Ints) -> pa.Table:
        """Take a batch (the columns `bound.columns`; rows arrived in the order of `ordinals`); give
        back those that are late, in the form of `bound.late_output`."""
        ...

    def advance(self, watermark: int, *, flush: bool = False) -> Answer:
        """No event before `watermark` is expected any more: what that closes, and what has no place."""
        ...

    def next_timer(self) -> int | None:
        """The least watermark at which `advance` may have something to report, or to forget, without
        further events."""
        ...

    def save(self) -> Saved: ...

    @property
    def memory(self) -> int:
        """About how many bytes of this process it takes between two batches, without files that are mapped:
        they are the machine's."""
        ...
