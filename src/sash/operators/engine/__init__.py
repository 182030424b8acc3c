"""The window operator: state on streams that is flat in the window, in the keys and in time.

content_fingerprint.py  what a window holds, for queries that correct what they have reported
due_reports.py          which windows are reported in a turn, and which are no more
emit_on_arrival.py      look-backs that are answered on arrival, and corrected until final
lateness.py             which events are too late, and how long the others are held
operator.py             the window operator: all keys of one bucket, batch after batch
operator_turn.py        one turn of the operator: time has moved, or events have come
pane_operator.py        the pane-level query on a stream: it decides what is late, the rest leaves as panes
pending_events.py       events that are not final yet
pending_log.py          events that wait, as an arena keeps them between two batches: a log
reported_windows.py     what was reported of the windows that may still change
shared_look_backs.py    look-backs of one of several workers that share a key
state.py                what is kept of all keys of a bucket, between two batches and beyond processes
state_layout.py         how the windows of a query are kept: which share a lane, and where all lies
window_in_state.py      one window of the query: its kind, and where its memory lies
"""

from sash.operators.bound_query import BoundLatest, BoundQuery, BoundRolling
from sash.operators.engine.emit_on_arrival import ArrivalOperator
from sash.operators.engine.groups.latest_rows_due import LatestOperator
from sash.operators.engine.operator import WindowOperator
from sash.operators.engine.pane_operator import PanePartsOperator
from sash.operators.engine.saving.changed_aggregates import upgrade
from sash.operators.engine.saving.rows_under_other_aggregates import Change
from sash.operators.engine.state_layout import (
    StatePlan,
    holds_whole_windows,
    keeps_panes,
    with_late_columns,
)


def operator_of(bound: BoundQuery) -> type[WindowOperator]:
    """Which operator keeps the windows of this query."""
    if isinstance(bound, BoundLatest):
        return LatestOperator
    if isinstance(bound, BoundRolling) and bound.query.corrects:
        return ArrivalOperator
    return WindowOperator


__all__ = [
    "Change", "LatestOperator", "PanePartsOperator", "StatePlan", "WindowOperator",
    "holds_whole_windows", "keeps_panes", "operator_of", "upgrade",
    "with_late_columns",
]  # fmt: skip
