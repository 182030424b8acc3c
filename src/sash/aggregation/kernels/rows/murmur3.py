"""Spark's `hash` over whole columns: MurmurHash3 (A. Appleby) for 32 bits, one column after the other.

    state₀ = 42;   state ← finish(mix(state, words of the value), length in bytes),   a null leaves it alone

Words have 32 bits, the low one first; the last bytes of a string that fill no word are mixed as one word
each, with their sign (here Spark departs from Appleby). Rows that Spark hashes and rows that are hashed
here agree, so that a key falls into the same bucket on either way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sash.aggregation.kernels.compiler.machine_code_on_disk import kept_on_disk
from sash.arrays import Bytes, Mask

HashStates = NDArray[np.uint32]

SEED = 42
NO_NULLS: Mask = np.empty(0, np.bool_)

# All arithmetic is in 64 bits and cut back to 32: numba turns mixed signs into floats.
_U = np.uint64
_32_BITS, _SIGN = _U(0xFFFFFFFF), _U(0xFFFFFF00)
_C1, _C2, _C3 = _U(0xCC9E2D51), _U(0x1B873593), _U(0xE6546B64)
_F1, _F2 = _U(0x85EBCA6B), _U(0xC2B2AE35)
_4, _5, _8, _13, _15, _16 = _U(4), _U(5), _U(8), _U(13), _U(15), _U(16)
_17, _19, _32, _128 = _U(17), _U(19), _U(32), _U(128)


def hash_integers(values: NDArray[np.uint32], valid: Mask, state: HashStates) -> None:
    """state[i] ← hash of the 32-bit word values[i]; an empty `valid` means: no nulls."""
    _hash_integers(values, valid, state)


def hash_longs(values: NDArray[np.uint64], valid: Mask, state: HashStates) -> None:
    """state[i] ← hash of the 64-bit word values[i].

    >>> state = np.array([SEED], np.uint32)
    >>> hash_longs(np.array([7], np.uint64), NO_NULLS, state)
    >>> state.view(np.int32)
    array([1293116811], dtype=int32)
    """
    _hash_longs(values, valid, state)


def hash_strings(offsets: NDArray[np.int32], data: Bytes, valid: Mask, state: HashStates) -> None:
    """state[i] ← hash of the bytes data[offsets[i] : offsets[i + 1]]."""
    _hash_strings(offsets, data, valid, state)


def _mix(state: np.uint64, word: np.uint64) -> np.uint64:
    word = word * _C1 & _32_BITS
    word = (word << _15 | word >> _17) & _32_BITS
    state = state ^ (word * _C2 & _32_BITS)
    state = (state << _13 | state >> _19) & _32_BITS
    return (state * _5 + _C3) & _32_BITS


def _finish(state: np.uint64, length: np.uint64) -> np.uint64:
    state = state ^ length
    state = (state ^ state >> _16) * _F1 & _32_BITS
    state = (state ^ state >> _13) * _F2 & _32_BITS
    return state ^ state >> _16


_mixed = kept_on_disk(nogil=True)(_mix)
_finished = kept_on_disk(nogil=True)(_finish)


def _integers(values: NDArray[np.uint32], valid: Mask, state: HashStates) -> None:
    for i in range(len(state)):
        if len(valid) == 0 or valid[i]:
            state[i] = _finished(_mixed(_U(state[i]), _U(values[i])), _4)


def _longs(values: NDArray[np.uint64], valid: Mask, state: HashStates) -> None:
    for i in range(len(state)):
        if len(valid) == 0 or valid[i]:
            low, high = values[i] & _32_BITS, values[i] >> _32
            state[i] = _finished(_mixed(_mixed(_U(state[i]), low), high), _8)


def _strings(offsets: NDArray[np.int32], data: Bytes, valid: Mask, state: HashStates) -> None:
    for i in range(len(state)):
        if len(valid) == 0 or valid[i]:
            mixed, begin, end = _U(state[i]), offsets[i], offsets[i + 1]
            aligned = begin + (end - begin) // 4 * 4
            for at in range(begin, aligned, 4):
                low = _U(data[at]) | _U(data[at + 1]) << _8
                high = _U(data[at + 2]) | _U(data[at + 3]) << _8
                mixed = _mixed(mixed, low | high << _16)
            for at in range(aligned, end):
                byte = _U(data[at])
                mixed = _mixed(mixed, byte if byte < _128 else byte | _SIGN)
            state[i] = _finished(mixed, _U(end - begin))


_hash_integers = kept_on_disk(nogil=True)(_integers)
_hash_longs = kept_on_disk(nogil=True)(_longs)
_hash_strings = kept_on_disk(nogil=True)(_strings)
