"""Windows that live on between calls: what the FIFO structures' kernels share.

    <name>_insert(columns, ring, edge, header)      all of `columns`, for which the ring has room
    <name>_evict(ring, edge, header, k)             the k oldest, k ≤ end − head
    <name>_query(ring, edge, header)                the fold of the window

`ring` has a cell per position, at position & (capacity − 1); capacity is a power of two. `edge` is a fixed
number of cells, at first all identity, and `header` of integers, at first all 0. Positions are never
renumbered: the window is [header[HEAD], header[END]). The arrays are changed in place and never copied; the
caller exchanges a ring that is full for a larger one.
"""

from __future__ import annotations

from sash.aggregation.kernels.compiler.template_words import Columns, Element, combine, load, store
from sash.arrays import Ints

HEAD, END = 0, 1


def append(columns: Columns, ring: Columns, edge: Columns, header: Ints) -> None:
    """Insert all of `columns`; the first cell of `edge` has their running fold."""
    mask = len(ring[0]) - 1
    end = header[END]
    total = load(edge, 0)
    for i in range(len(columns[0])):
        newest = load(columns, i)
        store(ring, (end + i) & mask, newest)
        total = combine(total, newest)
    store(edge, 0, total)
    header[END] = end + len(columns[0])


def capacity_for(window: int) -> int:
    """The cells of a ring that holds so many elements, and one more that has just come."""
    capacity = 1
    while capacity <= window + 1:
        capacity *= 2
    return capacity


def suffix_folds(
    source: Columns, lo: int, hi: int, total: Element, suffixes: Columns, base: int
) -> Element:
    """suffixes[i − base] = source[i] ⊕ … ⊕ source[hi − 1] ⊕ total, for lo ≤ i < hi; the last of them."""
    for i in range(hi - 1, lo - 1, -1):
        total = combine(load(source, i), total)
        store(suffixes, i - base, total)
    return total
