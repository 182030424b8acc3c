"""Engines as windowers: what a profile reports of all keys at once.

    window-close   a report is a whole window, made by the first tick after its end: closed forms on columns
    any other      the model itself, event by event, one key after the other

On columns a time window n is [n·β, n·β + ω) of x = τ − t0 − 1: Sash's own time window, on a clock that each
key starts. For count windows the clock is the number of the event. An `EngineMemory` holds what a stream
remembers of the events that are gone; a bounded input has nothing to remember.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sash.arrays import Ints, Mask
from sash.operators.columns.layout import Layout
from sash.operators.kinds.clock_windows import ClockKind
from sash.operators.kinds.kind_base import Held
from sash.operators.windows.numbering import numbered
from sash.operators.windows.ranges import MISSING, NEVER, Ranges, RepeatedRanges, event_bounds
from sash.semantics.run_as_engine import EngineWindow
from sash.semantics.secret.engine_state import EngineState, refuse_too_many
from sash.semantics.secret.parameters import Pick, Report, Tick
from sash.semantics.secret.scope import ORIGINS, Axis
from sash.semantics.windows import TimeWindow


@dataclass(frozen=True)
class EngineMemory:
    """Of each slot, what its next reports depend on besides the events that are held."""

    base: Ints
    """How many events are gone."""
    start: Ints
    """t0 of time windows; MISSING before the first event."""
    since: Ints
    """The position of the last tick, up to which all is reported; MISSING before the first."""
    gone: Ints
    """The time of the last event that is gone; MISSING before the first."""
    lo: Ints
    hi: Ints
    """What was reported last, as numbers of the key's events."""


def on_columns(window: EngineWindow) -> bool:
    """Whether the profile's reports have a closed form."""
    report = window.profile.report
    if Report.WINDOW_CLOSE not in report or Report.PERIODIC in report:
        return False
    # A count window that nobody has entered may only be reported by a profile with neither of these.
    return window.kind is Axis.TIME or bool(report & {Report.NON_EMPTY, Report.CONTENT_CHANGE})


def closed_ranges(window: EngineWindow, layout: Layout, memory: EngineMemory) -> Ranges:
    """The reports of a profile with window-close that are not made yet, over the events that are held."""
    by_kind = _closed_times if window.kind is Axis.TIME else _closed_counts
    return by_kind(window, layout, memory)


def by_model(window: EngineWindow, layout: Layout, states: Iterable[EngineState]) -> Ranges:
    """The reports that the events which have not arrived make: each state goes on."""
    found = [
        (slot, base, extent, revision)
        for (slot, (base, events)), state in zip(enumerate(layout.events()), states, strict=True)
        for extent, revision in window.reports(events, state)
    ]
    ranges = Ranges.of((slot, base, extent) for slot, base, extent, _ in found)
    if not window.repeats:
        return ranges
    revisions = np.array([revision for *_, revision in found], np.int64)
    return RepeatedRanges.with_revisions(ranges, revisions)


def starts(window: EngineWindow, layout: Layout, memory: EngineMemory) -> Ints:
    """t0 of each slot, as the engine sees time: remembered, or fixed by the first event; else MISSING."""
    size, slide, origin = window.declared.size, window.declared.slide, window.profile.scope.time
    assert origin is not None
    assert origin.function is not None
    known = memory.start.copy()
    fresh = np.flatnonzero((memory.start == MISSING) & (layout.sizes > 0))
    first = layout.times[layout.offsets[fresh]] - window.shift
    if origin in ORIGINS:
        known[fresh] = origin.function(first, size, slide)  # type: ignore[arg-type]
    else:
        known[fresh] = [origin(time, size, slide) for time in first.tolist()]
    return known


