"""Python values ⇄ bytes, for elements that are not plain numbers.

    value  =  tag · payload             decode(encode(v)) == v, of the same type

Stores hold bytes and nothing is ever pickled, so elements that carry strings, decimals, dates or lists of
them need a codec that can only build values. A time zone comes back as its offset from UTC. Other rooms
add types of their own, each as a tuple of plain values (`register`).

>>> decode(encode(("a", 1, 2.5, None)))
('a', 1, 2.5, None)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from sash.errors import CorruptValue, Unsupported
from sash.semantics.time_format import EPOCH

_DAY_ZERO = EPOCH.date()
_MICROSECOND = timedelta(microseconds=1)
_LENGTH = struct.Struct("<I")
_DOUBLE = struct.Struct("<d")


def encode(value: Any) -> bytes:
    """The bytes of a number, text, decimal, date or time, or of a list, tuple, set or dict of them."""
    out: list[bytes] = []
    _write(value, out)
    return b"".join(out)


def decode(data: bytes) -> Any:
    """The value that `encode` was given.

    >>> decode(b"?")
    Traceback (most recent call last):
        ...
    sash.errors.CorruptValue: an encoded element starts with an unknown tag b'?' at byte 0
    """
    try:
        value, end = _read(bytes(data), 0)
    except (IndexError, struct.error, ArithmeticError, RecursionError, ValueError, TypeError) as error:
        if isinstance(error, CorruptValue):
            raise
        raise CorruptValue(f"an encoded element of {len(data)} bytes is damaged: {error}") from error
    if end != len(data):
        raise CorruptValue(f"an encoded element ends at byte {end}, but {len(data)} bytes were given")
    return value


def one_of_equals(value: Any) -> Any:
    """The value itself, but one NaN for all NaNs and 0.0 for −0.0: what Spark counts as the same."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return math.nan if value != value else value + 0.0
    return value


def sketch_key(value: Any) -> int | float | str:
    """What sketches hash a value as: equal values give equal keys, however a runtime passes them.

    Dates and times are their integers, as Arrow stores them (timestamps in UTC microseconds, a naive one
    being UTC; dates in days), so that a column read as integers and one read as objects agree.

    >>> sketch_key("a"), sketch_key(datetime(1970, 1, 1, 0, 0, 1)), sketch_key(2.5)
    ('sa', 1000000, 2.5)
    """
    value = one_of_equals(value)
    if isinstance(value, float):
        return value
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (moment - EPOCH) // _MICROSECOND
    if isinstance(value, date):
        return (value - _DAY_ZERO).days
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    if isinstance(value, str):
        return "s" + value  # never empty: datasketches ignores the empty string
    return "o" + encode(value).decode("latin-1")


def _write(value: Any, out: list[bytes]) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    writer = _WRITERS.get(type(value)) or next(
        (_WRITERS[parent] for parent in type(value).__mro__ if parent in _WRITERS), None
    )
    if writer is None:
        raise Unsupported(
            "value",
            value,
            "a number, text, bytes, decimal, date, time, or a list, tuple, set or dict of them",
            hint=f"Give the monoid its own encode and decode for {type(value).__name__}.",
        )
    writer(value, out)


def _sized(tag: bytes, to_bytes: Callable[[Any], bytes]) -> Callable[[Any, list[bytes]], None]:
    def write(value: Any, out: list[bytes]) -> None:
        payload = to_bytes(value)
        out += (tag, _LENGTH.pack(len(payload)), payload)

    return write


def _sequence(tag: bytes) -> Callable[[Any, list[bytes]], None]:
    def write(values: Any, out: list[bytes]) -> None:
        out += (tag, _LENGTH.pack(len(values)))
        for value in values:
            _write(value, out)

    return write


def _unordered(tag: bytes) -> Callable[[Any, list[bytes]], None]:
    def write(values: Any, out: list[bytes]) -> None:
        # Equal sets have equal bytes, in every process.
        out += (tag, _LENGTH.pack(len(values)), *sorted(map(encode, values)))

    return write


