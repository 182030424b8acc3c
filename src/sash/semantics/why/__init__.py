"""Why a window was reported, or has not been yet: an explanation for one event of recorded arrivals.

`explain` returns a `Why`: the windows that hold the event, which of them were reported and by what,
which wait and for what, and what other engines would have reported.

arrival_log.py     what arrived when, and whether it was late: the reference's judgement, kept
explain_event.py   explain an event: from a query and the batches that arrived to a `Why`
history.py         which windows hold an event, and when each was reported
other_engines.py   what other engines would have reported, simulated
report_reasons.py  why a window was reported, what others wait for, why an event is in none
text.py            a `Why` as text, for terminals
why_answer.py      the answer to 'why?': frozen, readable as text and as plain data
"""

from sash.semantics.why.explain_event import explain
from sash.semantics.why.why_answer import EventStory, HeldStory, Why, WindowStory

__all__ = ["EventStory", "HeldStory", "Why", "WindowStory", "explain"]
