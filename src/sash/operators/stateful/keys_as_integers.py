"""Keys as integers: kernels know only 64-bit keys.

An integer is its own name. Everything else (words, tuples, null) is numbered in the order of its first
arrival, by one C-level pass over the distinct keys of a batch. A number is forgotten once no window can
hold its key any more, so that a stream of ever new words does not grow for ever; it is never used twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.errors import DataError

NULL = -(2**63)
"""The name of null among integer keys."""

FORGET_FROM = 1 << 12
"""Below this many names, forgetting is not worth a look."""


class Integers:
    """Names of integer keys: themselves."""

    def numbers(self, keys: Any, *, time: int) -> Ints:
        if isinstance(keys, np.ndarray):
            return keys.astype(np.int64, copy=False)
        array = keys if isinstance(keys, pa.Array) else keys.combine_chunks()
        if not array.null_count:
            return np.asarray(array.cast(pa.int64()))
        numbers: Ints = array.cast(pa.int64()).fill_null(NULL).to_numpy()
        if int((numbers == NULL).sum()) != array.null_count:
            raise DataError(f"integer keys must be greater than {NULL}, which stands for null")
        return numbers

    def keys(self, numbers: Ints) -> list[Hashable]:
        return [None if number == NULL else number for number in numbers.tolist()]

    def column(self, numbers: Ints, type_: pa.DataType) -> pa.Array:
        null = numbers == NULL
        # Without a mask nothing is copied.
        return pa.array(numbers, mask=null if null.any() else None).cast(type_)

    def forget(self, before: int) -> None:
        """There is nothing to remember."""


class Objects:
    """Names of any hashable keys."""

    def __init__(self) -> None:
        self._number: dict[Any, int] = {}
        self._key: dict[int, Any] = {}
        self._seen: dict[int, int] = {}
        self._next = 0
        self._forget_at = FORGET_FROM

    def __len__(self) -> int:
        return len(self._number)

    def numbers(self, keys: Any, *, time: int) -> Ints:
        """The numbers of `keys`, all of which were seen by `time`."""
        if isinstance(keys, pa.ChunkedArray):
            keys = keys.combine_chunks()
        if isinstance(keys, pa.Array):
            encoded = keys.dictionary_encode(null_encoding="encode")
            distinct = self._named(encoded.dictionary.to_pylist(), time)
            return np.asarray(distinct[encoded.indices.to_numpy(zero_copy_only=False)], np.int64)
        return self._named(list(keys), time)

    def _named(self, keys: list[Any], time: int) -> Ints:
        for key in keys if not self._number else set(keys).difference(self._number):
            if key not in self._number:
                self._number[key] = self._next
                self._key[self._next] = key
                self._next += 1
        numbers = np.fromiter(map(self._number.__getitem__, keys), np.int64, len(keys))
        self._seen.update(zip(numbers.tolist(), repeat(time), strict=False))
        return numbers

    def keys(self, numbers: Ints) -> list[Hashable]:
        return list(map(self._key.__getitem__, numbers.tolist()))

    def column(self, numbers: Ints, type_: pa.DataType) -> pa.Array:
        return pa.array(self.keys(numbers), type_)

    def forget(self, before: int) -> None:
        """Forget the keys that were last seen before this time; looks only when there are twice as many."""
        if len(self._number) < self._forget_at:
            return
        for number in [number for number, time in self._seen.items() if time < before]:
            del self._seen[number]
            del self._number[self._key.pop(number)]
        self._forget_at = max(FORGET_FROM, 2 * len(self._number))


KeyNumbering = Integers | Objects


def names_for(types: Iterable[pa.DataType | None]) -> KeyNumbering:
    """Integers where every input's keys are integers, otherwise objects."""
    known = list(types)
    return Integers() if all(t is not None and pa.types.is_integer(t) for t in known) else Objects()
