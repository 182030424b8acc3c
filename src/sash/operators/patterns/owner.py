"""The owner of a window buffer: which windows are complete, who has which, and which chunks can go.

    complete   hi ≤ events that have arrived
    floor      lo of the oldest window that nobody has finished
    a chunk is free when it ends at or before the floor

Windows are handed out as descriptors: numbers of windows and the chunks that they lie in. Neither lo nor hi
ever decreases, so the complete windows are the first ones, and the oldest unfinished window has the least
lo. Workers finish in any order; what is finished early waits until all windows before it are.

This is the chunked buffer of the agnostic model (Mencagli et al., JPDC 2018): nobody but the owner writes,
readers never lock. Only bookkeeping is here; whoever uses it holds a lock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from sash.operators.patterns.worker_pool import PooledRows
from sash.operators.windows.ranges import Ranges


@dataclass(frozen=True)
class Descriptor:
    """Windows first ≤ i < last, and the chunks that hold their events; position 0 there is `base`."""

    first: int
    last: int
    base: int
    chunks: tuple[PooledRows, ...]


class Owner:
    """Bookkeeping over ranges whose lo and hi never decrease."""

    def __init__(self, ranges: Ranges) -> None:
        self.lo, self.hi = ranges.lo, ranges.hi
        self.arrived = 0
        self.given = 0
        self.finished = 0
        """All windows before this one are done."""
        self._early: dict[int, int] = {}
        self._chunks: deque[tuple[int, int, PooledRows]] = deque()

    @property
    def live(self) -> int:
        """How many chunks are still held."""
        return len(self._chunks)

    @property
    def held(self) -> int:
        """How many events these have."""
        return self.arrived - self._chunks[0][0] if self._chunks else 0

    def ready(self, most: int) -> bool:
        """Whether the next `most` windows, or all that are left, have all their events."""
        last = min(self.given + most, len(self.hi))
        return last > self.given and bool(self.hi[last - 1] <= self.arrived)

    @property
    def complete(self) -> int:
        """How many windows have all their events."""
        return int(np.searchsorted(self.hi, self.arrived, side="right"))

    @property
    def floor(self) -> int:
        """The oldest position that a window may still need."""
        return int(self.lo[self.finished]) if self.finished < len(self.lo) else self.arrived

    def arrive(self, chunk: PooledRows, events: int) -> None:
        """The next events of the stream."""
        self._chunks.append((self.arrived, self.arrived + events, chunk))
        self.arrived += events

    def take(self, most: int) -> Descriptor | None:
        """Up to `most` complete windows that nobody has yet; None when there is none."""
        first, last = self.given, min(self.complete, self.given + most)
        if first >= last:
            return None
        self.given = last
        lo, hi = int(self.lo[first]), int(self.hi[last - 1])
        held = [(start, chunk) for start, end, chunk in self._chunks if end > lo and start < hi]
        return Descriptor(first, last, held[0][0] if held else lo, tuple(chunk for _, chunk in held))

    def done(self, descriptor: Descriptor) -> list[PooledRows]:
        """Feedback of a worker, in any order; answers with the chunks that nobody needs any more."""
        self._early[descriptor.first] = descriptor.last
        while self.finished in self._early:
            self.finished = self._early.pop(self.finished)
        free = []
        while self._chunks and self._chunks[0][1] <= min(self.floor, self.arrived):
            free.append(self._chunks.popleft()[2])
        return free
