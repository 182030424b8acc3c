"""The bytes of a stored value: a sealed frame around a payload, and numpy arrays as a payload.

    frame    magic "SASH" · version u16 · 0 u16 · payload length u64 · crc32 u32 · 0 u32 · payload
    arrays   tag 4 bytes · count u32 · count × (dtype 8 bytes · length u64) · the buffers, each 8-aligned

All numbers are little-endian. The checksum covers the key and the payload: a damaged value,
a value that another program wrote and a good value under the wrong key all fail to open, and the error
names the key. Nothing is ever unpickled. Header and descriptors are multiples of 8 bytes, so arrays that
are read from an aligned buffer are aligned too.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from sash.aggregation.stores.protocol import Payload
from sash.arrays import Array
from sash.errors import ArgumentError, CorruptValue, SashError, StoreError

MAGIC = b"SASH"
VERSION = 1

_FRAME = struct.Struct("<4sHHQII")
_ARRAYS = struct.Struct("<4sI")
_ARRAY = struct.Struct("<8sQ")
_DTYPES = frozenset(
    np.dtype(code).newbyteorder("<").str
    for code in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
)


_UNREADABLE = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError, OSError,
    RecursionError, TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip
"""Arrow's errors are among them."""


def seal(key: bytes, payload: Payload) -> bytes:
    """The frame that `unseal` opens under the same key, and only there.

    >>> unseal(b"k", seal(b"k", b"payload")).tobytes()
    b'payload'
    >>> unseal(b"other", seal(b"k", b"payload"))
    Traceback (most recent call last):
        ...
    sash.errors.CorruptValue: the value under key b'other' is damaged: its checksum does not match
    """
    size = memoryview(payload).nbytes
    return _FRAME.pack(MAGIC, VERSION, 0, size, _checksum(key, payload), 0) + payload


def seal_json(key: bytes, facts: Mapping[str, Any]) -> bytes:
    """Named facts under a seal, as `unseal_json` reads them.

    >>> unseal_json(b"k", seal_json(b"k", {"watermark": 5}))
    {'watermark': 5}
    """
    return seal(key, json.dumps(facts).encode())


def unseal_json(key: bytes, data: Payload) -> Any:
    """What a sealed text of JSON holds; CorruptValue unless every bit is in place."""
    return json.loads(bytes(unseal(key, data)))


def unseal(key: bytes, data: Payload) -> memoryview:
    """The payload of a sealed value, as a view of `data`; CorruptValue unless every bit is in place."""
    view = memoryview(data)
    if view.nbytes < _FRAME.size:
        raise CorruptValue(
            f"the value under key {key!r} is damaged or was not written by Sash: {view.nbytes} bytes are "
            f"fewer than a header's {_FRAME.size}"
        )
    magic, version, zero, size, checksum, zeros = _FRAME.unpack_from(view)
    if magic != MAGIC:
        raise CorruptValue(f"the value under key {key!r} was not written by Sash: it begins with {magic!r}")
    if version != VERSION:
        raise CorruptValue(
            f"the value under key {key!r} has layout version {version}; this Sash reads version {VERSION}"
        )
    payload = view[_FRAME.size :]
    if payload.nbytes != size:
        raise CorruptValue(
            f"the value under key {key!r} is damaged: {size} bytes were written, {payload.nbytes} are there"
        )
    if zero or zeros or _checksum(key, payload) != checksum:
        raise CorruptValue(f"the value under key {key!r} is damaged: its checksum does not match")
    return payload


def _checksum(key: bytes, payload: Payload) -> int:
    # The key's length goes in too: (b"a", b"bc") and (b"ab", b"c") must not share a checksum.
    return zlib.crc32(payload, zlib.crc32(key, len(key)))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """CorruptValue for whatever goes wrong in reading bytes that are not what their header describes: for
    content
    that has the right checksum and was still not written by Sash."""
    try:
        yield
    except SashError:
        raise
    except _UNREADABLE as error:
        raise CorruptValue(f"{what} cannot be read: {type(error).__name__}: {error}") from error


def require_layout(what: str, found: object, own: int) -> None:
    """StoreError for state of another version's layout. It is not damaged: it must neither be replaced nor
    be taken for something that was cut short, as a CorruptValue may be."""
    if found != own or isinstance(found, bool):
        raise StoreError(
            f"{what} has layout {str(found)[:40]}, and this version of Sash reads layout {own}: it "
            "can be resumed with the version that wrote it"
        )


def require_frame(what: str, data: Payload) -> None:
    """StoreError for a frame of another version, where `unseal` has a CorruptValue: for whoever takes what
    cannot be opened for something that was cut short."""
    if memoryview(data).nbytes >= _FRAME.size:
        magic, version, *_ = _FRAME.unpack_from(data)
        if magic == MAGIC:
            require_layout(what, version, VERSION)


def pack(tag: bytes, arrays: Sequence[Array]) -> bytes:
    """One-dimensional arrays as a payload; `tag` is what they are, for `unpack` to insist on.

    >>> [a.tolist() for a in unpack(b"k", b"demo", pack(b"demo", [np.arange(3), np.array([0.5])]))]
    [[0, 1, 2], [0.5]]
    """
    parts: list[Any] = [_ARRAYS.pack(tag, len(arrays))]
    buffers: list[Any] = []
    for array in arrays:
        flat = np.ascontiguousarray(array)
        little = flat.astype(flat.dtype.newbyteorder("<"), copy=False)
        if little.dtype.str not in _DTYPES or little.ndim != 1:
            raise ArgumentError(
                "arrays", f"{array.dtype}, {array.ndim} dimensions", "one-dimensional booleans or numbers"
            )
        parts.append(_ARRAY.pack(little.dtype.str.encode(), len(little)))
        buffers.append(little.data.cast("B") if len(little) else b"")
        buffers.append(bytes(-little.nbytes % 8))
    return b"".join(parts + buffers)


def unpack(key: bytes, tag: bytes, payload: Payload) -> list[Array]:
    """The arrays of a payload, as read-only views of it; `key` is for the error message."""
    view = memoryview(payload).toreadonly()
    try:
        found, count = _ARRAYS.unpack_from(view)
        if found != tag:
            raise CorruptValue(f"the value under key {key!r} holds {found!r}; {tag!r} was expected")
        offset = _ARRAYS.size + count * _ARRAY.size
        arrays = []
        for number in range(count):
            code, length = _ARRAY.unpack_from(view, _ARRAYS.size + number * _ARRAY.size)
            name = code.rstrip(b"\0").decode("ascii")
            if name not in _DTYPES:
                raise CorruptValue(f"the value under key {key!r} has an array of unknown type {name!r}")
            array: Array = np.ndarray(length, name, buffer=view, offset=offset)
            offset += array.nbytes + -array.nbytes % 8
            arrays.append(array)
    except (struct.error, OverflowError, TypeError, ValueError) as error:
        raise CorruptValue(
            f"the value under key {key!r} does not hold the arrays that its header lists: {error}"
        ) from error
    if offset != view.nbytes:
        raise CorruptValue(
            f"the value under key {key!r} has {view.nbytes - offset} bytes after its last array"
        )
    return arrays
