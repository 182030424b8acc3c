"""A hash index of keys: from the words of a key to the row that it has in a table, in O(1) for any number
of keys. Open addressing, linear probing; a key that leaves lets the ones behind it move up.

A key is a row of words (see `operators.engine.lanes.row_words`). A column of variable length is two words,
where its bytes begin and how many they are; `variable` marks the first of each such pair, and the bytes of
known keys lie in a heap, those of keys that are looked up in a buffer of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.aggregation.kernels.compiler.prefetching import AHEAD, prefetch
from sash.arrays import Bytes, Ints, Mask

_MULTIPLY = np.int64(-7046029254386353131)
_MORE = np.int64(-4658895280553007687)


def hash_keys(words: Ints, variable: Mask, data: Bytes, hashes: Ints) -> None:
    """A number for each key that depends on all of its bits (multiply and shift, as splitmix64 does)."""
    for row in range(words.shape[0]):
        total = np.int64(words.shape[1])
        word = 0
        while word < words.shape[1]:
            if variable[word]:
                begin, length = words[row, word], words[row, word + 1]
                total = _mixed(total ^ length)
                for at in range(begin, begin + max(length, np.int64(0))):
                    total = (total ^ np.int64(data[at])) * _MULTIPLY
                total = _mixed(total)
                word += 2
            else:
                total = _mixed(total ^ words[row, word])
                word += 1
        hashes[row] = total


def _mixed(x: Any) -> Any:
    x = (x ^ (x >> np.int64(29))) * _MULTIPLY
    return (x ^ (x >> np.int64(32))) * _MORE


def _home(hashed: Any, size: int) -> Any:
    return (hashed ^ (hashed >> np.int64(31))) & (size - 1)


def find_keys(
    index: Ints, slots: Ints, hash_word: int, first: int, hashes: Ints,
    words: Ints, variable: Mask, data: Bytes, heap: Bytes, found: Ints,
) -> None:  # fmt: skip
    """The slot of each key, or −1. `first` is where the words of the key begin in the row of a slot."""
    size = len(index)
    for row in range(len(hashes)):
        if row + 2 * AHEAD < len(hashes):
            prefetch(index, _home(hashes[row + 2 * AHEAD], size), 0)
        if row + AHEAD < len(hashes):
            likely = index[_home(hashes[row + AHEAD], size), 0] - 1
            prefetch(slots, likely, hash_word)
            prefetch(slots, likely, first)
        found[row] = -1
        at = _home(hashes[row], size)
        while index[at, 0] > 0:
            slot = index[at, 0] - 1
            if slots[slot, hash_word] == hashes[row] and _same(
                slots, slot, first, words, row, variable, data, heap
            ):
                found[row] = slot
                break
            at = (at + 1) & (size - 1)


def _same(
    slots: Ints, slot: int, first: int, words: Ints, row: int, variable: Mask, data: Bytes, heap: Bytes
) -> bool:
    word = 0
    while word < words.shape[1]:
        if variable[word]:
            length = words[row, word + 1]
            if slots[slot, first + word + 1] != length:
                return False
            ours, theirs = words[row, word], slots[slot, first + word]
            for at in range(length):
                if data[ours + at] != heap[theirs + at]:
                    return False
            word += 2
        else:
            if slots[slot, first + word] != words[row, word]:
                return False
            word += 1
    return True


def add_keys(index: Ints, slots: Ints, hash_word: int, added: Ints) -> None:
    """Enter slots, whose keys are not there yet, into an index that has room."""
    size = len(index)
    for row in range(len(added)):
        at = _home(slots[added[row], hash_word], size)
        while index[at, 0] > 0:
            at = (at + 1) & (size - 1)
        index[at, 0] = added[row] + 1


def drop_keys(index: Ints, slots: Ints, hash_word: int, dropped: Ints) -> None:
    """Take slots out of the index."""
    size = len(index)
    for row in range(len(dropped)):
        at = _home(slots[dropped[row], hash_word], size)
        while index[at, 0] != dropped[row] + 1:
            at = (at + 1) & (size - 1)
        gap = at
        while True:
            at = (at + 1) & (size - 1)
            if index[at, 0] == 0:
                break
            home = _home(slots[index[at, 0] - 1, hash_word], size)
            # Move up whatever would no longer be found behind the gap.
            if (at - home) & (size - 1) >= (at - gap) & (size - 1):
                index[gap, 0] = index[at, 0]
                gap = at
        index[gap, 0] = 0


def prefetch_rows(slots: Ints, which: Ints) -> None:
    """Begin to read the rows of these slots."""
    for index in range(len(which)):
        for word in range(0, slots.shape[1], 8):
            prefetch(slots, which[index], word)


def gather_bytes(heap: Bytes, begins: Ints, lengths: Ints, offsets: Ints, out: Bytes) -> None:
    """Copy runs of bytes to `out`, one after the other; `offsets` has where each goes."""
    for run in range(len(begins)):
        for at in range(lengths[run]):
            out[offsets[run] + at] = heap[begins[run] + at]
