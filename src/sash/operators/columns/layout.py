"""The layout that operators work on: all keys of a batch at once, in compressed sparse rows.

Keys are dense slots 0 … k − 1. The events of slot s stand at positions offsets[s] ≤ p < offsets[s + 1], in
the query's order. One kernel call then serves every key; nothing loops over keys in Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.kernels.rows.csr import is_sorted, rows_by_key
from sash.aggregation.kernels.windows.cuts import cut
from sash.arrays import Ints, Mask
from sash.semantics.event import Event, Order


@dataclass(frozen=True)
class Layout:
    """A batch of events, grouped by key and sorted within each key."""

    rows: pa.Table
    """The events, one row a position."""
    times: Ints
    offsets: Ints
    order: Order

    @property
    def slots(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        """How many events each slot has."""
        return np.diff(self.offsets)

    @property
    def firsts(self) -> Ints:
        """The positions of the first events of all slots that have one."""
        return self.offsets[:-1][self.sizes > 0]

    def where(self, chosen: Mask) -> Layout:
        """The layout of the chosen positions only; slots that lose all their events stay, empty."""
        offsets = np.concatenate(([0], np.cumsum(chosen)))[self.offsets]
        return Layout(self.rows.filter(pa.array(chosen)), self.times[chosen], offsets, self.order)

    def slot_of_position(self) -> Ints:
        return np.repeat(np.arange(self.slots), self.sizes)

    def before(self, time: int) -> Ints:
        """How many events of each slot have a time below `time`; all of them in arrival order, which does
        not need time."""
        if self.order is Order.ARRIVAL:
            return self.sizes
        slots = np.arange(self.slots)
        counts: Ints = cut(self.times, self.offsets, slots, np.full(self.slots, time)) - self.offsets[:-1]
        return counts

    def events(self) -> Iterator[tuple[int, list[Event]]]:
        """The events of each slot as objects, with the position of the first, for what is interpreted."""
        values = self.rows.to_pylist()
        for slot in range(self.slots):
            lo, hi = int(self.offsets[slot]), int(self.offsets[slot + 1])
            yield lo, [Event(int(self.times[p]), p - lo, slot, values[p]) for p in range(lo, hi)]


@dataclass(frozen=True)
class Arrangement:
    """Where the events of each key stand, before they are moved there."""

    rows: pa.Table
    times: Ints
    sorting: Ints
    """The row of each position."""
    offsets: Ints
    order: Order

    @classmethod
    def of(cls, rows: pa.Table, keys: list[str], times: Ints, ordinals: Ints, order: Order) -> Arrangement:
        """Group `rows` by `keys` and sort each group. Null is a key of its own, as in Spark's groupBy.
        Groups come in the order of their keys, so that most answers need not be sorted again."""
        codes = key_codes(rows, keys, ranked=True)
        slots = int(codes.max()) + 1 if len(codes) else 0
        by = (ordinals,) if order is Order.ARRIVAL else (times, ordinals)
        if is_sorted(*by):
            offsets, sorting = rows_by_key(codes, slots)
        else:
            first = np.lexsort(by[::-1])
            offsets, then = rows_by_key(codes[first], slots)
            sorting = first[then]
        return cls(rows, times, sorting, offsets, order)

    def layout(self, first: int = 0, last: int | None = None) -> Layout:
        """Of the slots first ≤ s < last, which count from 0 there."""
        offsets = self.offsets[first : None if last is None else last + 1]
        sorting = self.sorting[offsets[0] : offsets[-1]]
        return Layout(
            self.rows.take(pa.array(sorting)), self.times[sorting], offsets - offsets[0], self.order
        )


def balanced(offsets: Ints, parts: int) -> list[int]:
    """Where to cut the slots into at most so many runs, about equal in events; none of them is empty.

    >>> balanced(np.array([0, 1, 2, 9, 10]), 2), balanced(np.array([0, 5]), 3), balanced(np.array([0]), 2)
    ([0, 3, 4], [0, 1], [0])
    """
    targets = np.linspace(0, offsets[-1], parts + 1)[1:-1]
    return sorted({0, *np.searchsorted(offsets, targets).tolist(), len(offsets) - 1})


def arrange(rows: pa.Table, keys: list[str], times: Ints, ordinals: Ints, order: Order) -> Layout:
    """All events, grouped by key and sorted."""
    return Arrangement.of(rows, keys, times, ordinals, order).layout()


def key_codes(rows: pa.Table, keys: list[str], *, ranked: bool = False) -> Ints:
    """A dense number for every row, equal exactly where all key columns are equal; `ranked`: it grows with
    the key, as columns are sorted."""
    codes = np.zeros(rows.num_rows, np.int64)
    for number, key in enumerate(keys):
        column = rows[key].combine_chunks()
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.equal(column, 0.0), pa.scalar(0.0, column.type), column)  # −0.0 is 0.0
        encoded = pc.dictionary_encode(column, null_encoding="encode")
        own = encoded.indices.to_numpy(zero_copy_only=False)
        if ranked:
            rank = np.empty(len(encoded.dictionary), np.int64)
            rank[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(rank))
            own = rank[own]
        own = own.astype(np.int64, copy=False)
        if number == 0:
            codes = own  # dense already
        else:
            codes = np.unique(codes * len(encoded.dictionary) + own, return_inverse=True)[1]
    return codes
