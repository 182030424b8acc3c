"""The window operator: state on streams that is flat in the window, in the keys and in time."""

from sash.operators.engine.operator import WindowOperator
from sash.operators.engine.pane_level import PaneLevelOperator
from sash.operators.engine.plan import StatePlan, displaces, hands_panes_on, keeps_panes
from sash.operators.engine.renaming import Change
from sash.operators.engine.upgrade import upgrade

__all__ = [
    "Change", "PaneLevelOperator", "StatePlan", "WindowOperator", "displaces", "hands_panes_on",
    "keeps_panes", "upgrade",
]  # fmt: skip
