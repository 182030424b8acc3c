"""Why a window said what it said, or has not said it yet: one event, asked about over recorded arrivals.

`explain` answers with a `Why`: the windows that hold the event, which of them were reported and by what,
which wait and for what, and what other engines would have reported.
"""

from sash.semantics.why.explain import explain
from sash.semantics.why.stories import EventStory, HeldStory, Why, WindowStory

__all__ = ["EventStory", "HeldStory", "Why", "WindowStory", "explain"]
