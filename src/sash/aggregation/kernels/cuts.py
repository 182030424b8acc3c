"""Where sorted bounds fall among the sorted times of each key: two pointers, one pass over both."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def cut(times: Ints, offsets: Ints, slots: Ints, bounds: Ints) -> Ints:
    """For each bound b of slot s: the first position p of the slot with times[p] ≥ b, or the slot's end.

    Slots never decrease, and bounds never decrease within a slot: so p only moves forward.
    """
    cuts = np.empty(len(bounds), np.int64)
    slot, position, end = -1, 0, 0
    for index in range(len(bounds)):
        if slots[index] != slot:
            slot = slots[index]
            position, end = offsets[slot], offsets[slot + 1]
        while position < end and times[position] < bounds[index]:
            position += 1
        cuts[index] = position
    return cuts
