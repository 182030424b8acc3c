"""Sash's own windows as lanes of a picture: the extents of any kind over the events of one key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sash.display.timeline.picture import Lane, Mark, Picture, Span
from sash.semantics.event import Event, Order, arrange
from sash.semantics.window import IntervalWindow, Window

MOST = 60
"""Windows that a lane shows; a picture of more is not read by anyone."""


def label(index: int) -> str:
    """Events are t1, t2, … in input order, as in the papers."""
    return f"t{index + 1}"


def run(indexes: Sequence[int]) -> str:
    """The events of a window: 't1', 't1 t2', 't1…t9', '∅'.

    >>> run(range(0)), run([1]), run([1, 2]), run([3, 1, 2])
    ('∅', 't2', 't2 t3', 't2…t4')
    """
    ordered = sorted(indexes)
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{label(ordered[0])}…{label(ordered[-1])}"
    return " ".join(label(index) for index in ordered) or "∅"


def marks_of(events: Iterable[Event], *, read: Callable[[int], str] = str) -> tuple[Mark, ...]:
    """The events of one key, at their times."""
    return tuple(
        Mark(event.time, label(event.ordinal), f"{label(event.ordinal)} at {read(event.time)}")
        for event in events
    )


def lane_of(
    window: Window, events: Sequence[Event], *, delay: int = 0, order: Order = Order.EVENT_TIME
) -> Lane:
    """The windows over these events; reported are those that the watermark max τ − delay has closed."""
    ordered, displaced = window.place(arrange(events, order))
    watermark = max((event.time for event in events), default=0) - delay
    # Bounds that the clock sets are drawn where they are; where events are bounds, around these events.
    ahead = 0.0 if isinstance(window, IntervalWindow) else 0.5
    behind = 0.0 if window.half_open else 0.5
    spans = []
    for extent in window.extents(ordered):
        if extent.start is None or extent.end is None:
            continue
        closes = extent.closes_at
        closed = closes is not None and (order is Order.ARRIVAL or watermark >= closes)
        end = extent.end + behind
        content = run([event.ordinal for event in ordered[extent.lo : extent.hi]])
        reported = max(end, _closing(events, closes + delay)) if closed and closes is not None else None
        state = "reported" if closed else "waiting"
        note = f"w {extent.id} holds {content}: {state}"
        spans.append(Span(extent.start - ahead, end, content, reported, note))
    remarks = [f"{label(event.ordinal)} has no place: {reason}" for event, reason in displaced]
    if len(spans) > MOST:
        remarks.append(f"… and {len(spans) - MOST} more windows")
    return Lane(window.name or window.written, tuple(spans[:MOST]), "; ".join(remarks))


def picture_of(
    windows: Window | Iterable[Window],
    events: Sequence[Event],
    *,
    delay: int = 0,
    order: Order = Order.EVENT_TIME,
    title: str = "",
    read: Callable[[int], str] = str,
) -> Picture:
    """A lane for each window kind, over the events of one key. `read` writes a time for people."""
    kinds = [windows] if isinstance(windows, Window) else list(windows)
    lanes = tuple(lane_of(window, events, delay=delay, order=order) for window in kinds)
    named = (
        title or f"{', '.join(window.name or window.written for window in kinds)} over {len(events)} events"
    )
    return Picture(named, "time", marks_of(events, read=read), lanes, lambda at: read(round(at)))


def _closing(events: Iterable[Event], least: int) -> float:
    """The time of the event that moves the watermark far enough."""
    return min((event.time for event in events if event.time >= least), default=least)
