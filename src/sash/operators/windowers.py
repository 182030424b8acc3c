"""Windowers: from the layout of a batch to ranges, for all keys at once. WHICH events, never HOW they fold.

One function a window kind, chosen by its type; each is tested against the definition in `semantics`. Kinds
without a function of their own here are evaluated by their definition, event by event.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from sash.aggregation.kernels.cuts import cut
from sash.operators.clock_windows import clock_ranges, numbered, windows_in
from sash.operators.engine_ranges import engine_ranges, on_columns
from sash.operators.layout import Layout
from sash.operators.ranges import NEVER, Ranges, event_bounds
from sash.semantics.run_as import EngineWindow
from sash.semantics.window import Window
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
    if isinstance(window, EngineWindow):
        return on_columns(window)
    return _ranges.dispatch(type(window)) is not _ranges.dispatch(object)


def ranges_of(window: Window, layout: Layout, *, horizon: int, empty: bool = False) -> Ranges:
    """By definition: the extents of each key, one event after the other."""
    return Ranges.of(
        (slot, base, extent)
        for slot, (base, events) in enumerate(layout.events())
        for extent in window.extents(events, horizon=horizon, empty=empty)
    )


@singledispatch
def _ranges(window: Window, layout: Layout, horizon: int, empty: bool) -> Ranges:
    return ranges_of(window, layout, horizon=horizon, empty=empty)


@_ranges.register
def _(window: CountWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    sizes = np.diff(layout.offsets)
    slot, w = numbered(-(-sizes // window.slide))
    base = layout.offsets[slot]
    lo = base + w * window.slide
    hi = np.minimum(lo + window.size, base + sizes[slot])
    start, end = event_bounds(layout.times, lo, hi)
    return Ranges(slot, w, lo, hi, start, end, closes_at=np.where(hi - lo == window.size, end, NEVER))


@_ranges.register
def _(window: TimeWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    return clock_ranges(window, layout, *windows_in(window, layout, horizon, empty))


@_ranges.register
def _(window: CumulateWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    return clock_ranges(window, layout, *windows_in(window, layout, horizon, empty))


@_ranges.register
def _(window: SlideByTupleWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    slot, w = numbered(np.diff(layout.offsets) // window.slide)
    trigger = layout.times[layout.offsets[slot] + (w + 1) * window.slide - 1]
    lo = cut(layout.times, layout.offsets, slot, trigger - window.size + 1)
    hi = cut(layout.times, layout.offsets, slot, trigger + 1)
    start, end = event_bounds(layout.times, lo, hi)
    return Ranges(slot, w, lo, hi, start, end, closes_at=trigger + 1)


@_ranges.register
def _(window: SlideByTimeWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    first = (layout.times[layout.firsts] - window.origin) // window.slide
    slot, number = numbered((horizon - window.origin) // window.slide - first + 1)
    return instants(window, layout, slot, first[slot] + number)


def instants(window: SlideByTimeWindow, layout: Layout, slot: Ints, w: Ints) -> Ranges:
    """The given windows of slots that have events."""
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


@_ranges.register
def _(window: EngineWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    return engine_ranges(window, layout)
