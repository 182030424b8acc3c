"""Sketches of DataSketches from bytes: CorruptValue for bytes that are none.

DataSketches raises errors of many types, believes sizes that it allocates, and does not look at the levels
of a KLL sketch, which it uses as places in memory. So what it believes is looked at before:

    KLL      preamble 8 bytes · n u64 · least k u16 · levels u8 · 0 · levels × u32 · min, max · items
    counts   preamble, version, family, lg of the largest and of the current size, flags …
    HLL      preamble, version, family, lg of the number of registers …
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from datasketches import frequent_strings_sketch, hll_sketch, kll_doubles_sketch, tdigest_double

from sash.errors import CorruptValue

_KLL = struct.Struct("<BBBBHBBQHBB")
_SMALL = 0b101
"""Flags of a KLL sketch that is empty or has one item: neither has levels."""
_DOUBLE = 8
_MOST_LEVELS = 60


def hll_of(data: bytes) -> Any:
    if len(data) < 4 or not 4 <= data[3] <= 21:
        raise CorruptValue(f"these {len(data)} bytes are no HLL sketch of 2^4 to 2^21 registers")
    return _read(hll_sketch, data)


def items_of(data: bytes, lg_size: int) -> Any:
    """`lg_size`: that of the query. The sizes in the bytes are allocated as they are."""
    if len(data) < 6 or data[3] > lg_size or data[4] > data[3]:
        raise CorruptValue(f"these {len(data)} bytes are no sketch of at most 2^{lg_size} items")
    return _read(frequent_strings_sketch, data)


def digest_of(data: bytes) -> Any:
    return _read(tdigest_double, data)


def kll_of(data: bytes) -> Any:
    if len(data) >= 8 and not data[3] & _SMALL:
        _require_levels(data)
    return _read(kll_doubles_sketch, data)


def _require_levels(data: bytes) -> None:
    """Level i is items[levels[i] − levels[0] : levels[i + 1] − levels[0]]; each of these counts 2^i."""
    if len(data) >= _KLL.size:
        *_, n, _, count, _ = _KLL.unpack_from(data)
        begin = _KLL.size + 4 * count + 2 * _DOUBLE
        items, rest = divmod(len(data) - begin, _DOUBLE)
        if 1 <= count <= _MOST_LEVELS and items >= 0 and not rest:
            levels = np.frombuffer(data, "<u4", count, _KLL.size).astype(np.int64)
            sizes = np.diff(levels, append=levels[0] + items)
            values = np.frombuffer(data, "<f8", offset=_KLL.size + 4 * count)
            weight = sum(int(size) << level for level, size in enumerate(sizes))
            if np.all(sizes >= 0) and weight == n and not np.isnan(values).any():
                return
    raise CorruptValue(f"these {len(data)} bytes are no KLL sketch: its levels do not fit its items")


def _read(kind: Any, data: bytes) -> Any:
    try:
        return kind.deserialize(data)
    except Exception as error:
        raise CorruptValue(f"these {len(data)} bytes are no {kind.__name__}: {error}") from error
