"""Look-back ranges: for each event, the events of its key in the last W units of time.

    extent of event r  =  { τ : τ_r − W < τ ≤ τ_r }

Events with equal times see each other, whatever their order: the ends are the same for all of them.
One pass with two pointers over the events of a key, which are sorted by time.

>>> import numpy as np
>>> lo, hi = lookback(np.array([0, 3]), np.array([10, 11, 11]), 1)
>>> lo.tolist(), hi.tolist()
([0, 1, 1], [1, 3, 3])
"""

from __future__ import annotations

from functools import cache

import numpy as np

from sash.aggregation.kernels.compiler.machine import Kernel, build
from sash.arrays import Ints
from sash.errors import ArgumentError, OutOfOrder


def lookback(offsets: Ints, times: Ints, width: int) -> tuple[Ints, Ints]:
    """The ranges (lo, hi) of each event, as positions in `times`.

    `offsets` is CSR: key k owns times[offsets[k] : offsets[k + 1]]. All keys together must span less than
    2⁶³ units of time, which microseconds do for 292,000 years.
    """
    if width <= 0:
        raise ArgumentError("width", width, "a positive length of time")
    ready = tuple(np.ascontiguousarray(array, np.int64).view() for array in (offsets, times))
    for view in ready:
        view.flags.writeable = False
    if len(offsets) < 1 or offsets[0] != 0 or offsets[-1] != len(times) or np.any(np.diff(offsets) < 0):
        raise ArgumentError(
            "offsets", offsets, f"never decreasing from 0 to the number of events, {len(times)}"
        )
    lo, hi = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
    bad = _kernel()(*ready, width, lo, hi)
    if bad >= 0:
        raise OutOfOrder(
            f"times must not decrease inside a key; {times[bad]} at {bad} follows {times[bad - 1]}"
        )
    return lo, hi


def lookback_ranges(offsets: Ints, times: Ints, width: int, lo: Ints, hi: Ints) -> int:
    """Fill lo and hi; answers the first event that is older than the one before it, or −1."""
    for key in range(len(offsets) - 1):
        head, end = offsets[key], offsets[key + 1]
        i = head
        while i < end:
            now = times[i]
            after = i + 1
            while after < end and times[after] == now:
                after += 1
            if after < end and times[after] < now:
                return int(after)
            # Differences, because now − width could leave int64.
            while head < i and now - times[head] >= width:
                head += 1
            for j in range(i, after):
                lo[j] = head
                hi[j] = after
            i = after
    return -1


@cache
def _kernel() -> Kernel:
    return build(lookback_ranges)
