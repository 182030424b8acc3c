"""Timers: which keys have something to do by a given time, without looking at the others.

A binary heap of (time, key) in a table of two words, the least time first. A key that must wake earlier is
pushed again; its old entry is stale then and does no harm, because a key that wakes for nothing does
nothing.
"""

from __future__ import annotations

from sash.aggregation.kernels.compiler.prefetching import prefetch
from sash.arrays import Ints


def push_timers(heap: Ints, count: int, times: Ints, keys: Ints) -> int:
    """Add entries to a heap of `count`, which has room for them; returns the new count."""
    for index in range(len(times)):
        at = count
        count += 1
        while at > 0 and heap[(at - 1) >> 1, 0] > times[index]:
            parent = (at - 1) >> 1
            heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
            at = parent
        heap[at, 0], heap[at, 1] = times[index], keys[index]
    return count


def pop_timers(heap: Ints, count: int, until: int, times: Ints, keys: Ints) -> int:
    """Take out entries of at most `until`, as many as the outputs hold; returns how many."""
    taken = 0
    while count > 0 and heap[0, 0] <= until and taken < len(times):
        times[taken], keys[taken] = heap[0, 0], heap[0, 1]
        taken += 1
        count -= 1
        time, key, at = heap[count, 0], heap[count, 1], 0
        while True:
            child = 2 * at + 1
            if child >= count:
                break
            prefetch(heap, 8 * at + 7, 0)  # those three levels below lie side by side
            prefetch(heap, 8 * at + 13, 0)
            if child + 1 < count and heap[child + 1, 0] < heap[child, 0]:
                child += 1
            if heap[child, 0] >= time:
                break
            heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
            at = child
        heap[at, 0], heap[at, 1] = time, key
    return taken
