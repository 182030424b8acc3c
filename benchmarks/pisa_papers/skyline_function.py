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


def union(a: Points, b: Points) -> Points:
    """The skyline of two skylines, which come by falling sum, as this one does. Points of one have to be
    compared with those of the other only, as far as these have no lower sum.

    >>> union(np.array([[2.0, 2.0], [3.0, 0.0]]), np.array([[4.0, 0.0], [2.0, 2.0]])).tolist()
    [[2.0, 2.0], [4.0, 0.0]]
    """
    sums = a.sum(axis=1), b.sum(axis=1)
    mine, others = _outside(a, b, *sums, True), _outside(b, a, *sums[::-1], False)
    points = np.concatenate((a[mine], b[others]))
    return points[np.argsort(-np.concatenate((sums[0][mine], sums[1][others])), kind="stable")]


@njit(cache=True, nogil=True)
def _outside(
    points: Points, others: Points, sums: Points, sums_of_others: Points, equal: bool
) -> NDArray[np.bool_]:
    """Which points no other is as large as in every feature; `equal` ones stay."""
    outside = np.ones(len(points), np.bool_)
    for row in range(len(points)):
        for other in range(len(others)):
            if sums_of_others[other] < sums[row]:
                break
            dominated, larger = True, False
            for feature in range(points.shape[1]):
                if others[other, feature] < points[row, feature]:
                    dominated = False
                    break
                if others[other, feature] > points[row, feature]:
                    larger = True
            if dominated and (larger or not equal):
                outside[row] = False
                break
    return outside


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
