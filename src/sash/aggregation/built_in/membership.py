"""Which values occurred: the Bloom filter (Bloom, 1970).

    filter(x)  =  bits h₀(x), …, h_{h−1}(x)  of m            a ⊕ b  =  a | b

`might_contain` is true for every value that occurred, and for another one with a probability of about
`error`, as long as no more than `capacity` different values did:

    m  =  −capacity · ln(error) / (ln 2)²          h  =  m / capacity · ln 2

Values are hashed by value, numbers as Python compares them: 1 == 1.0 == Decimal("1.00"), whatever the type
of their column. The h positions come from two hashes, h₁ + i · h₂ (Kirsch and Mitzenmacher, 2006). The
DataSketches release for Python has no Bloom filter, and a filter is an integer and one `|`, so this one is
written here.
"""

from __future__ import annotations

import hashlib
import math
import struct
from decimal import Context, Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregation.built_in.column_types import always, of_values, positive_integer
from sash.aggregation.encoding import encode, sketch_key
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError, CorruptValue
from sash.semantics.condition import RowCondition

_HEADER = struct.Struct("<4sIQ")  # magic and layout, number of hashes, number of bits
_MAGIC = b"SBF\x02"
_BY_TYPE = b"SBF\x01"
"""The layout before, with numbers hashed by type: a False would not be certain."""


def bloom(
    column: str, *, capacity: int = 1000, error: float = 0.01, where: RowCondition | None = None
) -> Monoid:
    """A Bloom filter of the values of x, as bytes for `might_contain`; null when there are none.

    >>> from sash.semantics.monoid import fold
    >>> found = fold(bloom("x"), [{"x": "a"}, {"x": "b"}, {"x": None}])
    >>> might_contain(found, "a"), might_contain(found, "z")
    (True, False)
    """
    positive_integer("capacity", capacity)
    if not isinstance(error, float) or not 0 < error < 1:
        raise ArgumentError("error", error, "a probability between 0 and 1")
    bits = max(8, math.ceil(-capacity * math.log(error) / math.log(2) ** 2))
    hashes = max(1, round(bits / capacity * math.log(2)))

    return of_values(
        "bloom", column, int, partial(_positions, hashes, bits), _union, partial(_to_bytes, hashes, bits),
        commutative=True, idempotent=True, encode=partial(_to_bytes, hashes, bits),
        decode=partial(_from_bytes, hashes, bits), result=always(pa.binary()), where=where,
    )  # fmt: skip


def might_contain(filter: bytes | None, value: Any) -> bool:
    """Whether `value` may be among those that went into the filter; False is certain.

    Numbers are equal as in Python: 1 finds 1.0 and Decimal("1.00"), and 0.1 is not Decimal("0.1"). A filter
    that is null had no values.
    """
    if filter is None:
        return False
    hashes, bits, filled = _parse(filter)
    wanted = _positions(hashes, bits, value)
    return filled & wanted == wanted


def _union(a: int, b: int) -> int:
    return a | b


def _positions(hashes: int, bits: int, value: Any) -> int:
    digest = hashlib.blake2b(encode(sketch_key(_by_value(value))), digest_size=16).digest()
    start = int.from_bytes(digest[:8], "little")
    step = int.from_bytes(digest[8:], "little") | 1
    filled = 0
    for i in range(hashes):
        filled |= 1 << ((start + i * step) % bits)
    return filled


def _by_value(value: Any) -> Any:
    """One form for all values that Python compares as equal."""
    if isinstance(value, np.datetime64 | np.timedelta64) and isinstance(value.item(), int):  # nanoseconds
        value = value.astype(f"{value.dtype.kind}8[us]")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Decimal):
        value = _decimal_by_value(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list | tuple):
        return type(value)(map(_by_value, value))
    if isinstance(value, dict):
        return {name: _by_value(part) for name, part in value.items()}
    return value


def _decimal_by_value(number: Decimal) -> int | float | Decimal:
    if number.is_finite() and number == number.to_integral_value():
        return int(number)
    double = float(number)
    if not number.is_finite() or Decimal(double) == number:
        return double
    return number.normalize(Context(prec=len(number.as_tuple().digits)))  # without zeros at its end


def _to_bytes(hashes: int, bits: int, filled: int) -> bytes:
    return _HEADER.pack(_MAGIC, hashes, bits) + filled.to_bytes((bits + 7) // 8, "little")


def _from_bytes(hashes: int, bits: int, data: bytes) -> int:
    *shape, filled = _parse(data)
    if shape != [hashes, bits]:
        raise CorruptValue(f"a Bloom filter of {shape} (hashes, bits) was stored, not of {[hashes, bits]}")
    return filled


def _parse(data: bytes) -> tuple[int, int, int]:
    if bytes(data[:4]) == _BY_TYPE:
        raise CorruptValue(
            "this Bloom filter has an old layout, in which 1 and 1.0 differ: fold its values again"
        )
    if len(data) < _HEADER.size or bytes(data[:4]) != _MAGIC:
        raise CorruptValue(
            f"these {len(data)} bytes are not a Bloom filter: they do not start with {_MAGIC!r}"
        )
    _, hashes, bits = _HEADER.unpack_from(data)
    if len(data) != _HEADER.size + (bits + 7) // 8:
        raise CorruptValue(f"a Bloom filter of {bits} bits is cut off or padded: it has {len(data)} bytes")
    return hashes, bits, int.from_bytes(data[_HEADER.size :], "little")
