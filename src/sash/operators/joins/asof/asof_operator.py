"""The as-of join on a stream: batch after batch, equal to the definition.

    advance    left rows that the watermark has passed are answered among the right rows that it has passed;
               those that a right row to come may answer better stay open

Of the right rows that the watermark has passed it holds the newest of each key, as far as the tolerance
reaches back from the watermark, and those that answer an open row for now. Forward it holds none. Open rows
are looked at again when a right row of their key has come, and when nothing better can come. So a batch
costs what it brings and settles, whatever other keys hold.

A saved operator has the rows of both sides in chunks, and in its header which left rows are open. Once less
than half of what the chunks of a side hold is needed, one chunk with what is needed takes their place: so
each row is written about twice, and keys that come no more do not keep old chunks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sash.arrays import Ints, Mask
from sash.operators.columns.times import FARTHEST
from sash.operators.joins.asof.asof_columns import answer_table, matches, newest_of_each_key
from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.asof.rows_by_key_hash import KeyHash, RowsByKeyHash
from sash.operators.joins.state import row_bits
from sash.operators.joins.state.archive import Rows
from sash.operators.joins.state.row_chunks import RowChunk
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
        self._hash = {side: KeyHash({key.name(side): key.type for key in bound.keys}) for side in Side}
        self._past = {side: RowsByKeyHash(bound.of(side).schema, self._hash[side]) for side in Side}
        """Rows that the watermark has passed: open left ones, until they are settled unless a right row
        comes, and right ones, until no left row can need them."""

    def _advanced(self, passed: Mapping[Side, Rows], *, flush: bool) -> pa.Table:
        assert self.watermark is not None
        due = self._past[Side.LEFT].due(None if flush else self.watermark)
        left, right = self._touched(passed, due)
        found = matches(self.bound, left, right)
        settles_at = self._settled(left, right, found)
        settled = np.ones(len(left), np.bool_) if flush else settles_at < self.watermark
        answer = answer_table(self.bound, left.where(settled), right, found[settled])
        self._past[Side.LEFT].put(left.where(~settled), settles_at[~settled])
        self._hold(right, found[~settled])
        self._past[Side.RIGHT].due(self.watermark)
        return answer

    def _touched(self, passed: Mapping[Side, Rows], due: Rows) -> tuple[Rows, Rows]:
        """The left rows whose answers may have changed, and all right rows of their keys."""
        hashes = {side: self._hash[side].of(rows.table) for side, rows in passed.items()}
        keys = np.unique(np.concatenate([*hashes.values(), self._hash[Side.LEFT].of(due.table)]))
        # Nearest, a right row may be held for the sake of an open one: it is taken with it.
        again = np.unique(hashes[Side.RIGHT]) if self.bound.join.direction == "forward" else keys
        opened = self._past[Side.LEFT].take(again)
        held = self._past[Side.RIGHT].take(keys)
        left = Rows.together([due, opened, passed[Side.LEFT]]).in_order()
        return left, Rows.together([held, passed[Side.RIGHT]]).in_order()

    def _settled(self, left: Rows, right: Rows, found: Ints) -> Ints:
        """The last instant at which a better answer to each left row could come."""
        if self.bound.join.direction == "backward":
            return left.time
        reach = self.bound.reach
        settles_at = np.full(len(left), NEVER) if reach is None else left.time + reach
        known = found >= 0
        settles_at[known] = left.time[known] + np.abs(left.time[known] - right.time[found[known]])
        return settles_at

    def _hold(self, right: Rows, of_open: Ints) -> None:
        """Hold the right rows that left rows to come may need, and those that answer open ones."""
        direction, reach = self.bound.join.direction, self.bound.reach
        needed: Mask = np.zeros(len(right), np.bool_)
        if direction != "forward" and len(right):
            needed = newest_of_each_key(self.bound, right)
        needed[of_open[of_open >= 0]] = True
        held = right.where(needed)
        if reach is None:
            until = np.full(len(held), NEVER)
        else:
            # An open row that it answers is at most a tolerance later, and settled as much later again.
            until = held.time + min(reach * (2 if direction == "nearest" else 1), 2 * FARTHEST)
        self._past[Side.RIGHT].put(held, until)

    def held(self, side: Side) -> int:
        """How many rows of a side are needed."""
        return len(self._past[side]) + len(self._waiting[side])

    def next_timer(self) -> int | None:
        waiting = [int(rows.time.min()) + 1 for rows in self._waiting.values() if len(rows)]
        settles_at = self._past[Side.LEFT].earliest
        if settles_at < NEVER:
            waiting.append(settles_at + 1)
        if waiting:
            return min(waiting)
        forgotten = self._past[Side.RIGHT].latest
        return forgotten + 1 if -NEVER < forgotten < NEVER else None

    def save(self) -> Saved:
        for side in Side:
            chunks = self._chunks.of(side)
            if sum(chunk.count for chunk in chunks.values()) > 2 * self.held(side) + SLACK:
                self._chunks.drop(chunks)
                rows = Rows.together([self._past[side].all(), self._waiting[side]])
                if len(rows):
                    self._chunks.write(side, rows)
        return super().save()

    def _extent(self, chunk: RowChunk) -> int:
        return chunk.count

    def _facts(self) -> dict[str, Any]:
        return {"open": _numbers_to_text(self._past[Side.LEFT].sequence)}

    def _remember(self, passed: Mapping[Side, Rows], facts: dict[str, Any]) -> None:
        left, right = passed[Side.LEFT], passed[Side.RIGHT]
        left = left.where(_among(left.sequence, facts["open"]))
        found = matches(self.bound, left, right)
        self._past[Side.LEFT].put(left, self._settled(left, right, found))
        # A chunk also holds right rows that were let go of, and may be many.
        self._hold(right, found)


def _numbers_to_text(numbers: Ints) -> list[Any]:
    """Distinct numbers: the least, how far they go, and which there are."""
    if not len(numbers):
        return [0, 0, ""]
    least = int(numbers.min())
    there = np.zeros(int(numbers.max()) - least + 1, np.bool_)
    there[numbers - least] = True
    return [least, len(there), row_bits.to_text(there)]


def _among(numbers: Ints, written: list[Any]) -> Mask:
    """Which of the numbers are among those that were written."""
    least, count, text = written
    if not count:
        return np.zeros(len(numbers), np.bool_)
    places = numbers - least
    inside: Mask = (places >= 0) & (places < count)
    inside[inside] = row_bits.chosen_at(text, count, places[inside])
    return inside
