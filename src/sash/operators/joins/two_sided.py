"""What all joins on streams share: rows of both sides are judged, wait, and are bytes between batches.

    insert     judge by the watermark; what is on time waits, and is written as a chunk
    advance    what the watermark has passed is joined; each kind has its own way

A saved operator is a small header that is rewritten, and chunks of rows (`state/row_chunks.py`). Which rows
of a chunk still wait follows from the watermark.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.stores.kept_facts import require_counts, require_times
from sash.aggregation.stores.values import reading, require_layout, seal_json, unseal_json
from sash.arrays import Ints, Mask
from sash.operators.columns.times import to_integers
from sash.operators.joins.bound_join import BoundSides
from sash.operators.joins.bounded_join import late, timed, untimed
from sash.operators.joins.state.archive import Rows
from sash.operators.joins.state.row_chunks import RowChunk, RowChunks
from sash.operators.protocol import Saved
from sash.operators.windows.ranges import NEVER
from sash.semantics.expression import Side
from sash.semantics.watermark import Lateness

HEADER = b"header of a join"
LAYOUT = 1
"""Goes up with every change of what a header or a chunk holds."""


class TwoSidedOperator(ABC):
    """Both sides of a join, or of a bucket of it."""

    bound: BoundSides

    def __init__(self, bound: Any) -> None:
        self.bound = bound
        self.watermark: int | None = None
        self._waiting = {side: Rows.nothing(bound.of(side).schema) for side in Side}
        self._arrived = dict.fromkeys(Side, 0)
        self._chunks = RowChunks(bound, longest=self._longest)

    def insert(
        self, side: Side, rows: pa.Table, ordinals: Ints, *, originals: Mask | None = None
    ) -> pa.Table:
        """Takes rows of a side, which arrived in the order of `ordinals`; returns those that are late, with
        the reason. A row that is not one of the `originals` is a copy, reported by another bucket."""
        own, order = self.bound.of(side), np.argsort(ordinals, kind="stable")
        rows = rows.take(pa.array(order))
        originals = np.ones(rows.num_rows, np.bool_) if originals is None else originals[order]
        known = pc.is_valid(rows[own.time]).to_numpy()
        late_rows = [untimed(own, rows.filter(pa.array(originals)))]
        rows, originals = rows.filter(pa.array(known)), originals[known]
        on_time = to_integers(rows[own.time]) >= (-NEVER if self.watermark is None else self.watermark)
        too_late = rows.filter(pa.array(~on_time & originals))
        late_rows.append(late(own, too_late, Lateness.TOO_LATE.value))
        rows = rows.filter(pa.array(on_time))
        if rows.num_rows:
            sequence = self._arrived[side] + np.arange(rows.num_rows)
            self._arrived[side] += rows.num_rows
            taken = timed(own, rows, sequence)
            self._waiting[side] = Rows.together([self._waiting[side], taken])
            self._chunks.write(side, taken)
        return pa.concat_tables(late_rows)

    def advance(self, watermark: int, *, flush: bool = False) -> pa.Table:
        """No row before `watermark` is expected any more: what this makes final, in order."""
        self.watermark = watermark if self.watermark is None else max(self.watermark, watermark)
        return self._advanced({side: self._passed(side, flush=flush) for side in Side}, flush=flush)

    def _passed(self, side: Side, *, flush: bool = False) -> Rows:
        """The waiting rows that the watermark has passed, in order: they wait no longer."""
        waiting = self._waiting[side]
        passed = waiting.time < (NEVER if flush or self.watermark is None else self.watermark)
        self._waiting[side] = waiting.where(~passed)
        return waiting.where(passed).in_order()

    @property
    def memory(self) -> int:
        """Rows, and as much again for what finds them."""
        return 2 * self._chunks.size

    def save(self) -> Saved:
        """The difference since the last `save`."""
        self._chunks.merge(self._needed)
        live = self._chunks.live.items()
        facts = {
            "layout": LAYOUT,
            "watermark": self.watermark,
            "arrived": {side.value: count for side, count in self._arrived.items()},
            "chunks": self._chunks.count,
            "live": {number: [chunk.side.value, self._extent(chunk)] for number, chunk in live},
            **self._facts(),
        }
        return Saved(seal_json(HEADER, facts), *self._chunks.take())

    def resume(self, header: bytes, chunks: Mapping[int, bytes]) -> None:
        """All rows are at hand: chunks of the store are read only to be merged."""
        self._chunks.stored = chunks

    @classmethod
    def load(
        cls, bound: Any, header: bytes | None, chunks: Mapping[int, bytes], *, name: str | None = None
    ) -> Self:
        """The operator as it was saved; a new one when there is no header."""
        operator = cls(bound)
        if header is not None:
            with reading("the state of a join"):
                operator._restore(unseal_json(HEADER, header), chunks)
        return operator

    def _restore(self, facts: dict[str, Any], chunks: Mapping[int, bytes]) -> None:
        require_layout("the state of a join", facts.get("layout"), LAYOUT)
        require_times(facts, "watermark")
        require_counts(facts, "chunks")
        require_counts(facts["arrived"], *(side.value for side in Side))
        self.watermark = facts["watermark"]
        self._chunks.count, self._chunks.stored = facts["chunks"], chunks
        self._arrived = {side: facts["arrived"][side.value] for side in Side}
        rows: dict[Side, list[Rows]] = {side: [self._waiting[side]] for side in Side}
        for number, (side, _) in facts["live"].items():
            rows[Side(side)].append(self._chunks.restore(int(number), Side(side)))
        self._waiting = {side: Rows.together(parts) for side, parts in rows.items()}
        if self.watermark is not None:
            self._remember({side: self._passed(side) for side in Side}, facts)

    # What differs

    @abstractmethod
    def _advanced(self, passed: Mapping[Side, Rows], *, flush: bool) -> pa.Table:
        """What the rows that the watermark has passed now make final."""

    @abstractmethod
    def _extent(self, chunk: RowChunk) -> int:
        """What the header has of a chunk."""

    @property
    def _longest(self) -> int | None:
        """The longest time of a chunk that is merged; None: any."""
        return None

    def _needed(self, rows: Rows) -> Rows:
        """Those rows of a chunk that must be in the store."""
        return rows

    def _facts(self) -> dict[str, Any]:
        """What else the header has."""
        return {}

    @abstractmethod
    def _remember(self, passed: Mapping[Side, Rows], facts: dict[str, Any]) -> None:
        """Rows that the watermark had passed before the operator was saved: they have been joined."""

    @abstractmethod
    def next_timer(self) -> int | None:
        """The least watermark at which `advance` may have something to emit, or all there is to let go of,
        without further rows."""
