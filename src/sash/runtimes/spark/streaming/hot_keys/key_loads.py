"""How many rows of a key a batch has, over how much time: from samples in buckets that have many rows.

Keys are known by their hash. A sample costs the same however many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from sash.arrays import Ints

SAMPLE = 2048
"""Rows of a bucket that are looked at."""
PART = 0.05
"""Of the rows of its bucket: keys with less are no candidates."""


class KeyLoad(NamedTuple):
    """Of the keys with one hash."""

    rows: int
    oldest: int
    newest: int

    @property
    def span(self) -> int:
        return self.newest - self.oldest

    def plus(self, other: KeyLoad) -> KeyLoad:
        return KeyLoad(
            self.rows + other.rows, min(self.oldest, other.oldest), max(self.newest, other.newest)
        )


KeyLoads: TypeAlias = "dict[int, KeyLoad]"
"""By hash."""


def sampled(rows: int) -> tuple[Ints, float]:
    """Some of so many rows, and how many each of them stands for. The same for the same number of rows, so
    that what is found in a batch does not change when it is executed again."""
    if rows <= SAMPLE:
        return np.arange(rows), 1.0
    return np.sort(np.random.default_rng(rows).integers(0, rows, SAMPLE)), rows / SAMPLE


def loads_of(keys: Ints, times: Ints, weight: float = 1.0) -> KeyLoads:
    """Of rows that stand for so many each; without keys that have few of them.

    >>> loads_of(np.array([7, 7, -1, 7]), np.array([3, 5, 4, 9]), 10.0)
    {-1: KeyLoad(rows=10, oldest=4, newest=4), 7: KeyLoad(rows=30, oldest=3, newest=9)}
    """
    distinct, codes, counts = np.unique(keys, return_inverse=True, return_counts=True)
    found = {}
    for number in np.flatnonzero(counts >= PART * len(keys)).tolist():
        mine = times[codes == number]
        found[int(distinct[number])] = KeyLoad(
            round(int(counts[number]) * weight), int(mine.min()), int(mine.max())
        )
    return found


def together(parts: Iterable[Mapping[int, KeyLoad]]) -> KeyLoads:
    """What several buckets have found of the same batch."""
    found: KeyLoads = {}
    for part in parts:
        for key, load in part.items():
            found[key] = load.plus(found[key]) if key in found else load
    return found
