"""Windows that are ranges of kept elements, and share the lane that keeps them."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.state.rings import COUNT
from sash.arrays import Ints, Mask
from sash.operators.bound_query import BoundQuery, BoundWhole
from sash.operators.engine.content_fingerprint import CONTENT, SIZE
from sash.operators.engine.groups.policy_group import PolicySlides
from sash.operators.engine.lanes.element_layout import TIME
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.operators.engine.operator_turn import Emitter, Turn
from sash.operators.engine.pending_events import Events
from sash.operators.engine.window_in_state import Track
from sash.operators.folding.elements import Elements
from sash.operators.folding.panes import Panes, group_by
from sash.operators.folding.values import Values, one_each, values_of_whole
from sash.operators.kinds.kind_base import Held, RangeKind
from sash.operators.kinds.look_back import LookBackKind
from sash.operators.windows.ranges import NEVER, Ranges


class HeldWindows:
    """Windows over the elements of a lane. See `operator_turn.Windows`.

    The ranges of several windows may be `dealt` out by turns, because they share most of what their folds
    read; their values are then those of the first window, followed by those of the second, …
    """

    def __init__(
        self, bound: BoundQuery, lane: RingLane, held: Held, *, window: int = 0, dealt: int = 1
    ) -> None:
        self._bound, self._lane, self._held = bound, lane, held
        self._window, self._dealt = window, dealt

    def values(self, ranges: Ranges) -> Values:
        if isinstance(self._bound, BoundWhole):
            return values_of_whole(self._bound, *self.rows(ranges))
        names = list(self._bound.aggregates)
        columns = {
            name: self._lane.form.aggregates[name].folder.lower(folds, self._bound.output_type(name))
            for name, folds in self._folds(names, ranges)
        }
        return one_each(columns, len(ranges))

    def content(self, ranges: Ranges) -> tuple[Ints, Ints]:
        content, size = (folds.columns[0] for _, folds in self._folds([CONTENT, SIZE], ranges))
        return content, size

    def _folds(self, names: list[str], ranges: Ranges) -> list[tuple[str, Elements]]:
        found = self._lane.folds_of(names, self._held, ranges, window=self._window, dealt=self._dealt)
        return [(name, found[name]) for name in names]

    def rows(self, ranges: Ranges) -> tuple[pa.Table, Ranges]:
        form = self._lane.form
        columns = list(self._bound.columns) if form.whole_rows else list(form.numbers)
        rows, lo, hi = self._lane.gathered(self._held, ranges, columns)
        return rows, replace(ranges, lo=lo, hi=hi)


class RangeGroup:
    """One lane and the windows over it. Panes are elements that are folded early."""

    def __init__(
        self, bound: BoundQuery, lane: RingLane, tracks: list[Track], *, panes: Panes | None = None,
        policy: PolicySlides | None = None,
    ) -> None:  # fmt: skip
        self.bound, self.lane, self.tracks, self.panes, self.policy = bound, lane, tracks, panes, policy

    def process(self, turn: Turn, emit: Emitter) -> None:
        final, open_ = self._placed(turn, emit)
        self.append(final)
        if len(open_):
            counts = self.lane.slots.rows[turn.slots, self.lane.word + COUNT]
            some, last = self.lane.last(turn.slots)
            self.append(open_)
        held = self._held(turn.slots)
        for window, track in enumerate(self.tracks):
            windows = HeldWindows(self.bound, self.lane, held, window=window)
            kind: RangeKind = track.kind  # type: ignore[type-arg, assignment]
            ranges = kind.ranges(held, track.memory(turn.slots), turn.moment)
            emit.windows(turn, track, ranges, windows)
        if len(open_):
            self.lane.keep(turn.slots, counts)
            self.lane.replace_last(turn.slots[some], last[some])
            held = self._held(turn.slots)
        self.advance(turn, held)

    def features(self, turn: Turn, wanted: Ints) -> dict[int, pa.Table]:
        """The values of each look-back at these of the turn's events."""
        self.append(turn.final)
        if len(turn.open):
            counts = self.lane.slots.rows[turn.slots, self.lane.word + COUNT]
            self.append(turn.open)
        held, found = self.lane.held(turn.slots), dict[int, pa.Table]()
        if len(wanted):
            events = turn.events
            which = np.searchsorted(turn.slots, events.slot[wanted])
            offsets = events.offsets(turn.slots)
            ordinals = (held.count - np.diff(offsets))[which] + wanted - offsets[which]
            kinds, memories = self._look_backs, [track.memory(turn.slots) for track in self.tracks]
            ranges = LookBackKind.of_all(kinds, memories, held, which, ordinals)
            values = HeldWindows(self.bound, self.lane, held, dealt=len(kinds)).values(ranges).columns
            for at, track in enumerate(self.tracks):
                found[track.number] = values.slice(at * len(which), len(which))
        if len(turn.open):
            self.lane.keep(turn.slots, counts)
            held = self.lane.held(turn.slots)
        self.advance(turn, held)
        return found

    def _held(self, slots: Ints) -> Held:
        return self.lane.held(slots, policy=self.policy.over(slots) if self.policy else None)

    def _placed(self, turn: Turn, emit: Emitter) -> tuple[Events, Events]:
        """The events that have a place in the windows of this lane."""
        (track, *others) = self.tracks
        if not track.kind.places:
            return turn.final, turn.open
        assert not others, "a window that displaces events has a lane of its own"
        both = turn.final.plus(turn.open).ordered(self.lane.order) if len(turn.open) else turn.final
        memory = track.memory(turn.slots)
        reasons = track.kind.misfits(both.rows, both.offsets(turn.slots), self._held(turn.slots), memory)
        track.remember(turn.slots, memory)
        if not reasons:
            return turn.final, turn.open
        emit.displaced(turn, track, both, reasons)
        has_place = np.ones(len(both), np.bool_)
        has_place[list(reasons)] = False
        is_final = np.isin(both.sequence, turn.final.sequence)
        return both.where(has_place & is_final), both.where(has_place & ~is_final)

    def append(self, events: Events) -> None:
        if not len(events):
            return
        if self.panes is not None:
            self._append_panes(self.panes, events)
            return
        slots = events.slots()
        self.lane.append(slots, events.offsets(slots), events.rows, events.time)

    def _append_panes(self, panes: Panes, events: Events) -> None:
        """Several parts of one pane are one element; the last element of a key may be a part of it, too."""
        slot, start, parts = events.slot, events.time, events.rows
        if ((np.diff(slot) == 0) & (np.diff(start) == 0)).any():
            slot, start, parts = _merged(panes, slot, start, parts)
        first = np.flatnonzero(np.diff(slot, prepend=-1))
        slots, added = slot[first], np.diff(np.append(first, len(slot)))
        words, _ = self.lane.form.words(parts, start)
        some, last = self.lane.last(slots)
        grown = np.flatnonzero(some & (last[:, TIME] == start[first]))
        if len(grown):
            tails = self.lane.pane_rows(last[grown], [field.name for field in panes.parts])
            both = pa.concat_tables([tails, parts.take(pa.array(first[grown]))])
            twice = np.tile(np.arange(len(grown)), 2)
            whole = pa.table(
                panes.fold_panes(both, twice, groups=len(grown)), schema=pa.schema(panes.parts)
            )
            self.lane.replace_last(slots[grown], self.lane.form.words(whole, start[first[grown]])[0])
            kept = np.ones(len(slot), np.bool_)
            kept[first[grown]] = False
            words = words[kept]
            added[grown] -= 1
        self.lane.append_words(slots, added, words)

    def advance(self, turn: Turn, held: Held) -> None:
        memories = [track.memory(turn.slots) for track in self.tracks]
        if self._looks_back:
            needed = LookBackKind.advance_all(self._look_backs, memories, held, turn.settled)
        else:
            needed = np.full(len(turn.slots), NEVER)
            for track, memory in zip(self.tracks, memories, strict=True):
                kind: RangeKind = track.kind  # type: ignore[type-arg, assignment]
                needed = np.minimum(needed, kind.advance(held, memory, turn.settled))
        for track, memory in zip(self.tracks, memories, strict=True):
            track.remember(turn.slots, memory)
        self.lane.let_go(turn.slots, needed)

    @cached_property
    def _looks_back(self) -> bool:
        """Whether all its windows are look-backs, which are handled together."""
        return all(type(track.kind) is LookBackKind for track in self.tracks)

    @property
    def _look_backs(self) -> list[LookBackKind]:
        return [cast(LookBackKind, track.kind) for track in self.tracks]

    def next_close(self, slots: Ints, now: int) -> Ints:
        """When time alone closes the next window of each key."""
        closes = np.full(len(slots), NEVER)
        if self._looks_back:
            return closes  # only an event gives them something to do
        held = self.lane.held(slots)
        for track in self.tracks:
            kind: RangeKind = track.kind  # type: ignore[type-arg, assignment]
            closes = np.minimum(closes, kind.next_close(held, track.memory(slots), now))
        return closes

    def expires(self, newest: Ints) -> Ints:
        """When keys have nothing left that a window needs."""
        expiries = np.zeros_like(newest)
        for track in self.tracks:
            kind: RangeKind = track.kind  # type: ignore[type-arg, assignment]
            expiries = np.maximum(expiries, kind.expires(newest))
        return expiries

    def is_empty(self, slots: Ints) -> Mask:
        return self.lane.is_empty(slots)

    def forget(self, slots: Ints) -> None:
        """Let everything go."""
        self.lane.let_go(slots, np.full(len(slots), NEVER))


def _merged(panes: Panes, slot: Ints, start: Ints, parts: pa.Table) -> tuple[Ints, Ints, pa.Table]:
    """One row for each slot and start, in order."""
    codes, chosen = group_by(slot, start)
    folded = pa.table(panes.fold_panes(parts, codes, groups=len(chosen)), schema=pa.schema(panes.parts))
    slot, start = slot[chosen], start[chosen]
    order = np.lexsort((start, slot))
    return slot[order], start[order], folded.take(pa.array(order))
