"""Kernel templates that only these experiments need, in the words of the library's own.

The library ships no compiled Log MTA and no compiled recalculation, because nobody should choose them for a
stream of single evictions; to be shown side by side with the others they are written here. Bulk evictions
are repeated inside a kernel, because a single one is shorter than the call of a kernel from Python.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sash.aggregation.kernels.amta import amta_bulk_evict
from sash.aggregation.kernels.daba import daba_bulk_evict
from sash.aggregation.kernels.vocabulary import Columns, Element, combine, identity, load, scratch, store

Ints: TypeAlias = npt.NDArray[np.int64]


def recalculate(columns: Columns, window: int, out: Columns) -> None:
    """out[r] = the fold of the r-th full window, [r, r + window), from scratch."""
    for r in range(len(out[0])):
        total = identity()
        for i in range(r, r + window):
            total = combine(total, load(columns, i))
        store(out, r, total)


def log_mta(columns: Columns, window: int, out: Columns) -> None:
    """out[i] = the fold of the last `window` elements up to i, put together from aligned blocks.

    The forest is kept as in the library's AMTA kernel: an odd block at its start, the even ones that
    matter in one tail a level.
    """
    capacity = 1
    while capacity <= window + 1:
        capacity *= 2
    mask = capacity - 1
    nodes = scratch(capacity)
    tails = scratch(64)
    for i in range(len(out[0])):
        block = load(columns, i)
        level = 0
        while (i >> level) & 1:
            store(nodes, ((i >> level) << level) & mask, block)
            block = combine(load(tails, level), block)
            level += 1
        store(tails, level, block)
        head = max(0, i + 1 - window)
        total = identity()
        start = i + 1
        level = 0
        while start > head:
            while not (start >> level) & 1:
                level += 1
            start -= 1 << level
            if start >= head:
                total = combine(load(tails, level), total)
        # The last block began before the window: of it, the right halves that lie inside.
        while start < head:
            level -= 1
            half = start + (1 << level)
            if half < head:
                start = half
            else:
                total = combine(load(nodes, half & mask), total)
                if half == head:
                    start = half
        store(out, i, total)


def two_stacks_bulk_evict(columns: Columns, suffixes: Columns, k: int, times: int) -> Element:
    """Evict k of a window that has just been filled: one flip of what stays. `times` times over."""
    total = identity()
    for _ in range(times):
        total = identity()
        for i in range(len(columns[0]) - 1, k - 1, -1):
            total = combine(load(columns, i), total)
            store(suffixes, i, total)
    return total


def daba_bulk_evict_on(ring: Columns, scalars: Columns, borders: Ints, k: int, times: int) -> Element:
    """Evict k, then k of what is left, and so on, `times` times: DABA cannot go back."""
    total = identity()
    for _ in range(times):
        total = daba_bulk_evict(ring, scalars, borders, k)
    return total


def amta_bulk_evict_often(
    nodes: Columns, tails: Columns, folds: Columns, stack: Ints, spans: Ints, full: Ints, k: int, times: int
) -> Element:
    """Evict k of a window that has just been filled, whose spans are `full`; `times` times over."""
    for _ in range(times):
        for i in range(4):
            spans[i] = full[i]
        amta_bulk_evict(nodes, tails, folds, stack, spans, k)
    return load(folds, spans[3] - 1)
