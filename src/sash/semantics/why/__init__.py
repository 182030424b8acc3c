"""Why a window was reported, or has not been yet: an explanation for one event of recorded arrivals.

`explain` returns a `Why`: the windows that hold the event, which of them were reported and by what,
which wait and for what, and what other engines would have reported.
"""

from sash.semantics.why.explain_event import explain
from sash.semantics.why.why_answer import EventStory, HeldStory, Why, WindowStory

__all__ = ["EventStory", "HeldStory", "Why", "WindowStory", "explain"]
