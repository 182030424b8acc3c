"""Sets of keys in rows, and the share of each key.

    offsets[r] … offsets[r + 1]   the keys of row r
    share(k) = mix(k) mod n       mix: the finaliser of SplitMix64 (Steele, Lea, Flood: OOPSLA 2014)

>>> import numpy as np
>>> offsets, keys = distinct(np.array([0, 3, 3, 5]), np.array([7, 8, 7, 1, 1]))
>>> offsets.tolist(), keys.tolist()
([0, 2, 2, 3], [7, 8, 1])
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]

QUADRATIC = 64
"""Rows up to this length are searched, longer ones are sorted: a set of hashtags is mostly short."""


def distinct(offsets: Ints, keys: Ints) -> tuple[Ints, Ints]:
    """The same rows with every key once; in the order of first occurrence, except in very long rows."""
    kept, out = np.zeros(len(offsets), np.int64), np.empty(len(keys), np.int64)
    _all_distinct(offsets, keys, kept, out)
    return kept, out[: kept[-1]]


def _distinct(offsets: Ints, keys: Ints, kept: Ints, out: Ints) -> None:
    n = 0
    for row in range(len(offsets) - 1):
        begin, end, first = offsets[row], offsets[row + 1], n
        if end - begin > QUADRATIC:
            for key in np.unique(keys[begin:end]):
                out[n] = key
                n += 1
        else:
            for i in range(begin, end):
                fresh = True
                for j in range(first, n):
                    if out[j] == keys[i]:
                        fresh = False
                        break
                if fresh:
                    out[n] = keys[i]
                    n += 1
        kept[row + 1] = n


def by_share(event: Ints, key: Ints, shares: int) -> tuple[Ints, Ints, Ints]:
    """Pairs of event and key grouped by the share of the key, in their order within a share: where each
    share begins, the events and the keys."""
    offsets = np.zeros(shares + 1, np.int64)
    events, keys = np.empty(len(event), np.int64), np.empty(len(event), np.int64)
    # Machine code wraps around silently; interpreted, numpy would warn of it.
    with np.errstate(over="ignore"):
        _all_by_share(event, key, np.empty(len(event), np.int32), offsets, events, keys)
    return offsets, events, keys


def mix(key: int) -> np.uint64:
    """Every bit of the key changes half of the bits of the answer."""
    x = np.uint64(key)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _by_share(
    event: Ints, key: Ints, share: NDArray[np.int32], offsets: Ints, events: Ints, keys: Ints
) -> None:
    shares = np.uint64(len(offsets) - 1)
    for i in range(len(key)):
        share[i] = _mixed(key[i]) % shares
        offsets[share[i] + 1] += 1
    for number in range(len(offsets) - 1):
        offsets[number + 1] += offsets[number]
    # While pairs are placed, offsets[s] is where the next pair of s goes; in the end, the end of s.
    for i in range(len(key)):
        at = offsets[share[i]]
        events[at], keys[at] = event[i], key[i]
        offsets[share[i]] += 1
    for number in range(len(offsets) - 1, 0, -1):
        offsets[number] = offsets[number - 1]
    offsets[0] = 0


_compiled = njit(cache=True, nogil=True)
_all_distinct, _mixed, _all_by_share = _compiled(_distinct), _compiled(mix), _compiled(_by_share)
