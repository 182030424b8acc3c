"""Which windows are reported in a turn, and which were reported and are no more.

    reported once             when they close: the watermark has passed the `closes_at` of their kind
    early, or corrected       by the rules of `emit`, and only if their content has changed since

`semantics.reference` defines it window by window; here for all of them at once. A bounded input is a turn
that ends everything (`bounded_input`). Rows of `.latest` are due by `groups.latest_rows_due`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sash.arrays import Ints, Mask
from sash.operators.engine.report_ledger import Ledger, in_order, joined
from sash.operators.windows.ranges import Ranges
from sash.semantics.query import When


def closed(ranges: Ranges, *, now: int, flush: bool) -> Mask:
    """Which windows the watermark has passed; at the end of the input all are."""
    if flush:
        return np.ones(len(ranges), np.bool_)
    passed: Mask = ranges.closes_at <= now
    return passed


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
        ledger=in_order(joined(ledger.take(np.flatnonzero(kept)), entry.take(reported), lost)),
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
