"""Sets of keys in rows of O+ operators, and the share of each key among threads or processes. (On Spark,
buckets of keys have another hash: `runtimes/spark/stateful/key_sets.py`.)

    offsets[r] … offsets[r + 1]     the keys of row r
    share(k) = ⌊n · mix(k) / 2⁶⁴⌋   mix: the finaliser of SplitMix64 (Steele, Lea, Flood: OOPSLA 2014), of
                                    which the upper 32 bits count (no division: Lemire, TOMACS 2019)

>>> import numpy as np
>>> offsets, keys = without_repeats(np.array([0, 3, 3, 5]), np.array([7, 8, 7, 1, 1]))
>>> offsets.tolist(), keys.tolist()
([0, 2, 2, 3], [7, 8, 1])
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sash.aggregation.kernels.compiler.machine_code_on_disk import kept_on_disk
from sash.arrays import Ints

QUADRATIC = 64
"""Rows up to this length are searched, longer ones are sorted: a set of hashtags is mostly short."""


def without_repeats(offsets: Ints, keys: Ints) -> tuple[Ints, Ints]:
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


def by_share(offsets: Ints, keys: Ints, positions: Ints, shares: int) -> tuple[Ints, Ints, Ints]:
    """The pairs of a row's position and one of its keys, grouped by the share of the key and in their order
    within a share: where each share begins, the positions and the keys."""
    begins = np.zeros(shares + 1, np.int64)
    events, grouped = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    # Machine code wraps around silently; interpreted, numpy would warn of it.
    with np.errstate(over="ignore"):
        _all_by_share(offsets, keys, positions, np.empty(len(keys), np.uint32), begins, events, grouped)
    return begins, events, grouped


def mix(key: int) -> np.uint64:
    """Every bit of the key changes half of the bits of the answer."""
    x = np.uint64(key)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _by_share(
    offsets: Ints,
    keys: Ints,
    positions: Ints,
    share: NDArray[np.uint32],
    begins: Ints,
    events: Ints,
    grouped: Ints,
) -> None:
    shares, half = np.uint64(len(begins) - 1), np.uint64(32)
    # A loop that only mixes works on several keys at once; with the counts in it, on one after the other.
    for i in range(len(keys)):
        share[i] = ((_mixed(keys[i]) >> half) * shares) >> half
    # Unsigned places, here and below, cannot mean 'from the end': the test for that is a third of the time.
    for i in range(len(keys)):
        begins[np.uintp(share[i]) + np.uintp(1)] += 1
    for number in range(len(begins) - 1):
        begins[number + 1] += begins[number]
    # While pairs are placed, begins[s] is where the next pair of s goes; in the end, the end of s.
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            own = np.uintp(share[i])
            at = np.uintp(begins[own])
            events[at], grouped[at] = positions[row], keys[i]
            begins[own] += 1
    for number in range(len(begins) - 1, 0, -1):
        begins[number] = begins[number - 1]
    begins[0] = 0


_compiled = kept_on_disk(nogil=True)
_all_distinct, _mixed, _all_by_share = _compiled(_distinct), _compiled(mix), _compiled(_by_share)
