"""Where sorted bounds fall among the sorted numbers of each key: two pointers, one pass over both."""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.compiler.machine_code import kept_on_disk
from sash.arrays import Ints, Numbers


def cut(numbers: Numbers, offsets: Ints, slots: Ints, bounds: Numbers, *, after: bool = False) -> Ints:
    """For each bound b of slot s: the first position p of the slot with numbers[p] ≥ b (`after`: > b), or
    the slot's end.

    Slots never decrease, and bounds never decrease within a slot: so p only moves forward.

    >>> times, offsets = np.array([1, 5, 9, 2, 4]), np.array([0, 3, 5])
    >>> cut(times, offsets, np.array([0, 0, 1]), np.array([5, 10, 3]))
    array([1, 3, 4])
    >>> cut(times, offsets, np.array([0, 0, 1]), np.array([5, 10, 3]), after=True)
    array([2, 3, 4])
    """
    cuts = np.empty(len(bounds), np.int64)
    _cut_all(numbers, offsets, slots, bounds, after, cuts)
    return cuts


def _cut(numbers: Numbers, offsets: Ints, slots: Ints, bounds: Numbers, after: bool, cuts: Ints) -> None:
    slot, position, end = -1, 0, 0
    for index in range(len(bounds)):
        if slots[index] != slot:
            slot = slots[index]
            position, end = offsets[slot], offsets[slot + 1]
        bound = bounds[index]
        while position < end and (numbers[position] < bound or (after and numbers[position] == bound)):
            position += 1
        cuts[index] = position


_cut_all = kept_on_disk(nogil=True)(_cut)
