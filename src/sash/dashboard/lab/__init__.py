"""The window lab: try a window on a few events, and see what it holds and when it is reported."""

from sash.dashboard.lab.kinds import choices
from sash.dashboard.lab.lab_answer import answer

__all__ = ["answer", "choices"]
