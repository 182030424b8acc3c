"""Tweets as numbered words, and the pairs of near words that paircount counts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import NDArray

from sash.operators import Input

Ints = NDArray[np.int64]

DISTANCES = {"L": 3, "M": 10, "H": 1 << 30}
"""How far two words of a tweet may be apart to be a pair: low, medium and high duplication."""

_COLUMNS = {"t": pa.int64(), "id": pa.int64(), "user": pa.int64(), "text": pa.string()}
TWEETS = Input(pa.schema(_COLUMNS | {"words": pa.list_(pa.int64())}), time="t")


def tweets(n: int, *, seed: int = 1, vocabulary: int = 500, per_second: int = 1_000) -> pa.Table:
    """n tweets of 4 to 28 words each; word frequencies fall as 1 / rank, as in natural language."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(4, 29, n)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    words = np.minimum(np.exp(draw.random(offsets[-1]) * np.log(vocabulary)), vocabulary - 1).astype(
        np.int64
    )
    spelled = pa.ListArray.from_arrays(offsets.astype(np.int32), pa.array(words))
    text = pa.array(["w" + " w".join(map(str, words[a:b])) for a, b in pairwise(offsets)])
    times = np.arange(n) * 1_000 // per_second
    columns: list[Any] = [times, np.arange(n), draw.integers(0, 500, n), text, spelled]
    return pa.table(columns, schema=TWEETS.schema)


def pair_keys(lists: pa.ChunkedArray, distance: int) -> tuple[Ints, Ints]:
    """The pairs of different words at most `distance` apart, as (smaller << 32) | larger."""
    column = lists.combine_chunks()
    counts = column.value_lengths().fill_null(0).to_numpy()
    offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    reach = np.minimum(np.maximum(counts - 1, 0), distance)
    room = int((counts.astype(np.int64) * reach).sum())
    ends, keys = np.zeros(len(offsets), np.int64), np.empty(room, np.int64)
    longest = int(counts.max()) if len(counts) else 0
    _pairs(offsets, np.array(column.flatten(), np.int64), distance, np.empty(longest, np.int64), ends, keys)
    return ends, keys[: ends[-1]]


@njit(cache=True, nogil=True)
def _pairs(offsets: Ints, words: Ints, distance: int, once: Ints, ends: Ints, keys: Ints) -> None:
    n = 0
    for row in range(len(offsets) - 1):
        different, seen = 0, np.uint64(0)
        for at in range(offsets[row], offsets[row + 1]):
            # A word whose bit is not set is new; only the others are searched for.
            bit = np.uint64(1) << np.uint64(words[at] & 63)
            fresh = True
            if seen & bit:
                for other in range(different):
                    if once[other] == words[at]:
                        fresh = False
                        break
            seen |= bit
            if fresh:
                once[different] = words[at]
                different += 1
        for i in range(different):
            for j in range(i + 1, min(different, i + distance + 1)):
                keys[n] = (min(once[i], once[j]) << 32) | max(once[i], once[j])
                n += 1
        ends[row + 1] = n
