"""Which windows are reported in a turn, and which were reported and are no more.

    reported once             when they close: the watermark has passed the `closes_at` of their kind
    early, or corrected       by the rules of `emit`, and only if their content has changed since

`semantics.reference` defines it window by window; here for all of them at once. A bounded input is a turn
that ends everything (`bounded_input`). Rows of `.latest` are due by `groups.latest_rows_due`, rows of
`.rolling(emit="arrival")` by `emit_on_arrival`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sash.arrays import Ints, Mask
from sash.operators.engine.reported_windows import ReportedWindows, in_order, joined
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
    remembered: ReportedWindows
    """The last report of each window, these included."""


def due_reports(
    earlier: ReportedWindows, ranges: Ranges, content: Ints, size: Ints, closed: Mask, *, when: When,
    tick: bool, flush: bool,
) -> Due:  # fmt: skip
    """Which windows are to be reported now, by the rules of `emit`."""
    was = _matches(earlier, ranges)
    known = was >= 0
    changed = np.ones(len(ranges), np.bool_)
    entries = was[known]
    changed[known] = (earlier.content[entries] != content[known]) | (earlier.size[entries] != size[known])
    first_close = closed.copy()
    first_close[known] &= earlier.closed[entries] == 0
    match when:
        case When.CLOSE:
            due = closed & changed
        case When.CHANGE | When.ARRIVAL:
            due = changed & (closed | (size > 0) | known)
        case When.EVERY:
            due = first_close | (changed & (closed | ((size > 0) & tick)))
    revision = np.zeros(len(ranges), np.int64)
    revision[known] = earlier.revision[entries] + 1
    entry = ReportedWindows(
        ranges.slot, ranges.id, ranges.start, ranges.end, ranges.closes_at, content, size, revision,
        closed.astype(np.int64),
    )  # fmt: skip
    closes_at = earlier.closes_at.copy()
    closes_at[entries] = ranges.closes_at[known]  # it may have closed without a word: nothing had changed
    earlier = replace(earlier, closes_at=closes_at)
    gone = np.ones(len(earlier), np.bool_)
    gone[entries] = False
    dissolved = gone & (earlier.size > 0)
    if not (tick or flush or when is When.CHANGE):
        dissolved &= earlier.closed > 0
    lost = earlier.take(np.flatnonzero(dissolved))
    blank = np.zeros(len(lost), np.int64)
    lost = replace(lost, content=blank, size=blank, revision=lost.revision + 1)
    empty = Ranges(lost.slot, lost.id, blank, blank, lost.start, lost.end, lost.closes_at)
    reported = np.flatnonzero(due)
    kept = np.ones(len(earlier), np.bool_)
    kept[was[known & due]] = False
    kept[dissolved] = False
    return Due(
        reported=reported,
        revisions=revision[reported],
        dissolved=empty,
        dissolved_revisions=lost.revision,
        remembered=in_order(joined(earlier.take(np.flatnonzero(kept)), entry.take(reported), lost)),
    )


def _matches(earlier: ReportedWindows, ranges: Ranges) -> Ints:
    """For each range, the index of its entry among the earlier reports, or −1."""
    pairs = np.stack([np.append(earlier.slot, ranges.slot), np.append(earlier.id, ranges.id)], axis=1)
    _, codes = np.unique(pairs, axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    entries = np.full(len(pairs), -1)
    entries[codes[: len(earlier)]] = np.arange(len(earlier))
    found: Ints = entries[codes[len(earlier) :]]
    return found
