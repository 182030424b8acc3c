"""How long the buffers of compressed Arrow messages are to be: looked at before Arrow allocates that.

    Message        root table: … · header type u8 (1) · header (2) · …
    RecordBatch    table: nodes · buffers (2), a vector of (offset i64, length i64) · compression (3)
    a buffer       in the body, compressed: its length before that, i64, or −1 for as it is · bytes

The numbers in brackets are those of the fields in Arrow's flatbuffers, of which nothing else is needed.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.errors import CorruptValue

DENSEST = 1 << 15
"""A block of zstd has up to 128 KB, and takes four bytes at least; LZ4 has up to 255 for one."""
_DICTIONARY, _RECORDS = 2, 3


def require_lengths(messages: Any) -> None:
    """CorruptValue for a buffer that is longer than what it holds can be."""
    for message in messages:
        if message.body is not None and message.body.size:
            _require_lengths(bytes(message.metadata), message.body)


def _require_lengths(metadata: bytes, body: pa.Buffer) -> None:
    root = _followed(metadata, 0)
    kind, header = _field(metadata, root, 1), _field(metadata, root, 2)
    if kind is None or header is None or metadata[kind] not in (_DICTIONARY, _RECORDS):
        return
    batch = _followed(metadata, header)
    if metadata[kind] == _DICTIONARY:
        data = _field(metadata, batch, 1)
        if data is None:
            return
        batch = _followed(metadata, data)
    buffers = _field(metadata, batch, 2)
    if buffers is None or _field(metadata, batch, 3) is None:
        return
    vector = _followed(metadata, buffers)
    (count,) = struct.unpack_from("<I", metadata, vector)
    places: Ints = np.frombuffer(metadata, np.int64, 2 * count, vector + 4).reshape(count, 2)
    held = memoryview(body)
    for offset, length in places[places[:, 1] >= 8].tolist():
        (announced,) = struct.unpack_from("<q", held, offset)
        if announced > (length - 8) * DENSEST:
            raise CorruptValue(
                f"{length - 8} compressed bytes announce {announced}, which they cannot hold"
            )


def _followed(data: bytes, at: int) -> int:
    (distance,) = struct.unpack_from("<I", data, at)
    return at + int(distance)


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a field of a table is; None when it is not there."""
    (back,) = struct.unpack_from("<i", data, table)
    (size,) = struct.unpack_from("<H", data, table - back)
    if 4 + 2 * number >= size:
        return None
    (distance,) = struct.unpack_from("<H", data, table - back + 4 + 2 * number)
    return table + int(distance) if distance else None
