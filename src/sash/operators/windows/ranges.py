"""What a windower answers with: ranges over a layout, one entry per window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from sash.arrays import Ints, Mask
from sash.semantics.window import Extent

NEVER = np.iinfo(np.int64).max
"""A closing time that no watermark reaches: the window waits for an event that has not arrived."""

MISSING = np.iinfo(np.int64).min
"""A bound that is not there: the window holds no event to take its time from."""


@dataclass(frozen=True)
class Ranges:
    """Windows by slot, then by identifier. lo and hi are positions in the whole layout."""

    slot: Ints
    id: Ints
    lo: Ints
    hi: Ints
    start: Ints
    end: Ints
    closes_at: Ints

    def __len__(self) -> int:
        return len(self.id)

    @property
    def waits_for_nothing(self) -> Mask:
        """Whether the event that closes the window has arrived."""
        known: Mask = self.closes_at != NEVER
        return known

    @cached_property
    def longest(self) -> int:
        """How many events the window with the most has."""
        return int((self.hi - self.lo).max()) if len(self) else 0

    @cached_property
    def groups(self) -> Ints:
        """Where the ranges of each slot begin, and the number of ranges: lo and hi never decrease within a
        slot."""
        return groups_of(self.slot)

    @classmethod
    def none(cls) -> Ranges:
        nothing = np.empty(0, np.int64)
        return cls(nothing, nothing, nothing, nothing, nothing, nothing, nothing)

    @classmethod
    def of(cls, extents: Iterable[tuple[int, int, Extent]]) -> Ranges:
        """From extents as objects, each with its slot and the position of the slot's first event."""
        entries = [_entry(slot, base, extent) for slot, base, extent in extents]
        return cls(*np.ascontiguousarray(np.array(entries, np.int64).reshape(-1, 7).T))

    def numbered_from(self, first: Ints) -> Ranges:
        """With `first[slot]` added to every identifier."""
        return replace(self, id=self.id + first[self.slot])

    def with_slots(self, slot: Ints) -> Ranges:
        """The same windows, of slots that are numbered otherwise."""
        return replace(self, slot=slot)

    def where(self, chosen: Mask) -> Ranges:
        return self if chosen.all() else self.take(np.flatnonzero(chosen))

    def between(self, first: int, last: int) -> Ranges:
        """Those at first ≤ i < last, not copied."""
        return replace(
            self, **{field.name: getattr(self, field.name)[first:last] for field in fields(self)}
        )

    def take(self, indexes: Ints) -> Ranges:
        return replace(self, **{field.name: getattr(self, field.name)[indexes] for field in fields(self)})


@dataclass(frozen=True)
class RepeatedRanges(Ranges):
    """Of windows that are reported several times by themselves: one entry a report."""

    revision: Ints
    """How many reports of the same window came before."""

    @classmethod
    def with_revisions(cls, ranges: Ranges, revision: Ints) -> RepeatedRanges:
        columns = {field.name: getattr(ranges, field.name) for field in fields(Ranges)}
        return cls(**columns, revision=revision)


def groups_of(slot: Ints) -> Ints:
    """Where the ranges of each slot begin, and how many ranges there are.

    >>> groups_of(np.array([0, 0, 2])).tolist(), groups_of(np.array([], np.int64)).tolist()
    ([0, 2, 3], [0])
    """
    if not len(slot):
        return np.zeros(1, np.int64)
    return np.concatenate(([0], np.flatnonzero(slot[1:] != slot[:-1]) + 1, [len(slot)]))


def _entry(slot: int, base: int, extent: Extent) -> tuple[int, ...]:
    start = MISSING if extent.start is None else extent.start
    end = MISSING if extent.end is None else extent.end
    closes_at = NEVER if extent.closes_at is None else extent.closes_at
    return slot, extent.id, base + extent.lo, base + extent.hi, start, end, closes_at


def event_bounds(times: Ints, lo: Ints, hi: Ints) -> tuple[Ints, Ints]:
    """The times of the first and last event of each range."""
    if len(times) == 0:
        return np.full(len(lo), MISSING), np.full(len(lo), MISSING)
    held = lo < hi
    start = np.where(held, times[np.minimum(lo, len(times) - 1)], MISSING)
    end = np.where(held, times[np.maximum(hi - 1, 0)], MISSING)
    return start, end
