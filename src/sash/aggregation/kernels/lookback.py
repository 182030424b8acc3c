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

import numpy as np
import numpy.typing as npt

from sash.errors import ArgumentError, OutOfOrder

Positions = npt.NDArray[np.int64]


def lookback_ranges(offsets: Positions, times: Positions, width: int, lo: Positions, hi: Positions) -> int:
    """Fill lo and hi; answers the position of the first event that is older than the one before it, or −1."""
    for key in range(len(offsets) - 1):
        head, end = offsets[key], offsets[key + 1]
        i = head
        while i < end:
            now = times[i]
            after = i + 1
            while after < end and times[after] == now:
                after += 1
            if after < end and times[after] < now:
                return after
            # now − width could leave int64; the difference of two times in the key cannot, if they are close.
            while head < i and now - times[head] >= width:
                head += 1
            for j in range(i, after):
                lo[j] = head
                hi[j] = after
            i = after
    return -1
