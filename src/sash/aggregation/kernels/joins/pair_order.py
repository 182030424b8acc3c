"""The order of pairs: by (time, left, right), where many pairs share few times.

A counting sort by time, then each time's few pairs by the two other numbers: for a million pairs several
times as fast as a general sort by three columns.

>>> pair_order(np.array([7, 5, 7, 5]), np.array([1, 2, 0, 2]), np.array([0, 9, 3, 4])).tolist()
[3, 1, 2, 0]
"""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.rows.csr import rows_by_key
from sash.arrays import Ints

_SPARSE = 4
"""Times are counted one by one unless there are this many times more of them than pairs."""


def pair_order(time: Ints, left: Ints, right: Ints) -> Ints:
    """Positions by (time, left, right)."""
    if len(time) < 2:
        return np.arange(len(time))
    one, two = left - left.min(), right - right.min()
    size = int(two.max()) + 1
    if (int(one.max()) + 1) * size >= 2**63:
        return np.lexsort((right, left, time))
    codes = time - time.min()
    if codes.max() >= _SPARSE * len(time):
        codes = np.unique(codes, return_inverse=True)[1]
    offsets, order = rows_by_key(codes, int(codes.max()) + 1)
    kernel_of(sort_runs)(offsets, one * size + two, order)
    return order


def sort_runs(offsets: Ints, keys: Ints, order: Ints) -> None:
    """Sort each order[offsets[k] : offsets[k + 1]] by the keys of what it holds."""
    for run in range(len(offsets) - 1):
        lo, hi = offsets[run], offsets[run + 1]
        if hi - lo > 1:
            rows = order[lo:hi].copy()
            order[lo:hi] = rows[np.argsort(keys[rows])]
