"""The layout that operators work on: all keys of a batch at once, in compressed sparse rows.

Keys are dense slots 0 … k − 1. The events of slot s stand at positions offsets[s] ≤ p < offsets[s + 1], in
the query's order. One kernel call then serves every key; nothing loops over keys in Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.rows.csr import is_sorted, rows_by_key
from sash.aggregation.kernels.rows.grouped_positions import Places, count, grows_within, move, place_rows
from sash.aggregation.kernels.windows.bound_positions import cut
from sash.arrays import Array, Ints, Mask
from sash.operators.columns.arrow_columns import raw_values
from sash.operators.columns.coded_keys import BLOCK, CodedBlock, CodedKeys, coded_keys
from sash.operators.threads import in_threads
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
    """Where the events of each key stand, before all of their columns are moved there."""

    rows: pa.Table
    """As they came."""
    places: Places
    """The position of each row."""
    times: Ints
    """By position."""
    offsets: Ints
    order: Order
    threads: int

    @classmethod
    def of(
        cls, rows: pa.Table, keys: list[str], times: Ints, ordinals: Ints | None, order: Order,
        *, threads: int = 1,
    ) -> Arrangement:  # fmt: skip
        """Group `rows` by `keys` and sort each group. Null is a key of its own, as in Spark's groupBy.
        Groups come in the order of their keys, so that most answers need not be sorted again. Without
        `ordinals` rows stand in the order of arrival. What stands in order within each key is not sorted.
        """
        coded = coded_keys(rows, keys, threads=threads)
        offsets, places = _placed(coded)
        moved = _moved([times], places, threads)
        arrived = ordinals is None or is_sorted(ordinals)
        if not arrived or (order is Order.EVENT_TIME and not grows_within(moved, offsets)):
            by = [] if ordinals is None else [ordinals]  # what is equal stays as it stands
            first = np.lexsort(by if order is Order.ARRIVAL else [*by, times])
            sorting = first[rows_by_key(coded.ranked[first], coded.keys)[1]]
            places[sorting] = np.arange(len(sorting))
            moved = times[sorting]
        return cls(rows, places, moved, offsets, order, threads)

    def layout(self, first: int = 0, last: int | None = None) -> Layout:
        """Of the slots first ≤ s < last, which count from 0 there."""
        offsets = self.offsets[first : None if last is None else last + 1]
        begin, end = int(offsets[0]), int(offsets[-1])
        times = self.times[begin:end]
        if self._in_place is not None:
            return Layout(self._in_place.slice(begin, end - begin), times, offsets - begin, self.order)
        columns = {name: moved.slice(begin, end - begin) for name, moved in self._moved.items()}
        others = self.rows.drop_columns(list(columns))
        if others.num_columns:
            taken = others.take(pa.array(self._sorting[begin:end]))
            columns |= {name: taken[name] for name in taken.column_names}
        rows = pa.table([columns[name] for name in self.rows.column_names], schema=self.rows.schema)
        return Layout(rows, times, offsets - begin, self.order)

    @cached_property
    def _in_place(self) -> pa.Table | None:
        """All rows, if they stand where they belong, as those of one key in order do."""
        return self.rows.combine_chunks() if is_sorted(self.places) else None

    @cached_property
    def _moved(self) -> dict[str, Any]:
        """The columns of numbers without nulls, by position."""
        moved: dict[str, Any] = {}
        for name in self.rows.column_names:
            column = self.rows[name]
            chunks = [raw for chunk in column.chunks if (raw := raw_values(chunk)) is not None]
            if chunks and len(chunks) == column.num_chunks:
                values = _moved(chunks, self.places, self.threads)
                moved[name] = pa.Array.from_buffers(column.type, len(column), [None, pa.py_buffer(values)])
        return moved

    @cached_property
    def _sorting(self) -> Ints:
        """The row of each position."""
        return _moved([np.arange(len(self.places))], self.places, self.threads)


def _placed(coded: CodedKeys) -> tuple[Ints, Places]:
    """Where each key begins, and the position of each row."""
    counts = in_threads([partial(_counted, block, coded.keys) for block in coded.blocks])
    offsets = np.zeros(coded.keys + 1, np.int64)
    np.cumsum(np.sum(counts, axis=0), out=offsets[1:])
    # Within a key the rows of a block follow those of the blocks before.
    begins = offsets[:-1] + np.cumsum(counts, axis=0) - counts
    rows = int(offsets[-1])
    places: Places = np.empty(rows, np.int32) if rows < 2**31 else np.empty(rows, np.int64)
    work, at = [], 0
    for block, own in zip(coded.blocks, begins, strict=True):
        until = at + len(block.codes)
        work.append(partial(place_rows, block.codes, own[block.ranks], places[at:until]))
        at = until
    in_threads(work)
    return offsets, places


def _counted(block: CodedBlock, keys: int) -> Ints:
    counts = np.zeros(keys, np.int64)
    counts[block.ranks] = count(block.codes, len(block.ranks))
    return counts


def _moved(chunks: Sequence[Array], places: Places, threads: int) -> Array:
    """The values of chunks that follow each other, by position."""
    out, work, at = np.empty(len(places), chunks[0].dtype), [], 0
    piece = max(BLOCK, -(-len(places) // threads))
    for chunk in chunks:
        for begin in range(0, len(chunk), piece):
            part = chunk[begin : begin + piece]
            work.append(partial(move, part, places[at : at + len(part)], out))
            at += len(part)
    in_threads(work, workers=threads)
    return out


def balanced(offsets: Ints, parts: int) -> list[int]:
    """Where to cut the slots into at most so many runs, about equal in events; none of them is empty.

    >>> balanced(np.array([0, 1, 2, 9, 10]), 2), balanced(np.array([0, 5]), 3), balanced(np.array([0]), 2)
    ([0, 3, 4], [0, 1], [0])
    """
    targets = np.linspace(0, offsets[-1], parts + 1)[1:-1]
    return sorted({0, *np.searchsorted(offsets, targets).tolist(), len(offsets) - 1})


def arrange(rows: pa.Table, keys: list[str], times: Ints, ordinals: Ints | None, order: Order) -> Layout:
    """All events, grouped by key and sorted."""
    return Arrangement.of(rows, keys, times, ordinals, order).layout()
