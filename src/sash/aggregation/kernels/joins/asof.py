"""The answer to each row of a side among the rows of the other: a merge by time, with one slot per key.

    backward    both sides from their first row on; a slot holds the last right row of its key so far
    forward     both sides from their last row on; a slot holds the first right row of its key from here
    nearest     the nearer of the two; of equally near ones, the earlier

Both sides are sorted by (time, arrival), whatever their keys. So rows are not moved: a merge reads times
and codes in order, and only slots at random.

>>> left, right = (np.array([0, 0, 1]), np.array([5, 9, 9])), (np.array([0, 0, 0]), np.array([4, 4, 8]))
>>> before, after = (matches(way, *left, *right, keys=2, reach=None) for way in ("backward", "forward"))
>>> before.tolist(), after.tolist(), nearer(left[1], right[1], before, after).tolist()
([1, 2, -1], [2, -1, -1], [1, 2, -1])
"""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.joins.pairs import read_only
from sash.arrays import Ints
from sash.semantics.asof import Direction

_FARTHEST = 2**62


def matches(
    direction: Direction, left_codes: Ints, left_times: Ints, right_codes: Ints, right_times: Ints, *,
    keys: int, reach: int | None,
) -> Ints:  # fmt: skip
    """For each left row the position of the right row that answers it, or −1: backward or forward. Codes
    are from 0 to keys − 1; `reach` is how far apart in time the two may be."""
    columns = tuple(map(read_only, (left_codes, left_times, right_codes, right_times)))
    farthest = _FARTHEST if reach is None else min(reach, _FARTHEST)
    found = np.empty(len(left_codes), np.int64)
    kernel = kernel_of(backward) if direction == "backward" else kernel_of(forward)
    kernel(*columns, farthest, np.full(keys, -1), found)
    return found


def nearer(left_times: Ints, right_times: Ints, before: Ints, after: Ints) -> Ints:
    """Of the rows before and after each, the nearer."""
    found = before.copy()
    kernel_of(put_nearer)(*map(read_only, (left_times, right_times, after)), found)
    return found


def backward(
    left_codes: Ints, left_times: Ints, right_codes: Ints, right_times: Ints, farthest: int,
    slots: Ints, found: Ints,
) -> None:  # fmt: skip
    """Fill `found`; slots are −1 on entry."""
    right = 0
    for left in range(len(left_times)):
        time = left_times[left]
        while right < len(right_times) and right_times[right] <= time:
            slots[right_codes[right]] = right
            right += 1
        slot = slots[left_codes[left]]
        if slot >= 0 and time - right_times[slot] > farthest:
            slot = -1
        found[left] = slot


def forward(
    left_codes: Ints, left_times: Ints, right_codes: Ints, right_times: Ints, farthest: int,
    slots: Ints, found: Ints,
) -> None:  # fmt: skip
    """Fill `found`; slots are −1 on entry."""
    right = len(right_times) - 1
    for left in range(len(left_times) - 1, -1, -1):
        time = left_times[left]
        while right >= 0 and right_times[right] >= time:
            slot = slots[right_codes[right]]
            # Of rows of one time the last stays, which comes first in this direction.
            if slot < 0 or right_times[slot] != right_times[right]:
                slots[right_codes[right]] = right
            right -= 1
        slot = slots[left_codes[left]]
        if slot >= 0 and right_times[slot] - time > farthest:
            slot = -1
        found[left] = slot


def put_nearer(left_times: Ints, right_times: Ints, after: Ints, found: Ints) -> None:
    """Put into `found`, which has the row before each, the row after it where that is nearer."""
    for left in range(len(left_times)):
        if after[left] >= 0 and (
            found[left] < 0
            or right_times[after[left]] - left_times[left] < left_times[left] - right_times[found[left]]
        ):
            found[left] = after[left]
