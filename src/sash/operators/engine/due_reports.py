"""What was reported of the windows that may still change: for queries that correct themselves.

A report is due as `semantics.reference` defines it, window by window; here for all of them at once. The
content of a window is known by a fingerprint (see `content`). Windows that are reported once are due when
they close: `turn.closed`, by the `closes_at` of their kind, and `bounded` for a bounded input.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import pyarrow as pa

from sash.arrays import Ints, Mask
from sash.operators.windows.ranges import Ranges
from sash.semantics.query import When


@dataclass(frozen=True)
class Ledger:
    """By slot, then by identifier: the last report of each window."""

    slot: Ints
    id: Ints
    start: Ints
    end: Ints
    closes_at: Ints
    content: Ints
    size: Ints
    revision: Ints
    closed: Ints

    @classmethod
    def blank(cls) -> Ledger:
        return cls(*(np.empty(0, np.int64) for _ in fields(cls)))

    def __len__(self) -> int:
        return len(self.slot)

    def take(self, indexes: Ints) -> Ledger:
        return Ledger(*(getattr(self, field.name)[indexes] for field in fields(self)))

    def table(self) -> pa.Table:
        return pa.table({field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def of_table(cls, table: pa.Table) -> Ledger:
        return cls(*(table[field.name].to_numpy() for field in fields(cls)))

    def plus(self, other: Ledger) -> Ledger:
        return _sorted(_joined(self, other)) if len(self) else other

    def without(self, settled: int) -> Ledger:
        """What can still change once events are final up to `settled`."""
        return self.take(np.flatnonzero(self.closes_at > settled)) if len(self) else self

    def without_slots(self, slots: Ints) -> Ledger:
        return self.take(np.flatnonzero(~np.isin(self.slot, slots))) if len(slots) else self

    def with_slots(self, new_slot: Ints) -> Ledger:
        return replace(self, slot=new_slot[self.slot])


@dataclass(frozen=True)
class Due:
    """The windows to report, those that are no more, and what is then known of all."""

    reported: Ints
    """Which of the given windows."""
    revisions: Ints
    dissolved: Ranges
    dissolved_revisions: Ints
    ledger: Ledger


def due_reports(
    ledger: Ledger, ranges: Ranges, content: Ints, size: Ints, closed: Mask, *, when: When, tick: bool,
    flush: bool,
) -> Due:  # fmt: skip
    """Which windows are to be reported now, by the rules of `emit`."""
    was = _matches(ledger, ranges)
    known = was >= 0
    changed = np.ones(len(ranges), np.bool_)
    entries = was[known]
    changed[known] = (ledger.content[entries] != content[known]) | (ledger.size[entries] != size[known])
    first_close = closed.copy()
    first_close[known] &= ledger.closed[entries] == 0
    match when:
        case When.CLOSE:
            due = closed & changed
        case When.CHANGE | When.ARRIVAL:
            due = changed & (closed | (size > 0) | known)
        case When.EVERY:
            due = first_close | (changed & (closed | ((size > 0) & tick)))
    revision = np.zeros(len(ranges), np.int64)
    revision[known] = ledger.revision[entries] + 1
    entry = Ledger(
        ranges.slot, ranges.id, ranges.start, ranges.end, ranges.closes_at, content, size, revision,
        closed.astype(np.int64),
    )  # fmt: skip
    closes_at = ledger.closes_at.copy()
    closes_at[entries] = ranges.closes_at[known]  # it may have closed without a word: nothing had changed
    ledger = replace(ledger, closes_at=closes_at)
    gone = np.ones(len(ledger), np.bool_)
    gone[entries] = False
    dissolved = gone & (ledger.size > 0)
    if not (tick or flush or when is When.CHANGE):
        dissolved &= ledger.closed > 0
    lost = ledger.take(np.flatnonzero(dissolved))
    blank = np.zeros(len(lost), np.int64)
    lost = replace(lost, content=blank, size=blank, revision=lost.revision + 1)
    empty = Ranges(lost.slot, lost.id, blank, blank, lost.start, lost.end, lost.closes_at)
    reported = np.flatnonzero(due)
    kept = np.ones(len(ledger), np.bool_)
    kept[was[known & due]] = False
    kept[dissolved] = False
    return Due(
        reported=reported,
        revisions=revision[reported],
        dissolved=empty,
        dissolved_revisions=lost.revision,
        ledger=_sorted(_joined(ledger.take(np.flatnonzero(kept)), entry.take(reported), lost)),
    )


def _matches(ledger: Ledger, ranges: Ranges) -> Ints:
    """For each range, the index of its entry in the ledger, or −1."""
    pairs = np.stack([np.append(ledger.slot, ranges.slot), np.append(ledger.id, ranges.id)], axis=1)
    _, codes = np.unique(pairs, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    entries = np.full(len(pairs), -1)
    entries[codes[: len(ledger)]] = np.arange(len(ledger))
    found: Ints = entries[codes[len(ledger) :]]
    return found


def _joined(*ledgers: Ledger) -> Ledger:
    return Ledger(*(np.concatenate([getattr(one, f.name) for one in ledgers]) for f in fields(Ledger)))


def _sorted(ledger: Ledger) -> Ledger:
    return ledger.take(np.lexsort((ledger.id, ledger.slot)))
