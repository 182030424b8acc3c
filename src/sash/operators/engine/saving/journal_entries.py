"""The entries of a journal, and the chunks of a store that they lie in.

    entry      facts (JSON) · the rows of each insertion (Arrow)
    payload    one entry, or several that were put together; or a snapshot
    chunk      which part of a payload it is, of how many · rows of the payload · bytes, at most `PART`

A store may limit how long a value is (512 MB in Redis, 2 GB in Spark's state store), so that a payload is
cut into as many chunks as it needs, which have numbers one after the other.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from sash.aggregation.stores.values import reading, seal, unseal
from sash.errors import CorruptValue
from sash.operators.columns.table_bytes import bytes_of, table_of

PART = 1 << 20
"""Bytes of a payload that are one chunk."""

_LENGTH = struct.Struct("<Q")
_WHICH = struct.Struct("<IIQ")


@dataclass
class Entry:
    """What one batch has done to an operator."""

    inserts: list[pa.Table] = field(default_factory=list)
    """Rows that were on time, as the operator took them; panes, where it folds early."""
    facts: dict[str, Any] = field(default_factory=lambda: {"calls": []})
    """`calls` has the watermark of each advance, and None for each insertion, in order."""

    def inserted(self, rows: pa.Table) -> None:
        self.inserts.append(rows)
        self.facts["calls"].append(None)

    def advanced(self, watermark: int) -> None:
        self.facts["calls"].append(watermark)

    def calls(self) -> Iterator[pa.Table | int]:
        """One after the other: rows that were inserted, watermarks that time went to."""
        inserts = iter(self.inserts)
        return (next(inserts) if call is None else call for call in self.facts["calls"])

    def calls_together(self) -> Iterator[pa.Table | int]:
        """The same, where only the last watermark counts."""
        yield from self.inserts
        yield from [call for call in self.facts["calls"] if call is not None][-1:]

    @property
    def rows(self) -> int:
        return sum(table.num_rows for table in self.inserts)

    @property
    def nbytes(self) -> int:
        """Its bytes before they are compressed."""
        return sum(int(table.nbytes) for table in self.inserts)

    def packed(self) -> bytes:
        facts = json.dumps(self.facts).encode()
        return with_lengths([facts, *(bytes_of(table, compressed=True) for table in self.inserts)])

    @classmethod
    def of(cls, packed: Any) -> Entry:
        with reading("an entry of the journal"):
            facts, *streams = split_by_lengths(packed)
            return cls([table_of(stream) for stream in streams], json.loads(bytes(facts)))


def with_lengths(parts: list[Any]) -> bytes:
    """Parts one after the other, each with its length."""
    return b"".join(piece for part in parts for piece in (_LENGTH.pack(len(part)), part))


def split_by_lengths(payload: Any) -> list[memoryview]:
    """The parts that were joined, not copied; CorruptValue if these are none."""
    view, parts, at = memoryview(payload), [], 0
    while at < len(view):
        with reading("a part of a payload"):
            (length,) = _LENGTH.unpack_from(view, at)
        at += _LENGTH.size
        if length > len(view) - at:
            raise CorruptValue(f"a part of {length} bytes is expected where {len(view) - at} are left")
        parts.append(view[at : at + length])
        at += length
    return parts


def cut(payload: bytes, *, first: int, rows: int = 0) -> dict[int, bytes]:
    """The chunks of a payload, from this number on."""
    pieces = [payload[at : at + PART] for at in range(0, len(payload), PART)] or [b""]
    return {
        first + at: seal(chunk_name(first + at), _WHICH.pack(at, len(pieces), 0 if at else rows) + piece)
        for at, piece in enumerate(pieces)
    }


class Payloads:
    """Read from the chunks of a store."""

    def __init__(self, chunks: Mapping[int, bytes]) -> None:
        self._chunks = chunks

    def at(self, first: int) -> tuple[bytes, int, int]:
        """The payload that begins with this chunk, its rows, and the number after its last chunk."""
        _, count, rows, piece = self._piece(first)
        pieces = [piece, *(self._piece(first + at)[-1] for at in range(1, count))]
        return b"".join(pieces), rows, first + count

    def until(self, end: int) -> bytes | None:
        """The payload whose last chunk is the one before this number; None if it goes on after it."""
        at, count, _, piece = self._piece(end - 1)
        if at + 1 < count:
            return None
        return b"".join([*(self._piece(number)[-1] for number in range(end - 1 - at, end - 1)), piece])

    def between(self, first: int, end: int) -> Iterator[tuple[bytes, int]]:
        """Payloads that follow each other, with their rows."""
        while first < end:
            payload, rows, first = self.at(first)
            yield payload, rows

    def _piece(self, number: int) -> tuple[int, int, int, memoryview]:
        data = self._chunks.get(number)
        if data is None:
            raise CorruptValue(f"the state lacks the chunk {number}")
        payload = unseal(chunk_name(number), data)
        with reading(f"the chunk {number}"):
            return *_WHICH.unpack_from(payload), payload[_WHICH.size :]


def rows_in(payload: memoryview) -> int:
    """How many rows of the journal begin in a chunk that is unsealed."""
    rows: int = _WHICH.unpack_from(payload)[2]
    return rows


def chunk_name(number: int) -> bytes:
    """What a chunk is sealed under."""
    return b"journal %d" % number
