"""The window lab: try a window on a few events, and see what it holds and when it is reported."""

from sash.dashboard.lab.answering import answer
from sash.dashboard.lab.kinds import choices

__all__ = ["answer", "choices"]