def _write_dict(value: dict[Any, Any], out: list[bytes]) -> None:
    out.append(b"{")
    _write(tuple(value), out)
    _write(tuple(value.values()), out)


def _int_bytes(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)


_WRITERS: dict[type, Callable[[Any, list[bytes]], None]] = {
    type(None): lambda _, out: out.append(b"N"),
    bool: lambda value, out: out.append(b"T" if value else b"F"),
    float: lambda value, out: out.append(b"d" + _DOUBLE.pack(value)),
    int: _sized(b"i", _int_bytes),
    str: _sized(b"s", lambda text: text.encode("utf-8", "surrogatepass")),
    bytes: _sized(b"b", bytes),
    Decimal: _sized(b"D", lambda number: str(number).encode()),
    datetime: _sized(b"t", lambda moment: moment.isoformat().encode()),
    date: _sized(b"y", lambda day: day.isoformat().encode()),
    time: _sized(b"h", lambda clock: clock.isoformat().encode()),
    timedelta: _sized(b"u", lambda span: _int_bytes(span // _MICROSECOND)),
    tuple: _sequence(b"("),
    list: _sequence(b"["),
    set: _unordered(b"<"),
    frozenset: _unordered(b">"),
    dict: _write_dict,
}

_SEQUENCES: dict[bytes, Callable[[list[Any]], Any]] = {
    b"(": tuple, b"[": list, b"<": set, b">": frozenset,
}  # fmt: skip
_REGISTERED: dict[bytes, Callable[..., Any]] = {}


def register(
    tag: bytes, kind: type, fields: Callable[[Any], tuple[Any, ...]], make: Callable[..., Any]
) -> None:
    """Values of this type are written as the tuple of their fields, and made again by `make(*fields)`;
    that raises a TypeError for fields that cannot be those of one."""

    def write(value: Any, out: list[bytes]) -> None:
        out.append(tag)
        _write(fields(value), out)

    _WRITERS[kind], _REGISTERED[tag] = write, make


_SIZED_READERS: dict[bytes, Callable[[bytes], Any]] = {
    b"i": lambda raw: int.from_bytes(raw, "little", signed=True),
    b"s": lambda raw: raw.decode("utf-8", "surrogatepass"),
    b"b": bytes,
    b"D": lambda raw: Decimal(raw.decode()),
    b"t": lambda raw: datetime.fromisoformat(raw.decode()),
    b"y": lambda raw: date.fromisoformat(raw.decode()),
    b"h": lambda raw: time.fromisoformat(raw.decode()),
    b"u": lambda raw: int.from_bytes(raw, "little", signed=True) * _MICROSECOND,
}


def _read(data: bytes, at: int) -> tuple[Any, int]:
    tag, start = data[at : at + 1], at + 1
    if tag in (b"N", b"T", b"F"):
        return {b"N": None, b"T": True, b"F": False}[tag], start
    if tag == b"d":
        return _DOUBLE.unpack_from(data, start)[0], start + 8
    if tag == b"{":
        keys, middle = _read(data, start)
        values, end = _read(data, middle)
        return dict(zip(keys, values, strict=True)), end
    if tag in _REGISTERED:
        fields, end = _read(data, start)
        return _REGISTERED[tag](*fields), end
    if tag not in _SIZED_READERS and tag not in _SEQUENCES:
        raise CorruptValue(f"an encoded element starts with an unknown tag {tag!r} at byte {at}")
    size, body = _LENGTH.unpack_from(data, start)[0], start + _LENGTH.size
    if tag in _SIZED_READERS:
        if body + size > len(data):
            raise CorruptValue(f"an encoded element is cut off: {size} bytes expected at byte {body}")
        return _SIZED_READERS[tag](data[body : body + size]), body + size
    items, end = [], body
    for _ in range(size):
        item, end = _read(data, end)
        items.append(item)
    return _SEQUENCES[tag](items), end
