"""Agnostic workers: one owner keeps the buffer and triggers windows, whoever is free computes them.

    owner:    append a chunk → windows are complete → … → feedback → free chunks
    worker:   take a descriptor → compute → feedback

The owner stops to append while enough events are alive and there is work to do: a buffer in shared memory
is then no larger than the windows at work need. A worker waits until a whole descriptor of windows is
complete, so that what it computes does not depend on the size of chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from threading import Condition

import numpy as np

from sash.arrays import Ints
from sash.operators.bound_query import BoundWhole
from sash.operators.folding.values import Values, in_order
from sash.operators.patterns.owner import Descriptor, Owner
from sash.operators.patterns.window_share import WindowShare
from sash.operators.patterns.worker_pool import WorkerPool

CHUNK = 2**16
"""Events in a chunk."""
SPARE = 4
"""How many chunks the owner keeps ahead of the windows at work."""
TURNS = 16
"""How often a worker comes for more: often enough to balance windows of uneven cost."""
OVERLAP = 8
"""How many times its longest window a descriptor spans when windows are folded: neighbours share their work
within a descriptor, and do it again in the next."""


def handed_out(
    share: WindowShare, pool: WorkerPool, *, workers: int, chunk: int = CHUNK, span: int | None = None
) -> Values:
    """The values of all windows of the share, in order. A chunk has `chunk` events or, where `span` is
    given, those between two multiples of so much time."""
    buffer = SharedBuffer(share, pool, workers=workers)
    ends = chunk_ends(share.layout.times, chunk=chunk, span=span)
    with ThreadPoolExecutor(workers, thread_name_prefix="sash") as executor:
        busy = [executor.submit(buffer.work) for _ in range(workers)]
        buffer.fill(ends)
        return in_order(values for worker in busy for values in worker.result())


class SharedBuffer:
    """An owner, its lock, and what both sides do with it."""

    def __init__(self, share: WindowShare, pool: WorkerPool, *, workers: int) -> None:
        self.share, self.pool, self.workers = share, pool, workers
        self.owner = Owner(share.ranges)
        self.most = max(1, len(share) // _descriptors(share, workers))
        self.inside = len(share.layout.times) * self.most // max(len(share), 1) + share.ranges.longest
        """About how many events a descriptor has."""
        self.changed = Condition()
        self.failed = False
        self.highest = 0
        """The most chunks that were ever alive."""

    def fill(self, ends: Ints) -> None:
        """The owner's part: the events of the stream, chunk by chunk."""
        # Small chunks are appended several at a time: locks and waiting cost more than they do.
        several = min(CHUNK, self.inside // 2)
        start = at = 0
        try:
            while at < len(ends):
                upto = max(at + 1, int(np.searchsorted(ends, start + several, side="right")))
                if not self._append([start, *ends[at:upto].tolist()]):
                    return
                start, at = int(ends[upto - 1]), upto
        except BaseException:
            self._give_up()
            raise

    def work(self) -> list[Values]:
        """A worker's part, until no window is left."""
        computed = []
        for descriptor in self._taken():
            try:
                computed.append(self._compute(descriptor))
            except BaseException:
                self._give_up()
                raise
            with self.changed:
                free = self.owner.done(descriptor)
                self.changed.notify_all()
            for chunk in free:
                self.pool.free(chunk)
        return computed

    def _give_up(self) -> None:
        """Nobody waits for somebody who has failed."""
        with self.changed:
            self.failed = True
            self.changed.notify_all()

    def _has_room(self) -> bool:
        owner = self.owner
        few = owner.live < self.workers + SPARE or owner.held < (self.workers + 1) * self.inside
        if self.failed or few:
            return True
        return owner.given == owner.finished and not owner.ready(self.most)

    def _append(self, cuts: list[int]) -> bool:
        """Append the chunks between these cuts, and wait until there is room for more; False when none is
        needed."""
        rows = self.share.layout.rows
        chunks = [(self.pool.put(rows, start, stop), stop - start) for start, stop in pairwise(cuts)]
        with self.changed:
            for chunk, events in chunks:
                self.owner.arrive(chunk, events)
            self.highest = max(self.highest, self.owner.live)
            if self.owner.ready(self.most):
                self.changed.notify_all()
            self.changed.wait_for(self._has_room)
            return not self.failed and self.owner.finished < len(self.share)

    def _taken(self) -> Iterator[Descriptor]:
        while True:
            with self.changed:
                self.changed.wait_for(self._can_go_on)
                descriptor = None if self.failed else self.owner.take(self.most)
            if descriptor is None:
                return
            yield descriptor

    def _can_go_on(self) -> bool:
        nothing_left = self.owner.given == len(self.share)
        return self.failed or nothing_left or self.owner.ready(self.most)

    def _compute(self, descriptor: Descriptor) -> Values:
        windows = np.arange(descriptor.first, descriptor.last)
        ranges = self.share.ranges.take(windows)
        ranges = replace(ranges, lo=ranges.lo - descriptor.base, hi=ranges.hi - descriptor.base)
        return self.pool.values(descriptor.chunks, ranges).owned_by(self.share.windows[windows])


def chunk_ends(times: Ints, *, chunk: int = CHUNK, span: int | None = None) -> Ints:
    """Positions behind the last event of each chunk.

    >>> chunk_ends(np.array([3, 5, 9, 10, 31]), chunk=2).tolist()
    [2, 4, 5]
    >>> chunk_ends(np.array([3, 5, 9, 10, 31]), span=10).tolist()
    [3, 4, 5]
    """
    events = len(times)
    if span is None:
        return np.minimum(np.arange(chunk, events + chunk, chunk), events)
    changes = np.flatnonzero(np.diff(times // span)) + 1
    return np.append(changes, events) if events else changes


def _descriptors(share: WindowShare, workers: int) -> int:
    """Into how many descriptors the windows are cut."""
    if isinstance(share.bound, BoundWhole):
        return workers * TURNS
    spans = len(share.layout.times) // (OVERLAP * max(share.ranges.longest, 1))
    return max(workers, min(spans, workers * TURNS))
