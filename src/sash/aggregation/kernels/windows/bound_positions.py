"""Where sorted bounds fall among the sorted numbers of each key: two pointers, one pass over both.

And where the look-backs of all events do, (τ − size, τ]: bounds that the numbers have themselves.
"""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.compiler.machine_code_on_disk import kept_on_disk
from sash.arrays import Ints, Numbers, read_only


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


def look_back(times: Ints, offsets: Ints, size: int) -> tuple[Ints, Ints]:
    """For each event at τ: the positions lo ≤ p < hi of its slot with τ − size < times[p] ≤ τ.

    >>> lo, hi = look_back(np.array([1, 5, 5, 9, 2, 4]), np.array([0, 4, 6]), 5)
    >>> lo.tolist(), hi.tolist()
    ([0, 0, 0, 1, 4, 4], [1, 3, 3, 4, 5, 6])
    """
    lo, hi = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
    _look_back_of_all(read_only(times), read_only(offsets), size, lo, hi)
    return lo, hi


def _look_back(times: Ints, offsets: Ints, size: int, lo: Ints, hi: Ints) -> None:
    for slot in range(len(offsets) - 1):
        begin = end = offsets[slot]
        until = offsets[slot + 1]
        for position in range(begin, until):
            time = times[position]
            while times[begin] <= time - size:
                begin += 1
            if end <= position:
                end = position + 1
                while end < until and times[end] == time:
                    end += 1
            lo[position], hi[position] = begin, end


_look_back_of_all = kept_on_disk(nogil=True)(_look_back)
