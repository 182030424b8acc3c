"""The pane-level query on a stream: panes are emitted once, when no event can reach them any more.

A pane is emitted as a row of the query over panes (`Panes.folded`). Its time is its last instant and not
its first: whoever receives it at watermark m has seen no watermark after that instant, so that no pane is
ever late. Which events are late is decided here, and only here.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sash.arrays import Ints
from sash.operators.bound import BoundQuery
from sash.operators.columns.times import from_integers
from sash.operators.engine.operator import WindowOperator
from sash.operators.engine.plan import StatePlan
from sash.operators.engine.tracks import Track
from sash.operators.engine.turn import Turn, Windows
from sash.operators.folding.panes import Panes
from sash.operators.windows.ranges import Ranges


class PaneLevelOperator(WindowOperator):
    """A bucket of keys, or of parts of keys: several buckets may emit parts of one pane."""

    @staticmethod
    def plan_of(bound: BoundQuery) -> StatePlan:
        """Of the query whose only windows are the panes."""
        panes = Panes.of(bound)
        assert panes is not None, "only for queries that fold panes"
        query = replace(bound.query, windows=(panes.window,))
        return StatePlan(replace(bound, query=query))

    @property
    def answers(self) -> pa.Schema:
        assert self.plan.panes is not None
        return self.plan.panes.folded.schema

    def _emit(
        self, turn: Turn, track: Track, ranges: Ranges, revisions: Ints | None, windows: Windows
    ) -> None:
        if not len(ranges) or self._replaying:
            return
        rows, at = windows.rows(ranges)
        keys = self.slots.keys_of(turn.slots[ranges.slot])
        time = from_integers(ranges.end - 1, self.answers.field(self.bound.time).type)
        parts = rows.take(pa.array(at.lo))
        self._reports.append(pa.table([*keys.columns, time, *parts.columns], schema=self.answers))
