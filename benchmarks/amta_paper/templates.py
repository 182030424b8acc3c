"""Kernel templates that only these experiments need, in the words of the library's own.

Bulk evictions are repeated inside a kernel, because a single one is shorter than the call of a kernel from
Python.
"""

from __future__ import annotations

from sash.aggregation.kernels.aggregators.amta import amta_evict, amta_query
from sash.aggregation.kernels.aggregators.daba import daba_evict, daba_query
from sash.aggregation.kernels.compiler.template_words import (
    Columns,
    Element,
    combine,
    identity,
    load,
    store,
)
from sash.arrays import Ints


def two_stacks_bulk_evict(columns: Columns, suffixes: Columns, k: int, times: int) -> Element:
    """Evict k of a window that has just been filled: one flip of what stays. `times` times over."""
    total = identity()
    for _ in range(times):
        total = identity()
        for i in range(len(columns[0]) - 1, k - 1, -1):
            total = combine(load(columns, i), total)
            store(suffixes, i, total)
    return total


def daba_evict_on(ring: Columns, edge: Columns, header: Ints, k: int, times: int) -> Element:
    """Evict k, then k of what is left, and so on, `times` times: DABA cannot go back."""
    total = identity()
    for _ in range(times):
        daba_evict(ring, edge, header, k)
        total = daba_query(ring, edge, header)
    return total


def amta_evict_often(ring: Columns, edge: Columns, header: Ints, full: Ints, k: int, times: int) -> Element:
    """Evict k of a window that has just been filled, whose header begins as `full`; `times` times over."""
    for _ in range(times):
        for i in range(len(full)):
            header[i] = full[i]
        amta_evict(ring, edge, header, k)
    return amta_query(ring, edge, header)
