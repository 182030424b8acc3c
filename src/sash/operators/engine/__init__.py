"""The window operator: state on streams that is flat in the window, in the keys and in time."""

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
