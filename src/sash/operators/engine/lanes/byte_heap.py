"""Bytes of an arena that are only appended to; `heap_compaction` drops those that nobody points to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sash.arrays import Bytes, Ints
from sash.operators.arena import Arena


@dataclass(frozen=True)
class ByteHeap:
    """A table of bytes, and how many of them are in use: one number, in its place."""

    arena: Arena
    name: str
    used: Ints

    @property
    def data(self) -> Bytes:
        return self.arena.bytes_of(self.name)

    @property
    def size(self) -> int:
        return int(self.used[0])

    def append(self, data: bytes | Bytes) -> int:
        """Where these bytes begin."""
        begin, end = self.size, self.size + len(data)
        self.arena.reserve(self.name, end)
        self.data[begin:end] = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
        self.used[0] = end
        return begin
