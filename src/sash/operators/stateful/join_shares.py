"""J+ at work: its shares are those of the store that every window join has.

What is new in a run is arranged once for all instances; each instance lets its own shares meet it, at its
own pace. Rows are kept once, for all of them, until the slowest share needs them no longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

from sash.arrays import Ints
from sash.operators.joins.join_output import pair_table
from sash.operators.joins.state.archive import Rows
from sash.operators.joins.state.side_shares import JoinShare, JoinStore, NewRows
from sash.operators.order.interleaved import Interleaved
from sash.operators.stateful.running_operator import Running
from sash.operators.stateful.shared_preparation import Prepared
from sash.semantics.expression import Side

if TYPE_CHECKING:
    from sash.operators.stateful.join import Join


class JoinShares(Running):
    """A window join in shares."""

    def __init__(self, operator: Join) -> None:
        super().__init__(operator)
        self._within = operator.join.within.length
        self.store = JoinStore(operator.bound, shares=operator.shares)

    def _share(self, number: int) -> JoinShare:
        return self.store.shares[number]

    def _begin(self, run: Interleaved, *, pieces: int) -> Prepared:
        """Every tuple has every key: there is nothing to read."""
        return Prepared()

    def _arrange(self, run: Interleaved) -> NewRows:
        inputs = len(run.tables)
        return self.store.arrange(
            {side: self._rows(run, number % inputs) for number, side in enumerate(Side)}
        )

    def _rows(self, run: Interleaved, number: int) -> Rows:
        at = run.positions(number)
        return Rows(run.tables[number].combine_chunks(), run.times[at], run.first + at)

    def _answer(self, run: Interleaved, prepared: Prepared, mine: Ints) -> pa.Table:
        found = []
        if len(run):
            arrival = prepared.once("arrival", lambda: self._arrange(run))
            for number in mine.tolist():
                with self.share(number):
                    found += self.store.meet_in(number, arrival)
        pairs = pair_table(self.store, found)
        for number in mine.tolist():
            with self.share(number):
                self.store.expire(run.watermark - self._within, number=number)
        return pairs

    @property
    def holds(self) -> bool:
        return bool(self.store.stored)

    def log(self) -> NoReturn:
        raise AssertionError("a join on a stream is saved by sash.operators.joins")

    def buffers(self) -> list[tuple[int, int]]:
        columns = [
            column
            for share in self.store.shares
            for chunks in share.chunks.values()
            for chunk in chunks
            for column in (chunk.place, chunk.time, chunk.code, chunk.second, *chunk.columns)
        ]
        return [(column.__array_interface__["data"][0], column.nbytes) for column in columns]
