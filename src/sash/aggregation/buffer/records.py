"""Chunks as bytes: what goes to a store for each full chunk, and into the hot part for each tail.

    [start, end, length, ground, timed] · marks · for each floor of the pyramid its columns

A column of numbers is stored as it is. A column of objects is stored as the concatenation of what the
monoid's `encode` gives, and the offsets of the pieces in it. The folds of the groups are stored too: a
chunk that comes back from a store costs no combine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sash.aggregation.buffer.chunk import Chunk, nothing
from sash.aggregation.buffer.folding import Columns, Folding
from sash.aggregation.buffer.pyramid import RADIX, Pyramid
from sash.aggregation.stores.protocol import Payload
from sash.aggregation.stores.values import pack, unpack
from sash.errors import CorruptValue, Unsupported

TAG = b"chnk"


def encode(folding: Folding, chunk: Chunk) -> bytes:
    """The bytes of a chunk, full or not."""
    n = len(chunk)
    arrays: list[Any] = [np.array([chunk.start, chunk.end, n, chunk.ground, chunk.timed], np.int64)]
    if not chunk.ground:
        arrays.append(chunk.starts[:n])
    if chunk.timed:
        arrays.append(chunk.latest[:n])
        if not chunk.ground:
            arrays.append(chunk.earliest[:n])
    for columns, count in zip(chunk.pyramid.floors, chunk.pyramid.counts(), strict=False):
        for column in columns:
            arrays += _stored(folding, column[:count])
    return pack(TAG, arrays)


def decode(folding: Folding, key: bytes, payload: Payload) -> Chunk:
    """The chunk, its arrays being views of `payload`; CorruptValue names `key`."""
    arrays = iter(unpack(key, TAG, payload))
    try:
        start, end, n, ground, timed = _following(arrays).tolist()
        starts = earliest = latest = nothing()
        if not ground:
            starts = _checked(_following(arrays), n)
        if timed:
            earliest = latest = _checked(_following(arrays), n)
            if not ground:
                earliest = _checked(_following(arrays), n)
        floors: list[Columns] = []
        count = n
        while count or not floors:
            floors.append(tuple(_restored(folding, dtype, arrays, count) for dtype in folding.dtypes))
            count //= RADIX
    except (ValueError, TypeError) as error:
        raise CorruptValue(
            f"the value under key {key!r} is no chunk of {folding.monoid.name}: {error}"
        ) from error
    if next(arrays, None) is not None:
        raise CorruptValue(
            f"the value under key {key!r} has more arrays than a chunk of {folding.monoid.name}"
        )
    chunk = Chunk(Pyramid.of(folding, n, floors), start=start, ground=bool(ground), timed=bool(timed))
    chunk.end, chunk.starts, chunk.earliest, chunk.latest = end, starts, earliest, latest
    return chunk


def growing(chunk: Chunk) -> Chunk:
    """A decoded chunk that can be extended: its arrays are its own, not views of the bytes."""
    chunk.starts, chunk.latest = chunk.starts.copy(), chunk.latest.copy()
    chunk.earliest = chunk.latest if chunk.ground else chunk.earliest.copy()
    floors = chunk.pyramid.floors
    floors[:] = [tuple(column.copy() for column in columns) for columns in floors]
    return chunk


def _stored(folding: Folding, column: NDArray[Any]) -> list[NDArray[Any]]:
    if not column.dtype.hasobject:
        return [column]
    to_bytes = folding.monoid.encode
    if to_bytes is None:
        raise Unsupported(
            "monoid",
            folding.monoid.name,
            "one whose elements are numbers, or that has encode and decode, to be kept in a store",
        )
    pieces = [to_bytes(element) for element in column]
    offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return [offsets, np.frombuffer(b"".join(pieces), np.uint8)]


def _restored(
    folding: Folding, dtype: np.dtype[Any], arrays: Iterator[NDArray[Any]], count: int
) -> NDArray[Any]:
    if not dtype.hasobject:
        return _checked(_following(arrays), count, dtype=dtype)
    offsets = _checked(_following(arrays), count + 1).tolist()
    blob = _following(arrays).tobytes()
    from_bytes = folding.monoid.decode
    if from_bytes is None:
        raise Unsupported(
            "monoid", folding.monoid.name, "one that has encode and decode, to be read from a store"
        )
    column = np.empty(count, object)
    for i in range(count):
        column[i] = from_bytes(blob[offsets[i] : offsets[i + 1]])
    return column


def _following(arrays: Iterator[NDArray[Any]]) -> NDArray[Any]:
    array = next(arrays, None)
    if array is None:
        raise ValueError("arrays are missing")
    return array


def _checked(array: NDArray[Any], count: int, *, dtype: Any = np.int64) -> NDArray[Any]:
    if array.dtype != dtype or len(array) != count:
        raise ValueError(
            f"{len(array)} values of type {array.dtype} where {count} of {np.dtype(dtype)} belong"
        )
    return array
