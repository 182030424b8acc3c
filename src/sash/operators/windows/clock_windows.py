"""Windows that the clock cuts, on columns: which of them there are, and where they begin and end.

M(τ) = [first … last]        the windows that hold an event with time τ
E(w) = [start, end)          the times that window w holds, which never decrease with w
"""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.windows.cuts import cut
from sash.arrays import Ints
from sash.operators.columns.layout import Layout
from sash.operators.windows.ranges import Ranges
from sash.semantics.windows import CumulateWindow, TimeWindow


def numbered(counts: Ints) -> tuple[Ints, Ints]:
    """Slots repeated counts[slot] times, and a number from 0 within each.

    >>> numbered(np.array([2, 0, 1]))
    (array([0, 0, 2]), array([0, 1, 0]))
    """
    slot = np.repeat(np.arange(len(counts)), counts)
    return slot, np.arange(len(slot)) - np.repeat(np.cumsum(counts) - counts, counts)


def clock_mapping(window: TimeWindow | CumulateWindow, times: Ints) -> tuple[Ints, Ints]:
    """The first and the last window of each time: `mapping`, on columns."""
    offset = times - window.origin
    if isinstance(window, TimeWindow):
        return (offset - window.size) // window.slide + 1, offset // window.slide
    block, offset = np.divmod(offset, window.size)
    return block * window.steps + offset // window.step, (block + 1) * window.steps - 1


def windows_in(
    window: TimeWindow | CumulateWindow, layout: Layout, horizon: int, empty: bool
) -> tuple[Ints, Ints]:
    """The windows that the clock cuts: (slot, identifier) of those that hold an event; with `empty`, of all
    from the first of a slot to the last that begins by the horizon."""
    if not empty:
        return occupied(window, layout)
    first, _ = clock_mapping(window, layout.times[layout.firsts])
    slot, number = numbered(window.mapping(horizon).stop - first)
    return slot, first[slot] + number


def occupied(
    window: TimeWindow | CumulateWindow, layout: Layout, *, within: range | None = None
) -> tuple[Ints, Ints]:
    """The windows that hold an event, as (slot, identifier); only those `within` a range, if given."""
    first, last = clock_mapping(window, layout.times)
    if within is not None:
        first, last = np.maximum(first, within.start), np.minimum(last, within.stop - 1)
    # Ends never decrease, so an event opens exactly those of its windows that its predecessor is not in.
    opens = first.copy()
    opens[1:] = np.maximum(first[1:], last[:-1] + 1)
    opens[layout.firsts] = first[layout.firsts]
    position, number = numbered(np.maximum(last - opens + 1, 0))
    return layout.slot_of_position()[position], opens[position] + number


def clock_ranges(window: TimeWindow | CumulateWindow, layout: Layout, slot: Ints, w: Ints) -> Ranges:
    """The given windows, whether or not they hold an event: over [start, end), which never decrease."""
    if isinstance(window, TimeWindow):
        start = window.origin + w * window.slide
        end = start + window.size
    else:
        start = window.origin + w // window.steps * window.size
        end = start + (w % window.steps + 1) * window.step
    lo = cut(layout.times, layout.offsets, slot, start)
    hi = cut(layout.times, layout.offsets, slot, end)
    return Ranges(slot, w, lo, hi, start, end, closes_at=end)
