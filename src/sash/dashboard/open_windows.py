"""Windows that have begun and wait for the watermark, counted by the clock alone.

    open(m, now)  =  |{ w : start(w) ≤ now, end(w) > m }|        m the watermark, now the newest event time

That is a count for one key which had events all the time; a key that is silent has fewer. Windows that
events cut (count, session, delta, …) are no clock windows: for those the result is None.
"""

from __future__ import annotations

from collections.abc import Iterable

from sash.semantics.window import IntervalWindow, Window
from sash.semantics.windows import SlideByTimeWindow


def open_windows(windows: Iterable[Window], *, watermark: int, newest: int) -> int | None:
    """How many windows of a busy key are open; None when one of the kinds is not cut by the clock.

    >>> from sash.semantics.windows import sliding, session
    >>> open_windows([sliding(10, every=5)], watermark=18, newest=21)
    3
    >>> open_windows([session(5)], watermark=18, newest=21) is None
    True
    """
    counts = [_open(window, watermark, max(newest, watermark)) for window in windows]
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None


def _open(window: Window, watermark: int, newest: int) -> int | None:
    match window:
        case IntervalWindow():
            # A window holds an instant before its end: the first one that holds the watermark still waits.
            return max(0, window.mapping(newest).stop - window.mapping(watermark).start)
        case SlideByTimeWindow():
            first, last = ((at - window.origin) // window.slide for at in (watermark, newest))
            return last - first + 1
        case _:
            return None
