"""Windowers: from the layout of a batch to ranges, for all keys at once. WHICH events, never HOW they fold.

One function a window kind, chosen by its type; each is tested against the definition in `semantics`. Kinds
without a function of their own here are evaluated by their definition, event by event; so are delta windows
over numbers that 64 bits do not hold.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.kernels.cuts import cut
from sash.operators import deltas, row_predicates
from sash.operators.clock_windows import clock_ranges, numbered, windows_in
from sash.operators.engine_ranges import engine_ranges, on_columns
from sash.operators.layout import Layout
from sash.operators.ranges import NEVER, Ranges, event_bounds
from sash.semantics.run_as import EngineWindow
from sash.semantics.window import Window
from sash.semantics.windows import (
    CountWindow,
    CumulateWindow,
    DeltaWindow,
    PunctuatedWindow,
    SessionWindow,
    SlideByTimeWindow,
    SlideByTupleWindow,
    ThresholdWindow,
    TimeWindow,
)

Ints = NDArray[np.int64]


def window_ranges(window: Window, layout: Layout, *, horizon: int, empty: bool = False) -> Ranges:
    """All windows over the layout; those without events only with `empty`."""
    if not len(layout.times):
        nothing = np.empty(0, np.int64)
        return Ranges(nothing, nothing, nothing, nothing, nothing, nothing, nothing)
    return _ranges(window, layout, horizon, empty)


def vectorised(window: Window, schema: pa.Schema) -> bool:
    """Whether this window is found on columns, over events of this schema."""
    match window:
        case EngineWindow():
            return on_columns(window)
        case DeltaWindow():
            return deltas.on_columns(window, schema.field(window.attribute).type)
        case ThresholdWindow() | PunctuatedWindow():
            return row_predicates.on_columns(window.predicate, schema)
    return _ranges.dispatch(type(window)) is not _ranges.dispatch(object)


def misfits_of(window: Window, layout: Layout) -> dict[int, str]:
    """The positions of the events that this window cannot place, and why not."""
    found = deltas.misfits(window, layout) if isinstance(window, DeltaWindow) else None
    if found is not None:
        return found
    return {
        base + event.ordinal: reason
        for base, events in layout.events()
        for event, reason in window.place(events)[1]
    }


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
def _(window: ThresholdWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    inside = row_predicates.truths(window, layout)
    ends, begins = inside.copy(), inside.copy()
    ends[:-1] &= ~inside[1:] | _last(layout)[:-1]
    begins[1:] &= ~inside[:-1] | _last(layout)[:-1]
    lo, hi = np.flatnonzero(begins), np.flatnonzero(ends) + 1
    slot, w = _by_slot(layout, lo)
    after = np.append(layout.times, NEVER)[hi]
    closes_at = np.where(hi < layout.offsets[slot + 1], after, NEVER)
    return Ranges(slot, w, lo, hi, layout.times[lo], layout.times[hi - 1], closes_at)


@_ranges.register
def _(window: PunctuatedWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    punctuation = row_predicates.truths(window, layout)
    hi = np.flatnonzero(punctuation | _last(layout)) + 1
    lo = np.append(0, hi[:-1])
    slot, w = _by_slot(layout, lo)
    end = layout.times[hi - 1]
    return Ranges(slot, w, lo, hi, layout.times[lo], end, np.where(punctuation[hi - 1], end, NEVER))


def _last(layout: Layout) -> NDArray[np.bool_]:
    """Which events are the last of their slot."""
    last = np.zeros(len(layout.times), np.bool_)
    last[layout.offsets[1:][layout.sizes > 0] - 1] = True
    return last


def _by_slot(layout: Layout, positions: Ints) -> tuple[Ints, Ints]:
    """The slots of these increasing positions, and a number from 0 within each."""
    slot = np.searchsorted(layout.offsets, positions, side="right") - 1
    return numbered(np.bincount(slot, minlength=layout.slots))


@_ranges.register
def _(window: DeltaWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    by_delta = None if deltas.misfits(window, layout) else deltas.Deltas.of(window, layout)
    if by_delta is None:
        return ranges_of(window, layout, horizon=horizon, empty=empty)
    return by_delta.ranges(empty=empty)


@_ranges.register
def _(window: EngineWindow, layout: Layout, horizon: int, empty: bool) -> Ranges:
    return engine_ranges(window, layout)