def first_unreported(window: EngineWindow, since: Ints) -> Ints:
    """The least n ≥ 0 with n·β + ω > since: window n ends after the last tick; 0 when there was none."""
    size, slide = window.declared.size, window.declared.slide
    return np.where(since == MISSING, 0, np.maximum((since - size) // slide + 1, 0))


def own_clock(window: EngineWindow, layout: Layout, start: Ints) -> tuple[Layout, Ints]:
    """The layout with x = τ − t0 − 1 as its times, and what each slot's times were moved by."""
    moved = np.where(start == MISSING, 0, start) + window.shift + 1
    return replace(layout, times=layout.times - moved[layout.slot_of_position()]), moved


def _closed_times(window: EngineWindow, layout: Layout, memory: EngineMemory) -> Ranges:
    report, declared = window.profile.report, window.declared
    assert isinstance(declared, TimeWindow)
    plain = replace(declared, origin=0)
    own, moved = own_clock(window, layout, starts(window, layout, memory))
    since = np.where(memory.since == MISSING, MISSING, memory.since - moved)
    first = first_unreported(window, since)
    clock, held = ClockKind(plain, own.rows.schema), Held.all_of(own)
    if Report.CONTENT_CHANGE in report:
        found = clock.extents(held, *_changes(plain, own, first))
    else:
        last, empty = _last_closed(plain, own, first), Report.NON_EMPTY not in report
        if empty:
            refuse_too_many(int(np.maximum(last - first + 1, 0).sum()))
        found = clock.listed(held, first, last, empty=empty)
    base = own.offsets[found.slot]
    found = replace(found, lo=found.lo + base, hi=found.hi + base)
    found = found.where(found.hi < own.offsets[found.slot + 1])
    found = replace(
        found,
        id=(found.start + moved[found.slot] - window.shift) // declared.slide,
        start=found.start + moved[found.slot],
        end=found.end + moved[found.slot],
        closes_at=layout.times[found.hi],
    )
    if Report.NON_EMPTY in report:
        found = found.where(found.lo < found.hi)
    return _changed(found, layout, memory) if Report.CONTENT_CHANGE in report else found


def _last_closed(window: TimeWindow, own: Layout, first: Ints) -> Ints:
    """The last window that an event of the slot lies behind; that before `first` where there is none."""
    last, held = first - 1, np.flatnonzero(own.sizes > 0)
    newest = own.times[own.offsets[held + 1] - 1]
    last[held] = (newest - window.size) // window.slide
    return last


def _changes(window: TimeWindow, own: Layout, first: Ints) -> tuple[Ints, Ints]:
    """The windows from `first` on whose content may differ from the one before: `first` itself, those that
    an event is the first to enter, and those that it is the first to have left."""
    position = own.slot_of_position()
    enters, leaves = (own.times - window.size) // window.slide + 1, own.times // window.slide + 1
    slot = np.concatenate([np.arange(own.slots), position, position])
    w = np.maximum(np.concatenate([first, enters, leaves]), first[slot])
    order = np.lexsort((w, slot))
    slot, w = slot[order], w[order]
    differs = np.append(True, (np.diff(slot) != 0) | (np.diff(w) != 0))
    return slot[differs], w[differs]


def _changed(found: Ranges, layout: Layout, memory: EngineMemory) -> Ranges:
    """Without those that show what the slot's report before them shows; all empty contents are one."""
    moved = layout.offsets[:-1] - memory.base
    lo, hi = np.roll(found.lo, 1), np.roll(found.hi, 1)
    begins = np.flatnonzero(np.diff(found.slot, prepend=-1))
    slots = found.slot[begins]
    lo[begins], hi[begins] = memory.lo[slots] + moved[slots], memory.hi[slots] + moved[slots]
    same = (found.lo == lo) & (found.hi == hi) | (found.lo == found.hi) & (lo == hi)
    return found.where(~same)


def ticks(window: EngineWindow, layout: Layout, memory: EngineMemory) -> Mask:
    """Which of the held events tick: all, or those with another time than the one before."""
    ticking = np.ones(len(layout.times), np.bool_)
    if window.profile.tick_of(window.kind) is Tick.TIME:
        ticking[1:] = np.diff(layout.times) > 0
        begins = layout.sizes > 0
        ticking[layout.firsts] = layout.times[layout.firsts] > memory.gone[begins]
    return ticking


def first_end(window: EngineWindow, since: Ints) -> Ints:
    """The least end i0 + ω + n·β, n ≥ 0, of a window that holds an event (it is at least 1) and that no
    tick has passed (it is at least `since`)."""
    origin = window.profile.scope.count
    assert origin is not None
    size, slide = window.declared.size, window.declared.slide
    end = origin(1, size, slide) + size
    ahead: Ints = np.maximum(-((end - np.maximum(since, 1)) // slide), 0)
    return end + ahead * slide


def _closed_counts(window: EngineWindow, layout: Layout, memory: EngineMemory) -> Ranges:
    size, slide = window.declared.size, window.declared.slide
    first = first_end(window, memory.since)
    arrived = memory.base + layout.sizes
    slot, number = numbered(np.maximum((arrived - 1 + window.ahead - first) // slide + 1, 0))
    end = first[slot] + number * slide
    at = layout.offsets[slot] - memory.base[slot]  # where the key's event number 0 would stand
    # Event number `end` (from 0) is the first behind the window: it, or the next that ticks, reports it.
    # (Where the engine is ahead: the last one in it.)
    following = np.where(ticks(window, layout, memory), np.arange(len(layout.times)), NEVER)
    tick = np.minimum.accumulate(following[::-1])[::-1][at + end - window.ahead]
    chosen = (tick < layout.offsets[slot + 1]) & _picked(window.profile.pick, slot, tick)
    slot, end, at, tick = slot[chosen], end[chosen], at[chosen], tick[chosen]
    if slide > size and window.profile.pick is not Pick.ALL:
        seen = _number_seen(window, layout, memory, slot, tick)
        chosen = _is_news(window, memory, slot, seen)
        slot, end, at, tick = slot[chosen], end[chosen], at[chosen], tick[chosen]
    lo, hi = at + np.maximum(end - size, 0), at + end
    bounds = event_bounds(layout.times, lo, hi)
    return Ranges(slot, (end - size) // slide, lo, hi, *bounds, closes_at=layout.times[tick])


def _picked(pick: Pick, slot: Ints, tick: Ints) -> Mask:
    """Of the windows that one tick reports: the last, the first, or all."""
    differs = (np.diff(slot) != 0) | (np.diff(tick) != 0)
    match pick:
        case Pick.LATEST:
            return np.append(differs, True)[: len(slot)]
        case Pick.EARLIEST:
            return np.insert(differs, 0, True)[: len(slot)]
        case Pick.ALL:
            return np.ones(len(slot), np.bool_)


def _number_seen(
    window: EngineWindow, layout: Layout, memory: EngineMemory, slot: Ints, tick: Ints
) -> Ints:
    """The number of the event whose content the conditions on contents are about: the one that Pick takes
    of those that a tick passes, from the number of the previous tick to the one before its own."""
    own = memory.base[slot] + tick - layout.offsets[slot] + 1 + window.ahead
    if window.profile.pick is Pick.LATEST:
        return own - 1
    ticking = np.flatnonzero(ticks(window, layout, memory))
    before = np.insert(ticking, 0, -1)[np.searchsorted(ticking, tick)]
    return np.where(before >= layout.offsets[slot], own - (tick - before), memory.since[slot])


def _is_news(window: EngineWindow, memory: EngineMemory, slot: Ints, seen: Ints) -> Mask:
    """Whether the content at the number that is seen satisfies non-empty and content-change.

    Outside of gaps it holds that event, so it is neither empty nor what was reported before. In a gap it is
    empty, which is a change once the key has had a report; each report holds events.
    """
    origin, size, slide = window.profile.scope.count, window.declared.size, window.declared.slide
    assert origin is not None
    start = origin(1, size, slide)
    lower = start + np.maximum(-((start + size - seen) // slide), 0) * slide
    outside = lower < seen
    if Report.NON_EMPTY in window.profile.report:
        return outside
    first = np.full(len(memory.base), NEVER)
    np.minimum.at(first, slot[outside], np.flatnonzero(outside))
    return outside | (np.arange(len(slot)) > first[slot]) | (memory.hi > memory.lo)[slot]
