"""Windowers: from the layout of a batch to ranges, for all keys at once. WHICH events, never HOW they fold.

One function a window kind, chosen by its type; each is tested against the definition in `semantics`. Kinds
without a function of their own here are evaluated by their definition, event by event.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from sash.aggregation.kernels.cuts import cut
from sash.operators.layout import Layout
from sash.operators.ranges import MISSING, NEVER, Ranges, event_bounds
from sash.semantics.window import Extent, Window
from sash.semantics.windows import (
    CountWindow,
    CumulateWindow,
    SessionWindow,
    SlideByTimeWindow,
    SlideByTupleWindow,
    TimeWindow,
)

Ints = NDArray[np.int64]


def window_ranges(window: Window, layout: Layout, *, horizon: int, empty: bool = False) -> Ranges:
    """All windows over the layout; those without events only with `empty`."""
    if not len(layout.times):
        nothing = np.empty(0, np.int64)
        return Ranges(nothing, nothing, nothing, nothing, nothing, nothing, nothing)
    return _ranges(window, layout, horizon, empty)


def vectorised(window: Window) -> bool:
    """Whether this kind has a windower that works on columns."""
    return _ranges.dispatch(type(window)) is not _ranges.dispatch(object)


@singledispatch
def _ranges(window: Window, layout: Layout, horizon: int, empty: bool) -> Ranges:
    """By definition: the extents of each key."""
    entries = [
        _entry(slot, base, extent)
        for slot, (base, events) in enumerate(layout.events())
        for extent in window.extents(events, horizon=horizon, empty=empty)
    ]
    columns = np.array(entries, np.int64).reshape(-1, 7).T
    return Ranges(*np.ascontiguousarray(columns))


def _entry(slot: int, base: int, extent: Extent) -> tuple[int, ...]:
    start = MISSING if extent.start is None else extent.start
    end = MISSING if extent.end is None else extent.end
    closes_at = NEVER if extent.closes_at is None else extent.closes_at
    return slot, extent.id, base + extent.lo, base + extent.hi, start, end, closes_at


@_ranges.register
def _(window: CountWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    sizes = np.diff(layout.offsets)
    slot, w = _numbered(-(-sizes // window.slide))
    base = layout.offsets[slot]
    lo = base + w * window.slide
    hi = np.minimum(lo + window.size, base + sizes[slot])
    start, end = event_bounds(layout.times, lo, hi)
    return Ranges(slot, w, lo, hi, start, end, closes_at=np.where(hi - lo == window.size, end, NEVER))


@_ranges.register
def _(window: TimeWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    offset = layout.times - window.origin
    first, last = (offset - window.size) // window.slide + 1, offset // window.slide
    slot, w = _clock_windows(layout, first, last, (horizon - window.origin) // window.slide, empty)
    start = window.origin + w * window.slide
    return _between(layout, slot, w, start, start + window.size)


@_ranges.register
def _(window: CumulateWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    block, offset = np.divmod(layout.times - window.origin, window.size)
    first, last = block * window.steps + offset // window.step, (block + 1) * window.steps - 1
    until = ((horizon - window.origin) // window.size + 1) * window.steps - 1
    slot, w = _clock_windows(layout, first, last, until, empty)
    start = window.origin + w // window.steps * window.size
    return _between(layout, slot, w, start, start + (w % window.steps + 1) * window.step)


@_ranges.register
def _(window: SlideByTupleWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    slot, w = _numbered(np.diff(layout.offsets) // window.slide)
    trigger = layout.times[layout.offsets[slot] + (w + 1) * window.slide - 1]
    lo = cut(layout.times, layout.offsets, slot, trigger - window.size + 1)
    hi = cut(layout.times, layout.offsets, slot, trigger + 1)
    start, end = event_bounds(layout.times, lo, hi)
    return Ranges(slot, w, lo, hi, start, end, closes_at=trigger + 1)


@_ranges.register
def _(window: SlideByTimeWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    first = (layout.times[layout.firsts] - window.origin) // window.slide
    slot, number = _numbered((horizon - window.origin) // window.slide - first + 1)
    w = first[slot] + number
    instant = window.origin + (w + 1) * window.slide
    hi = cut(layout.times, layout.offsets, slot, instant)
    lo = np.maximum(layout.offsets[slot], hi - window.size)
    return Ranges(slot, w, lo, hi, layout.times[lo], instant, closes_at=instant)


@_ranges.register
def _(window: SessionWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    begins = np.zeros(len(layout.times), np.bool_)
    begins[1:] = np.diff(layout.times) > window.gap
    begins[layout.firsts] = True
    lo = np.flatnonzero(begins)
    hi = np.append(lo[1:], len(layout.times))
    start, end = layout.times[lo], layout.times[hi - 1] + window.gap
    return Ranges(layout.slot_of_position()[lo], start, lo, hi, start, end, closes_at=end + 1)


def _numbered(counts: Ints) -> tuple[Ints, Ints]:
    """Slots repeated counts[slot] times, and a number from 0 within each.

    >>> _numbered(np.array([2, 0, 1]))
    (array([0, 0, 2]), array([0, 1, 0]))
    """
    slot = np.repeat(np.arange(len(counts)), counts)
    return slot, np.arange(len(slot)) - np.repeat(np.cumsum(counts) - counts, counts)


def _clock_windows(layout: Layout, first: Ints, last: Ints, until: int, empty: bool) -> tuple[Ints, Ints]:
    """The windows that the clock cuts: (slot, identifier) of those that hold an event, given the first and
    last window of each event; with `empty`, of all from the first of a slot to `until`."""
    if empty:
        slot, number = _numbered(until - first[layout.firsts] + 1)
        return slot, first[layout.firsts][slot] + number
    # Ends never decrease, so an event opens exactly those of its windows that its predecessor is not in.
    opens = first.copy()
    opens[1:] = np.maximum(first[1:], last[:-1] + 1)
    opens[layout.firsts] = first[layout.firsts]
    position, number = _numbered(np.maximum(last - opens + 1, 0))
    return layout.slot_of_position()[position], opens[position] + number


def _between(layout: Layout, slot: Ints, w: Ints, start: Ints, end: Ints) -> Ranges:
    """Windows over [start, end): neither end decreases within a slot."""
    lo = cut(layout.times, layout.offsets, slot, start)
    hi = cut(layout.times, layout.offsets, slot, end)
    return Ranges(slot, w, lo, hi, start, end, closes_at=end)
