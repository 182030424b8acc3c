"""Tweets of numbered words, and their keys: the words that wordcount counts, the pairs of paircount."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit
from numpy.typing import NDArray

from sash.operators import Input

Ints = NDArray[np.int64]

DISTANCES = {"L": 3, "M": 10, "H": 1 << 30}
"""How far two words of a tweet may be apart to be a pair: low, medium and high duplication."""

PER_SECOND = 25
"""The paper's 4.3 million tweets of two days."""

_COLUMNS = {"t": pa.int64(), "id": pa.int64(), "user": pa.int64(), "text": pa.string()}
TWEETS = Input(pa.schema(_COLUMNS), time="t")


def tweets(n: int, *, seed: int = 1, vocabulary: int = 10_000) -> pa.Table:
    """n tweets of 4 to 28 words each; word frequencies fall as 1 / rank, as in natural language."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(4, 29, n)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    words = np.minimum(np.exp(draw.random(offsets[-1]) * np.log(vocabulary)), vocabulary - 1).astype(
        np.int64
    )
    text = pa.array(["w" + " w".join(map(str, words[a:b])) for a, b in pairwise(offsets)])
    times = np.arange(n) * 1_000 // PER_SECOND
    columns: list[Any] = [times, np.arange(n), draw.integers(0, 500, n), text]
    return pa.table(columns, schema=TWEETS.schema)


def words_of(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Split at spaces; a word is its number.

    >>> words_of(pa.chunked_array([["w7 w40 w7", "w1"]])).to_pylist()
    [[7, 40, 7], [1]]
    """
    split = pc.split_pattern(text.combine_chunks(), " ")
    numbers = pc.utf8_slice_codeunits(split.flatten(), 1).cast(pa.int64())
    offsets = np.concatenate(([0], np.cumsum(split.value_lengths().to_numpy()))).astype(np.int32)
    return pa.chunked_array([pa.ListArray.from_arrays(offsets, numbers)])


def key_sets(lists: pa.ChunkedArray, distance: int) -> tuple[Ints, Ints]:
    """f_MK of the paper (Operator 5), each key once: the words of a tweet for distance 0, else its pairs.

    A pair is ⟨W[i], W[j]⟩ with i < j ≤ i + distance, in this order, here (W[i] << 32) | W[j]. A word that
    is repeated is at several places, and can be paired with itself.
    """
    column = lists.combine_chunks()
    counts = column.value_lengths().fill_null(0).to_numpy()
    offsets = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    reach = np.minimum(np.maximum(counts - 1, 0), distance) if distance else np.ones_like(counts)
    rooms = counts.astype(np.int64) * reach
    ends, keys = np.zeros(len(offsets), np.int64), np.empty(int(rooms.sum()), np.int64)
    # Twice the keys of the longest tweet, so that a search ends soon.
    slots = 1 << (2 * int(rooms.max(initial=1))).bit_length()
    _sets(
        offsets, np.array(column.flatten(), np.int64), distance,
        np.full(slots, -1, np.int64), np.empty(slots, np.int64), ends, keys,
    )  # fmt: skip
    return ends, keys[: ends[-1]]


@njit(cache=True, nogil=True)
def _sets(
    offsets: Ints, words: Ints, distance: int, row_of_slot: Ints, key_of_slot: Ints, ends: Ints, keys: Ints
) -> None:
    n, mask = 0, len(row_of_slot) - 1
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            first, last = (i + 1, min(offsets[row + 1], i + distance + 1)) if distance else (i, i + 1)
            for j in range(first, last):
                key = (words[i] << 32) | words[j] if distance else words[i]
                slot = ((key ^ (key >> 29)) * -7046029254386353131 >> 40) & mask
                # What earlier tweets have left in a slot does not count.
                while row_of_slot[slot] == row and key_of_slot[slot] != key:
                    slot = (slot + 1) & mask
                if row_of_slot[slot] != row:
                    row_of_slot[slot], key_of_slot[slot] = row, key
                    keys[n] = key
                    n += 1
        ends[row + 1] = n
