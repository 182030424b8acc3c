"""The window kinds, one module each: the formula, a doctest that shows it, and its validation.

How windows of a kind are found among the events that are held is in `operators/kinds`, in a module of the
same name (`clock_windows.py` for times and cumulating ones); `KINDS` there lists them. Public names are
in `sash/__init__.py`, windows as text in `api/window_parser.py` and `dashboard/lab/kinds.py`.

cumulate.py        cumulating windows: they grow by a step from a tumbling start up to a maximum
delta.py           delta windows: sized and moved by an attribute δ of the events instead of by time
policy.py          policy windows
punctuated.py      punctuated windows: events of the stream mark where they end
rows.py            windows of rows
session.py         session windows: maximal chains of events whose neighbours are at most `gap` apart
slide_by_time.py   slide-by-time windows: the last W events, looked back at from every multiple of S
slide_by_tuple.py  slide-by-tuple windows: a range of time, looked back at from every S-th event
threshold.py       threshold windows: maximal runs of events that satisfy a predicate (a data-driven frame)
time.py            time windows: sliding (also called hopping) and tumbling
"""

from sash.semantics.windows.cumulate import CumulateWindow, cumulate
from sash.semantics.windows.delta import DeltaWindow, delta
from sash.semantics.windows.policy import PolicyWindow, policy
from sash.semantics.windows.punctuated import PunctuatedWindow, punctuated
from sash.semantics.windows.rows import RowsWindow, rows
from sash.semantics.windows.session import SessionWindow, session
from sash.semantics.windows.slide_by_time import SlideByTimeWindow, slide_by_time
from sash.semantics.windows.slide_by_tuple import SlideByTupleWindow, lifetime, slide_by_tuple
from sash.semantics.windows.threshold import ThresholdWindow, threshold
from sash.semantics.windows.time import TimeWindow, hopping, sliding, time, tumbling

__all__ = [
    "CumulateWindow",
    "DeltaWindow",
    "PolicyWindow",
    "PunctuatedWindow",
    "RowsWindow",
    "SessionWindow",
    "SlideByTimeWindow",
    "SlideByTupleWindow",
    "ThresholdWindow",
    "TimeWindow",
    "cumulate",
    "delta",
    "hopping",
    "lifetime",
    "policy",
    "punctuated",
    "rows",
    "session",
    "slide_by_time",
    "slide_by_tuple",
    "sliding",
    "threshold",
    "time",
    "tumbling",
]
