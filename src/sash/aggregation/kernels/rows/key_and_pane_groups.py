"""Groups of rows by key and pane, in one pass over rows that stand in any order.

    group of row i  =  (slots[i], ⌊(times[i] − origin) / length⌋),      numbered as they appear

Neighbours mostly lie in one pane, so that there is a division only where a pane begins.

>>> import numpy as np
>>> codes, firsts = pane_cells(np.array([0, 1, 0, 0]), np.array([5, 6, 7, 12]), origin=0, length=10)
>>> codes.tolist(), firsts.tolist()
([0, 1, 0, 2], [0, 1, 3])
"""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.arrays import Ints

SPARSE = 4
"""Cells a row, of which most would then be empty: too many to have a table of them."""


def pane_cells(slots: Ints, times: Ints, *, origin: int, length: int) -> tuple[Ints, Ints] | None:
    """The group of each row and the first row of each group; None when cells are too many for a table."""
    if not len(times):
        return slots, slots
    first = (int(times.min()) - origin) // length
    span = (int(times.max()) - origin) // length - first + 1
    cells = span * (int(slots.max()) + 1)
    if cells > SPARSE * len(times):
        return None
    codes, firsts = np.empty(len(times), np.int64), np.empty(min(cells, len(times)), np.int64)
    seen = np.full(cells, -1)
    groups = kernel_of(number_cells)(
        _frozen(slots), _frozen(times), origin, length, first, span, seen, codes, firsts
    )
    return codes, firsts[:groups]


def number_cells(
    slots: Ints, times: Ints, origin: int, length: int, first: int, span: int,
    seen: Ints, codes: Ints, firsts: Ints,
) -> int:  # fmt: skip
    """Fill codes and firsts; `seen` (−1 on entry) becomes the group of each cell. Answers how many."""
    groups, begin, end, pane = 0, 0, 0, 0
    for row in range(len(times)):
        time = times[row]
        if time < begin or time >= end:
            number = (time - origin) // length
            begin = origin + number * length
            end, pane = begin + length, number - first
        cell = slots[row] * span + pane
        if seen[cell] < 0:
            seen[cell] = groups
            firsts[groups] = row
            groups += 1
        codes[row] = seen[cell]
    return groups


def _frozen(array: Ints) -> Ints:
    view = np.ascontiguousarray(array, np.int64).view()
    view.flags.writeable = False
    return view
