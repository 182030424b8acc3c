"""The join on a stream: batch after batch, equal to the definition.

    advance    what the watermark has passed meets what is stored, in event-time order, and is stored itself

Rows meet only when the watermark has passed them, so that pairs come in the order of the definition. A
row is held until no row can come that is close enough in time: `_expired`, τ < watermark − within; then the
shares of `state/side_shares.py` drop their chunks of it. Between two batches the operator is bytes
(`two_sided.py`): which rows of a chunk are stored follows from the watermark; of an outer join the header
also has which stored rows have met one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from sash.operators.joins.bound_join import BoundJoin
from sash.operators.joins.join_output import pair_table
from sash.operators.joins.state.archive import Rows
from sash.operators.joins.state.row_chunks import RowChunk
from sash.operators.joins.state.side_shares import JoinStore, longest_chunk
from sash.operators.joins.two_sided import TwoSidedOperator
from sash.operators.windows.ranges import NEVER
from sash.semantics.expression import Side


class JoinOperator(TwoSidedOperator):
    """Both sides of a window join, or of a bucket of it."""

    bound: BoundJoin

    def __init__(self, bound: BoundJoin, *, shares: int = 1) -> None:
        super().__init__(bound)
        self.store = JoinStore(bound, shares=shares)
        self._newest = -NEVER

    def _advanced(self, passed: Mapping[Side, Rows], *, flush: bool) -> pa.Table:
        expired = self._expired
        pairs = self.store.meet(passed)
        found = pair_table(self.store, pairs, self.store.leave(NEVER if flush else expired))
        self._see(passed)
        self.store.expire(expired)
        self._chunks.drop(number for number, chunk in self._chunks.live.items() if chunk.newest < expired)
        return found

    @property
    def _expired(self) -> int:
        """Rows of before this time can meet no row any more."""
        assert self.watermark is not None
        return self.watermark - self.bound.join.within.length

    def _see(self, passed: Mapping[Side, Rows]) -> None:
        self._newest = max([self._newest, *(int(rows.time.max()) for rows in passed.values() if len(rows))])

    def next_timer(self) -> int | None:
        within = self.bound.join.within.length
        waiting = [int(rows.time.min()) + 1 for rows in self._waiting.values() if len(rows)]
        earliest = [followed.earliest for followed in self.store.unmatched.values()]
        waiting += [time + within + 1 for time in earliest if time is not None]
        if waiting:
            return min(waiting)
        return self._newest + within + 1 if self.store.stored else None

    def _extent(self, chunk: RowChunk) -> int:
        return chunk.newest

    @property
    def _longest(self) -> int:
        return longest_chunk(self.bound)

    def _needed(self, rows: Rows) -> Rows:
        return rows if self.watermark is None else rows.where(rows.time >= self._expired)

    def _facts(self) -> dict[str, Any]:
        return {"met": {side.value: rows.to_text() for side, rows in self.store.unmatched.items()}}

    def _remember(self, passed: Mapping[Side, Rows], facts: dict[str, Any]) -> None:
        self._see(passed)
        self.store.remember(passed)
        self.store.leave(self._expired)
        for side, unmatched in self.store.unmatched.items():
            unmatched.restore(facts["met"][side.value])
