"""Rows by key, in CSR layout: a stable counting sort, in two passes over the codes.

    order[offsets[k] : offsets[k + 1]]  =  the rows of key k, in their order of arrival

>>> import numpy as np
>>> offsets, order = rows_by_key(np.array([1, 0, 1, 1]), 2)
>>> offsets.tolist(), order.tolist()
([0, 1, 4], [1, 0, 2, 3])
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.arrays import Ints, read_only
from sash.errors import ArgumentError


def rows_by_key(codes: npt.NDArray[np.integer], keys: int) -> tuple[Ints, Ints]:
    """Offsets and order of rows whose keys are coded 0 … keys − 1."""
    view = read_only(codes.astype(np.int32 if codes.dtype.itemsize <= 4 else np.int64, copy=False))
    offsets, order = np.zeros(keys + 1, np.int64), np.empty(len(codes), np.int64)
    bad = kernel_of(counting_sort)(view, offsets, order)
    if bad >= 0:
        raise ArgumentError("codes", f"{codes[bad]} at {bad}", f"from 0 to {keys - 1}")
    return offsets, order


def is_sorted(first: npt.NDArray[np.integer], *then: npt.NDArray[np.integer]) -> bool:
    """Whether rows stand in the order of one or two columns, the first counting more.

    >>> is_sorted(np.array([1, 1, 2]), np.array([5, 7, 0])), is_sorted(np.array([1, 1]), np.array([7, 5]))
    (True, False)
    """
    return bool(kernel_of(stands_sorted)(*map(read_only, (first, then[0] if then else first))))


def stands_sorted(first: Ints, then: Ints) -> bool:
    """… two columns: the second may be the first once more."""
    for row in range(1, len(first)):
        if first[row] < first[row - 1] or (first[row] == first[row - 1] and then[row] < then[row - 1]):
            return False
    return True


def counting_sort(codes: npt.NDArray[np.integer], offsets: Ints, order: Ints) -> int:
    """Fill offsets (zeros on entry) and order; answers the first row with a bad code, or −1."""
    keys = len(offsets) - 1
    for row in range(len(codes)):
        if codes[row] < 0 or codes[row] >= keys:
            return row
        offsets[codes[row] + 1] += 1
    for key in range(keys):
        offsets[key + 1] += offsets[key]
    # While rows are placed, offsets[k] is where the next row of k goes: the end of k, once all are placed.
    for row in range(len(codes)):
        order[offsets[codes[row]]] = row
        offsets[codes[row]] += 1
    for key in range(keys, 0, -1):
        offsets[key] = offsets[key - 1]
    offsets[0] = 0
    return -1
