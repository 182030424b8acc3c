"""A dense number for each distinct short text of a column, in one pass, by a hash table.

    text of row i  =  data[offsets[i] : offsets[i + 1]],       codes are numbered as texts first appear

A text of up to 16 bytes is two numbers and its length, so that nothing else is compared or looked up. Bytes
are read eight at a time, as the words that they lie in.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.folds.keyed_panes import FREE, ShortInts
from sash.aggregation.kernels.rows.numbering import SMALLEST, Codes
from sash.arrays import Bytes, Ints, read_only

EightByteWords = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int32] | Ints

LONGEST = 16
"""Bytes."""
FIELDS = 4
"""Of a distinct text: its bytes, as two numbers, its length, and the row in which it was first seen."""

_NONE, _ONE, _EIGHT, _ALL_BUT_ONE, _HALF = map(np.uint64, (0, 1, 8, 63, 32))
_MIX, _LOW = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x7FFFFFFF)


def numbered_texts(offsets: Offsets, data: Bytes) -> tuple[Codes, Ints] | None:
    """The code of each text, and the first row of each code; None when a text is too long.

    >>> codes, rows = numbered_texts(np.array([0, 1, 2, 2, 3], np.int32), np.frombuffer(b"bab", np.uint8))
    >>> codes.tolist(), rows.tolist()
    ([0, 1, 2, 0], [0, 1, 2])
    """
    rows = len(offsets) - 1
    offsets, codes = read_only(offsets), np.empty(rows, np.int32)
    whole = len(data) // 8 * 8
    rest = np.zeros(8, np.uint8)
    rest[: len(data) - whole] = data[whole:]
    words, last = read_only(data[:whole].view(np.uint64)), rest.view(np.uint64)[0]
    index, texts = _table(SMALLEST)
    row = used = 0
    # Machine code wraps around silently; interpreted, numpy would warn of it.
    with np.errstate(over="ignore"):
        while True:
            row, used = kernel_of(number_texts)(offsets, words, last, row, used, index, texts, codes)
            if row == rows:
                return codes, texts[3 : used * FIELDS : FIELDS].astype(np.int64)
            if offsets[row + 1] - offsets[row] > LONGEST:
                return None
            index, more = _table(4 * len(index))
            more[: len(texts)] = texts
            texts = more
            kernel_of(enter_texts)(index, texts, used)


def eight_bytes(words: EightByteWords, last: np.uint64, at: int, length: int) -> np.uint64:
    """The bytes at … at + 7 of the data, the first one lowest; 0 for those beyond the length. `last` has
    those that fill no word."""
    if length <= 0:
        return _NONE
    word, shift, n = at >> 3, np.uint64(at & 7) * _EIGHT, len(words)
    low = words[np.uintp(word)] if word < n else last
    high = words[np.uintp(word + 1)] if word + 1 < n else last
    # In two steps, because a shift by all 64 bits is none at all.
    value = (low >> shift) | ((high << _ONE) << (_ALL_BUT_ONE - shift))
    if length < 8:
        value &= (_ONE << (np.uint64(length) * _EIGHT)) - _ONE
    return value


def slot_of(
    index: ShortInts, texts: EightByteWords, first: np.uint64, second: np.uint64, length: np.uint64
) -> int:
    """The slot of a text, or the free one that it would take, by linear probing."""
    mixed = (first ^ length) * _MIX
    mixed = ((mixed ^ (mixed >> _HALF)) + second) * _MIX
    mask = len(index) - 1
    slot = int((mixed >> _HALF) & _LOW) & mask
    while True:
        code = index[np.uintp(slot)]
        if code == FREE:
            return slot
        at = np.uintp(code * FIELDS)
        if texts[at] == first and texts[at + np.uintp(1)] == second and texts[at + np.uintp(2)] == length:
            return slot
        slot = (slot + 1) & mask


def number_texts(
    offsets: Offsets, words: EightByteWords, last: np.uint64, row: int, used: int, index: ShortInts,
    texts: EightByteWords, codes: Codes,
) -> tuple[int, int]:  # fmt: skip
    """Go on from `row`, with so many distinct texts found; returns both at the end, when the table is half
    full, or before a text that is too long."""
    room = len(texts) // FIELDS
    while row < len(codes):
        at = int(offsets[row])
        length = int(offsets[row + 1]) - at
        if length > LONGEST:
            break
        first = eight_bytes(words, last, at, length)
        second = eight_bytes(words, last, at + 8, length - 8)
        slot = slot_of(index, texts, first, second, np.uint64(length))
        code = index[np.uintp(slot)]
        if code == FREE:
            if used == room:
                break
            code = used
            index[np.uintp(slot)] = code
            begin = used * FIELDS
            texts[begin], texts[begin + 1] = first, second
            texts[begin + 2], texts[begin + 3] = np.uint64(length), np.uint64(row)
            used += 1
        codes[row] = code
        row += 1
    return row, used


def enter_texts(index: ShortInts, texts: EightByteWords, used: int) -> None:
    """Put all texts into an empty index."""
    for code in range(used):
        at = code * FIELDS
        index[slot_of(index, texts, texts[at], texts[at + 1], texts[at + 2])] = code


def _table(slots: int) -> tuple[ShortInts, EightByteWords]:
    return np.full(slots, FREE, np.int32), np.empty(slots // 2 * FIELDS, np.uint64)
