"""A dense number for each distinct integer of a column, in one pass, by a hash table.

    distinct[codes[i]]  =  values[i],        codes are numbered as values first appear

>>> import numpy as np
>>> codes, distinct = dense_codes(np.array([7, 5, 7, 9]))
>>> codes.tolist(), distinct.tolist()
([0, 1, 0, 2], [7, 5, 9])
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.folds.keyed_panes import FREE, ShortInts, enter, place
from sash.arrays import Ints, read_only

Codes = npt.NDArray[np.int32]

SMALLEST = 2**12
"""Slots of the first table: with it, and the values that it leads to, in the fastest cache."""


def dense_codes(values: Ints) -> tuple[Codes, Ints]:
    """The code of each value, and the value of each code."""
    values, codes = read_only(values), np.empty(len(values), np.int32)
    index, distinct = _table(SMALLEST)
    row = used = 0
    while True:
        row, used = kernel_of(number_values)(values, row, used, index, distinct, codes)
        if row == len(values):
            return codes, distinct[:used].copy()
        index, more = _table(4 * len(index))
        more[:used] = distinct[:used]
        distinct = more
        kernel_of(enter)(index, distinct, 1, used)


def number_values(
    values: Ints, row: int, used: int, index: ShortInts, distinct: Ints, codes: Codes
) -> tuple[int, int]:
    """Go on from `row`, with so many distinct values found; returns both at the end, or when the table is
    half full."""
    while row < len(values):
        value = values[row]
        slot = place(index, distinct, 1, value)
        code = index[np.uintp(slot)]
        if code == FREE:
            if used == len(distinct):
                break
            code = used
            index[np.uintp(slot)] = code
            distinct[used] = value
            used += 1
        codes[row] = code
        row += 1
    return row, used


def _table(slots: int) -> tuple[ShortInts, Ints]:
    return np.full(slots, FREE, np.int32), np.empty(slots // 2, np.int64)
