"""Windows that only grow: of the open window of a key only its fold is kept, or its rows for `.apply`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sash.arrays import Array, Ints, Mask
from sash.operators.bound_query import BoundQuery, BoundWhole
from sash.operators.engine.content_fingerprint import CONTENT, SIZE
from sash.operators.engine.groups.range_group import HeldWindows
from sash.operators.engine.groups.user_fold import ACCUMULATOR, Steps
from sash.operators.engine.lanes.element_layout import LaneAggregate
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.operators.engine.lanes.running_lane import RunningLane
from sash.operators.engine.operator_turn import Emitter, Turn
from sash.operators.engine.pending_events import Events
from sash.operators.engine.window_in_state import Track
from sash.operators.folding.elements import Elements
from sash.operators.folding.values import Values, one_each
from sash.operators.kinds.kind_base import GrowingKind, Held, Runs
from sash.operators.windows.numbering import numbered
from sash.operators.windows.ranges import NEVER, Ranges


class Mixed:
    """The open windows of some keys, each followed by the new events of its key."""

    def __init__(self, slots: Ints, has_open: Mask, events: Events) -> None:
        new = np.diff(events.offsets(slots))
        self.offsets = np.concatenate(([0], np.cumsum(new + has_open))).astype(np.int64)
        self.carried = np.zeros(int(self.offsets[-1]), np.bool_)
        self.carried[self.offsets[:-1][has_open]] = True
        self.slots, self.has_open, self.events = slots, has_open, events

    def merged(self, carried: Array, new: Array) -> Array:
        """A column of both; `carried` has an entry per key with an open window."""
        column = np.empty(len(self.carried), new.dtype)
        column[self.carried], column[~self.carried] = carried, new
        return column

    def runs(self, first: Ints, last: Ints, marks: Mask) -> Runs:
        """As window kinds see them; `first` and `last` are the times of the open windows."""
        time = self.events.time
        none = np.zeros(len(first), np.bool_)
        return Runs(
            self.offsets, self.merged(first, time), self.merged(last, time), self.carried,
            self.merged(none, marks),
        )  # fmt: skip


class FoldedWindows:
    """Windows over running folds and new events. See `operator_turn.Windows`."""

    def __init__(self, bound: BoundQuery, lane: RunningLane, mixed: Mixed, runs: Runs) -> None:
        self._bound, self._lane, self._mixed, self.runs = bound, lane, mixed, runs
        self._elements: dict[str, Elements] = {}

    def values(self, ranges: Ranges) -> Values:
        columns = {}
        if isinstance(self._bound, BoundWhole):
            aggregate = self._lane.form.aggregates[ACCUMULATOR]
            assert isinstance(aggregate.folder, Steps)
            table = aggregate.folder.results(self.fold(aggregate, ranges))
            return Values(np.arange(len(ranges)), table)
        for name in self._bound.aggregates:
            aggregate = self._lane.form.aggregates[name]
            columns[name] = aggregate.folder.lower(
                self.fold(aggregate, ranges), self._bound.output_type(name)
            )
        return one_each(columns, len(ranges))

    def content(self, ranges: Ranges) -> tuple[Ints, Ints]:
        content, size = (
            self.fold(self._lane.form.aggregates[name], ranges).columns[0] for name in (CONTENT, SIZE)
        )
        return content, size

    def rows(self, ranges: Ranges) -> tuple[pa.Table, Ranges]:
        raise AssertionError("a running fold has no rows")

    def fold(self, aggregate: LaneAggregate, ranges: Ranges) -> Elements:
        elements = self._elements_of(aggregate)
        return aggregate.folder.fold(elements, ranges.lo, ranges.hi, groups=ranges.groups)

    def _elements_of(self, aggregate: LaneAggregate) -> Elements:
        if aggregate.name not in self._elements:
            mixed = self._mixed
            new = aggregate.folder.lift(mixed.events.rows)
            before = self._lane.elements(aggregate, mixed.slots[mixed.has_open])
            pairs = zip(before.columns, new.columns, strict=True)
            known = np.ones(len(new), np.bool_) if new.known is None else new.known
            self._elements[aggregate.name] = Elements(
                tuple(mixed.merged(old, column) for old, column in pairs),
                mixed.merged(before.known, known) if before.known is not None else None,
            )
        return self._elements[aggregate.name]


class RunGroup:
    """One window of the query, whose windows are running folds."""

    def __init__(self, bound: BoundQuery, lane: RunningLane, track: Track) -> None:
        self.bound, self.lane, self.track = bound, lane, track
        self.tracks = [track]

    @property
    def kind(self) -> GrowingKind:  # type: ignore[type-arg]
        kind: GrowingKind = self.track.kind  # type: ignore[type-arg, assignment]
        return kind

    def process(self, turn: Turn, emit: Emitter) -> None:
        both = turn.final.plus(turn.open).ordered(self.bound.query.order) if len(turn.open) else turn.final
        windows, ranges = self._listed(turn.slots, both)
        emit.windows(turn, self.track, ranges, windows)
        if len(turn.open):
            windows, ranges = self._listed(turn.slots, turn.final)
        self._advance(turn, windows, ranges)

    def _listed(self, slots: Ints, events: Events) -> tuple[FoldedWindows, Ranges]:
        has_open = ~self.lane.is_empty(slots)
        mixed = Mixed(slots, has_open, events)
        runs = mixed.runs(*self.lane.bounds(slots[has_open]), marks_of(events, self.track))
        ranges = numbered_on(self.track, slots, self.kind.windows(runs))
        return FoldedWindows(self.bound, self.lane, mixed, runs), ranges

    def _advance(self, turn: Turn, windows: FoldedWindows, ranges: Ranges) -> None:
        over = ranges.closes_at <= turn.settled
        remember_over(self.track, turn.slots, ranges.where(over))
        still = ranges.where(~over)
        folds = {
            name: windows.fold(aggregate, still) for name, aggregate in self.lane.form.aggregates.items()
        }
        first, last = windows.runs.first[still.lo], windows.runs.last[still.hi - 1]
        self.lane.close(turn.slots)
        self.lane.open(turn.slots[still.slot], first, last, folds)

    def next_close(self, slots: Ints, now: int) -> Ints:
        is_open = ~self.lane.is_empty(slots)
        return closing(self.track, is_open, lambda some: self.lane.bounds(slots[some])[1])

    def expires(self, newest: Ints) -> Ints:
        return expiry(self.track, newest)

    def is_empty(self, slots: Ints) -> Mask:
        return self.lane.is_empty(slots)

    def forget(self, slots: Ints) -> None:
        self.lane.close(slots)


class Before:
    """What keys hold before new events are appended, which may move what is held."""

    def __init__(self, held: Held) -> None:
        self.head, self.count = held.head, held.count
        self.some: Mask = held.head < held.count
        keys = np.flatnonzero(self.some)
        self.first = held.time_at(keys, held.head[keys])
        self.last = held.time_at(keys, held.count[keys] - 1)


class RowRunGroup:
    """The same where a function needs the rows: the open window of a key is what its ring holds."""

    def __init__(self, bound: BoundQuery, lane: RingLane, track: Track) -> None:
        self.bound, self.lane, self.track = bound, lane, track
        self.tracks = [track]

    def process(self, turn: Turn, emit: Emitter) -> None:
        before = Before(self.lane.held(turn.slots))
        self._append(turn.final)
        held = self.lane.held(turn.slots)
        counts, final = held.count, self._listed(turn.slots, before, turn.final)
        ranges = final
        if len(turn.open):
            self._append(turn.open)
            held = self.lane.held(turn.slots)
            both = turn.final.plus(turn.open).ordered(self.lane.order)
            ranges = self._listed(turn.slots, before, both)
        emit.windows(turn, self.track, ranges, HeldWindows(self.bound, self.lane, held))
        self.lane.keep(turn.slots, counts)
        over = final.closes_at <= turn.settled
        remember_over(self.track, turn.slots, final.where(over))
        needed, still = counts.copy(), final.where(~over)
        needed[still.slot] = still.lo
        self.lane.let_go(turn.slots, needed)

    def _append(self, events: Events) -> None:
        if len(events):
            slots = events.slots()
            self.lane.append(slots, events.offsets(slots), events.rows, events.time)

    def _listed(self, slots: Ints, before: Before, events: Events) -> Ranges:
        """Windows as ranges of ordinals: an open window is everything that was held before."""
        mixed = Mixed(slots, before.some, events)
        kind: GrowingKind = self.track.kind  # type: ignore[type-arg, assignment]
        runs = mixed.runs(before.first, before.last, marks_of(events, self.track))
        ranges = numbered_on(self.track, slots, kind.windows(runs))
        key, number = numbered(np.diff(events.offsets(slots)))
        begin = mixed.merged(before.head[before.some], before.count[key] + number)
        end = mixed.merged(before.count[before.some], before.count[key] + number + 1)
        return replace(ranges, lo=begin[ranges.lo], hi=end[ranges.hi - 1])

    def next_close(self, slots: Ints, now: int) -> Ints:
        held = self.lane.held(slots)
        is_open = held.head < held.count
        return closing(self.track, is_open, lambda some: held.time_at(some, held.count[some] - 1))

    def expires(self, newest: Ints) -> Ints:
        return expiry(self.track, newest)

    def is_empty(self, slots: Ints) -> Mask:
        return self.lane.is_empty(slots)

    def forget(self, slots: Ints) -> None:
        self.lane.let_go(slots, np.full(len(slots), NEVER))


def closing(track: Track, is_open: Mask, last: Callable[[Ints], Ints]) -> Ints:
    """When time alone closes the open windows of keys, `last` being the times of their last events."""
    closes = np.full(len(is_open), NEVER)
    kind: GrowingKind = track.kind  # type: ignore[type-arg, assignment]
    if kind.closes_by_time:
        some = np.flatnonzero(is_open)
        closes[some] = kind.wakes(last(some))
    return closes


def expiry(track: Track, newest: Ints) -> Ints:
    """When keys have nothing left: not before their windows can close, and until then nothing is to do."""
    return track.kind.wakes(newest) if track.kind.forgets else np.full(len(newest), NEVER)


def marks_column(number: int) -> str:
    """Where events carry the value of the predicate of a window."""
    return f"__mark {number}"


def marks_of(events: Events, track: Track) -> Mask:
    name = marks_column(track.number)
    if name not in events.rows.column_names:
        return np.zeros(len(events), np.bool_)
    marks: Mask = events.rows[name].to_numpy(zero_copy_only=False)
    return marks


def numbered_on(track: Track, slots: Ints, ranges: Ranges) -> Ranges:
    """With the numbers of the windows that are over before them."""
    kind: GrowingKind = track.kind  # type: ignore[type-arg, assignment]
    return ranges.numbered_from(track.memory(slots)["next_id"]) if kind.numbered else ranges


def remember_over(track: Track, slots: Ints, over: Ranges) -> None:
    kind: GrowingKind = track.kind  # type: ignore[type-arg, assignment]
    if kind.numbered:
        memory = track.memory(slots)
        memory["next_id"] += np.bincount(over.slot, minlength=len(slots))
        track.remember(slots, memory)
