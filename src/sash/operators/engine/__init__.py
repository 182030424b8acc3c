"""The window operator: state on streams that is flat in the window, in the keys and in time."""

from sash.operators.engine.operator import WindowOperator
from sash.operators.engine.pane_level import PaneLevelOperator
from sash.operators.engine.plan import StatePlan, displaces, hands_panes_on, keeps_panes

__all__ = [
    "PaneLevelOperator", "StatePlan", "WindowOperator", "displaces", "hands_panes_on", "keeps_panes",
]  # fmt: skip
