"""The window lab: try a window on a few events, and see what it holds and when it is reported.

engine_reports.py  what other engines report for the events of an experiment: the SECRET profiles, simulated
experiment.py      an experiment: a window, a few events, and how late they may be
kinds.py           the windows of the lab: every kind of Sash, each with the few numbers that it needs
lab_answer.py      the answer to an experiment: its windows, what was reported when, and the Python for it
"""

from sash.dashboard.lab.kinds import choices
from sash.dashboard.lab.lab_answer import answer

__all__ = ["answer", "choices"]
