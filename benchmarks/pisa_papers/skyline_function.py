"""The skyline of many points, compiled: those that no other point is as large as in every feature.

Points are taken by falling sum, so that no later one dominates an earlier one, and each is compared with
the skyline so far until one dominates it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Points = NDArray[np.float64]


def skyline(points: Points) -> Points:
    """Of the rows of `points`.

    >>> skyline(np.array([[1.0, 1.0], [3.0, 0.0], [2.0, 2.0], [0.0, 3.0]])).tolist()
    [[2.0, 2.0], [3.0, 0.0], [0.0, 3.0]]
    """
    order = np.argsort(-points.sum(axis=1), kind="stable")
    return _kept(np.ascontiguousarray(points[order]))


@njit(cache=True, nogil=True)
def _kept(points: Points) -> Points:
    kept, n = np.empty_like(points), 0
    for row in range(len(points)):
        dominated = False
        for other in range(n):
            dominated = True
            for feature in range(points.shape[1]):
                if kept[other, feature] < points[row, feature]:
                    dominated = False
                    break
            if dominated:
                break
        if not dominated:
            kept[n] = points[row]
            n += 1
    return kept[:n].copy()
