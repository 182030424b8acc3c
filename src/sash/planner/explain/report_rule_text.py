"""When windows are reported, in one sentence: the rules of `emit`, the watermark and the end of the input.

>>> from sash.semantics.query import Query
>>> from sash.semantics.windows import tumbling
>>> reported(Query((tumbling(5),), flush=False))
'reported once, when the watermark (newest time) reaches its end'
"""

from __future__ import annotations

from sash.semantics.event import Order
from sash.semantics.query import Query, When
from sash.semantics.window import Window
from sash.semantics.windows import SessionWindow, SlideByTupleWindow

NEWEST = "newest time"
"""What the watermark is behind, where the stream comes with none of its own."""
REST = "the rest at the end of the input"


def reported(query: Query, *, newest: str = NEWEST) -> str:
    """When a window of this query is reported, and when again."""
    parts = [f"{_often(query)}{_closes(query, newest)}"]
    if query.allowed_lateness.length:
        parts.append(f"corrected for {query.allowed_lateness} after that")
    if query.empty:
        parts.append("those without events too")
    if query.flush:
        parts.append(REST)
    return "; ".join(parts)


def waits_for_nothing(query: Query) -> bool:
    """Whether a bounded input has one report of each window, at its end."""
    again = any(window.repeats for window in query.windows)
    return query.emit.when is When.CLOSE and query.flush and not query.allowed_lateness.length and not again


def reported_at_once(query: Query, *, per: str) -> str:
    """When rows per window, event or key of a bounded input are emitted.

    >>> from sash.semantics.windows import tumbling
    >>> reported_at_once(Query((tumbling(5),)), per="window")
    'reported once: the input is complete, so no window waits for later events'
    """
    if per == "key":
        return emitted_latest(query, streaming=False)
    verb = "reported " if per == "window" else ""
    empty = "; those without events too" if query.empty else ""
    return f"{verb}once: the input is complete, so no {per} waits for later events{empty}"


def emitted_rolling(query: Query, *, newest: str = NEWEST) -> str:
    """When the row of an event is emitted.

    >>> from sash.semantics.windows import slide_by_tuple
    >>> emitted_rolling(Query((slide_by_tuple(5, 1),), flush=False))
    'once, when the watermark (newest time) passes its event'
    """
    passed = f"when the watermark ({_behind(query, newest)}) passes its event"
    if query.emit.when is When.ARRIVAL:
        rule = f"with the batch of its event, and with its next revision; final {passed}"
    else:
        rule = f"once, {passed}"
    return f"{rule}; {REST}" if query.flush else rule


def emitted_latest(query: Query, *, streaming: bool, newest: str = NEWEST) -> str:
    """When the row of a key is emitted.

    >>> from sash.semantics.query import Emit
    >>> from sash.semantics.windows import slide_by_tuple
    >>> by_tens = Query((slide_by_tuple(5, 1),), emit=Emit.parse("every 10"), flush=False)
    >>> emitted_latest(by_tens, streaming=True)
    'when the row of a key changes; now is the watermark (newest time), a multiple of 10'
    """
    if not streaming:
        return "at the end of the input; now is the newest time"
    every = f", a multiple of {query.emit.period}" if query.emit.period.length else ""
    rule = f"when the row of a key changes; now is the watermark ({_behind(query, newest)}){every}"
    return f"{rule}; at the end the newest time" if query.flush else rule


def _often(query: Query) -> str:
    match query.emit.when:
        case When.CLOSE:
            again = any(window.repeats for window in query.windows)
            return "reported as its engine does, " if again else "reported once, "
        case When.CHANGE:
            return "reported after every batch that changes it, and "
        case When.ARRIVAL:
            raise AssertionError("rows of look-backs have a rule of their own")
        case When.EVERY:
            return f"reported every {query.emit.period} while it changes, and "


def _closes(query: Query, newest: str) -> str:
    if query.order is Order.ARRIVAL:
        return "when the event that closes it has arrived"
    # An event at the very end still joins a session, or the look-back of its trigger.
    passes = [_passes(window) for window in query.windows]
    end = "passes its end" if all(passes) else "reaches its end"
    others = " (passes it, for sessions and look-backs)" if any(passes) and not all(passes) else ""
    return f"when the watermark ({_behind(query, newest)}) {end}{others}"


def _passes(window: Window) -> bool:
    if isinstance(window, SessionWindow):
        return window.patience > window.gap  # not in every engine
    return isinstance(window, SlideByTupleWindow)


def _behind(query: Query, newest: str) -> str:
    return f"{newest} − {query.delay}" if query.delay.length else newest
