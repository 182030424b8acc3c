"""Keys as bytes, the same for whoever writes and whoever reads."""

from __future__ import annotations

from hashlib import blake2b

import pyarrow as pa

from sash.aggregation.encoding import encode, one_of_equals

LONGEST = 256
"""Bytes of a key that is a name as it is; LMDB has names of at most 511 bytes."""


def key_bytes(keys: pa.Table, count: int) -> list[bytes]:
    """A name for each of `count` rows; equal keys have equal names, however a column of times names its
    zone. Without a column there is one key.

    >>> key_bytes(pa.table({"k": [0.0, None]}), 2) == key_bytes(pa.table({"k": [-0.0, None]}), 2)
    True
    """
    if not keys.num_columns:
        return [encode(())] * count
    columns = [_universal(column).to_pylist() for column in keys.columns]
    return [_name(tuple(map(one_of_equals, key))) for key in zip(*columns, strict=True)]


def _name(key: tuple[object, ...]) -> bytes:
    name = encode(key)
    return name if len(name) <= LONGEST else b"#" + blake2b(name, digest_size=32).digest()


def _universal(column: pa.ChunkedArray) -> pa.ChunkedArray:
    type_ = column.type
    if pa.types.is_timestamp(type_) and type_.tz is not None:
        return column.cast(pa.timestamp(type_.unit, "UTC"))
    return column
