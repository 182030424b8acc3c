"""The as-of join on a stream: batch after batch, equal to the definition.

    advance    left rows that the watermark has passed are answered among the right rows that it has passed;
               those that a right row to come may answer better stay open

Of the right rows that the watermark has passed it holds the newest of each key, as far as the tolerance
reaches back from the watermark, and those that answer an open row for now. Forward it holds none.

A saved operator has the rows of both sides in chunks, and in its header which left rows are open. Once less
than half of what the chunks of a side hold is needed, one chunk with what is needed takes their place: so
each row is written about twice, and keys that come no more do not keep old chunks.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any
from zlib import compress, decompress

import numpy as np
import pyarrow as pa

from sash.arrays import Ints, Mask
from sash.operators.joins.archive import Rows
from sash.operators.joins.asof import answer_table, answers, newest_of_each_key
from sash.operators.joins.bound_asof import BoundAsof
from sash.operators.joins.two_sided import TwoSidedOperator
from sash.operators.protocol import Saved
from sash.operators.windows.ranges import NEVER
from sash.semantics.expression import Side

SLACK = 1024
"""So many rows of chunks need not be needed by anybody."""


class AsofOperator(TwoSidedOperator):
    """Both sides of an as-of join, or of a bucket of it."""

    bound: BoundAsof

    def __init__(self, bound: BoundAsof) -> None:
        super().__init__(bound)
        self._open, self._held = (Rows.nothing(bound.of(side).schema) for side in Side)
        self._settles_at = NEVER
        """When the first of the open rows is settled, unless a right row comes."""

    def _advanced(self, passed: Mapping[Side, Rows], *, flush: bool) -> pa.Table:
        left = Rows.together([self._open, passed[Side.LEFT]]).in_order()
        right = Rows.together([self._held, passed[Side.RIGHT]]).in_order()
        found = answers(self.bound, left, right)
        settles_at = self._settled(left, right, found)
        assert self.watermark is not None
        settled = np.ones(len(left), np.bool_) if flush else settles_at < self.watermark
        answer = answer_table(self.bound, left.where(settled), right, found[settled])
        self._open, self._settles_at = left.where(~settled), int(settles_at[~settled].min(initial=NEVER))
        self._held = right.where(self._needed(right, found[~settled]))
        return answer

    def _settled(self, left: Rows, right: Rows, found: Ints) -> Ints:
        """The last instant at which a better answer to each left row could come."""
        if self.bound.join.direction == "backward":
            return left.time
        tolerance = self.bound.join.tolerance
        alone = np.full(len(left), NEVER) if tolerance is None else left.time + tolerance.length
        known = found >= 0
        alone[known] = left.time[known] + np.abs(left.time[known] - right.time[found[known]])
        return alone

    def _needed(self, right: Rows, of_open: Ints) -> Mask:
        """Which right rows left rows to come may need, and those that are open."""
        needed = np.zeros(len(right), np.bool_)
        if self.bound.join.direction != "forward" and len(right):
            needed = newest_of_each_key(self.bound, right) & (right.time >= self._reached)
        needed[of_open[of_open >= 0]] = True
        return needed

    @property
    def _reached(self) -> int:
        """Left rows to come are answered by no right row of before this time."""
        assert self.watermark is not None
        tolerance = self.bound.join.tolerance
        return -NEVER if tolerance is None else self.watermark - tolerance.length

    @property
    def held(self) -> dict[Side, Rows]:
        """The rows that are needed, of each side."""
        past = {Side.LEFT: self._open, Side.RIGHT: self._held}
        return {side: Rows.together([past[side], self._waiting[side]]) for side in Side}

    def wakes_at(self) -> int | None:
        waiting = [int(rows.time.min()) + 1 for rows in self._waiting.values() if len(rows)]
        if self._settles_at < NEVER:
            waiting.append(self._settles_at + 1)
        if waiting:
            return min(waiting)
        tolerance = self.bound.join.tolerance
        if not len(self._held) or tolerance is None:
            return None
        return int(self._held.time.max()) + tolerance.length + 1

    def save(self) -> Saved:
        for side, rows in self.held.items():
            chunks = {number for number, (own, _) in self._live.items() if own is side}
            if sum(self._live[number][1] for number in chunks) > 2 * len(rows) + SLACK:
                self._drop(chunks)
                if len(rows):
                    self._write(side, rows)
        return super().save()

    def _extent(self, rows: Rows) -> int:
        return len(rows)

    def _facts(self) -> dict[str, Any]:
        return {"open": b64encode(compress(self._open.sequence.astype("<i8").tobytes())).decode()}

    def _remember(self, passed: Mapping[Side, Rows], facts: dict[str, Any]) -> None:
        left, self._held = passed[Side.LEFT], passed[Side.RIGHT]
        is_open = np.frombuffer(decompress(b64decode(facts["open"])), "<i8")
        self._open = left.where(np.isin(left.sequence, is_open))
        found = answers(self.bound, self._open, self._held)
        settles_at = self._settled(self._open, self._held, found)
        self._settles_at = int(settles_at.min(initial=NEVER))
        # A chunk also holds right rows that were let go of, and may be many.
        self._held = self._held.where(self._needed(self._held, found))
