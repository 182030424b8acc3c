"""The pane-level query on a stream: panes are told once, when no event can reach them any more.

    insert     judge by the watermark, fold the rest by key and pane
    advance    tell the panes that end at or before the watermark, and forget them

A pane is told as a row of the query over panes (`Panes.folded`). Its time is its last instant and not its
first: whoever hears of it at watermark m has been told of no watermark after that instant, so that no pane
is ever late. Which events are late is decided here, and only here.
"""

from __future__ import annotations

import pyarrow as pa

from sash.operators.bound import BoundQuery
from sash.operators.panes import ClockWindow, Panes
from sash.operators.streaming.paned import PanedOperator
from sash.operators.times import from_integers


class PaneLevelOperator(PanedOperator):
    """A bucket of keys, or of parts of keys: several buckets may tell parts of one pane."""

    @staticmethod
    def _windows_of(bound: BoundQuery, panes: Panes) -> tuple[ClockWindow, ...]:
        return (panes.window,)

    @property
    def answers(self) -> pa.Schema:
        return self.panes.folded.schema

    def _reports(self, closing: list[range]) -> list[pa.Table]:
        (window,), (ids,) = self.windows, closing
        closed = self.loose.rows.where(self.loose.rows.end <= window.extent(ids.stop - 1).stop)
        rows = closed.folded(self.panes, closed.start, self.panes.length)
        keys = self.keyring.of_slots(rows.slot)
        time = from_integers(rows.end - 1, self.answers.field(self.bound.time).type)
        return [pa.table([*keys.columns, time, *rows.elements.columns], schema=self.answers)]
