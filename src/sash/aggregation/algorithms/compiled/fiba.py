"""The finger B-tree in arrays: elements in any order of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sash.aggregation.algorithms.compiled.input_columns import CompiledAlgorithm, Inlet, read_only
from sash.aggregation.algorithms.compiled.time_codecs import TimeCodec
from sash.aggregation.algorithms.nulls import TrailingNulls
from sash.aggregation.algorithms.protocol import Time
from sash.aggregation.elements import ABSENT, Element, ElementBatch
from sash.aggregation.kernels.aggregators.fiba import most_leaves, most_nodes
from sash.aggregation.kernels.aggregators.fiba_tree import (
    EDGES_SIZE,
    FAN_SIZE,
    LATEST,
    LEAF_SIZE,
    MAX_LEVELS,
)
from sash.aggregation.kernels.aggregators.fiba_window import EVER, SUMS_SIZE
from sash.arrays import Array, Ints

SMALLEST = 256
"""Elements that the smallest tree has room for."""


class CompiledFiBA(CompiledAlgorithm):
    """Any order; in-order insert and evict O(1) amortised, out of order O(log d), query O(1)."""

    def __init__(self, inlet: Inlet, clock: TimeCodec) -> None:
        super().__init__(inlet)
        self._clock, self._nulls, self._size = clock, TrailingNulls(), 0
        machine = inlet.machine
        self._room = SMALLEST
        leaves, nodes = _cells(SMALLEST)
        self._edges, self._times = np.zeros(EDGES_SIZE, np.int64), np.zeros(leaves, np.int64)
        self._children, self._firsts = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
        self._leaves, self._folds = inlet.identities(leaves), inlet.identities(nodes)
        self._lefts, self._rights = inlet.identities(MAX_LEVELS), inlet.identities(MAX_LEVELS)
        self._suffixes, self._sums = inlet.identities(LEAF_SIZE), inlet.identities(SUMS_SIZE)
        self._slot: Ints = np.zeros(1, np.int64)
        self._shown = read_only(self._slot)
        self._arrange()
        self._clear_kernel = self._ready("fiba_clear", self._edges, self._times, self._sums)
        empty = read_only(np.empty(0, np.int64))
        self._insert_kernel = self._ready(
            "fiba_insert", machine.columns(machine.empty(0)), empty, *self._tree
        )
        self._evict_kernel = self._ready("fiba_evict", 0, EVER, *self._tree)
        self._query_kernel = self._ready("fiba_query", self._edges, self._suffixes, self._sums)

    def __len__(self) -> int:
        return self._size

    def _arrange(self) -> None:
        self._tree = (
            *(self._edges, self._times, self._leaves, self._children, self._firsts, self._folds),
            *(self._lefts, self._rights, self._suffixes, self._sums),
        )

    def _insert_one(self, element: Element, time: Time) -> None:
        column = self._inlet.one(element)
        self._slot[0] = code = self._clock.code(time)
        self._make_room(1)
        self._insert_kernel(column, self._shown, *self._tree)
        self._nulls.insert(code, element is not ABSENT)
        self._size += 1

    def _insert_batch(self, elements: ElementBatch, times: Sequence[Time]) -> None:
        codes = self._clock.codes(times)
        self._make_room(len(elements))
        self._insert_kernel(elements.columns, read_only(codes), *self._tree)
        self._nulls.insert_batch(codes, elements.known)
        self._size += len(elements)

    def _make_room(self, count: int) -> None:
        if self._size + count <= self._room:
            return
        self._room = 2 * (self._size + count)
        leaves, nodes = _cells(self._room)
        self._times = _longer(self._times, leaves)
        self._children, self._firsts = _longer(self._children, nodes), _longer(self._firsts, nodes)
        self._leaves = tuple(_longer(column, leaves) for column in self._leaves)
        self._folds = tuple(_longer(column, nodes) for column in self._folds)
        self._arrange()

    def _evict(self, count: int) -> None:
        self._leave(count, EVER)

    def _older_than(self, until: Time) -> int:
        raise NotImplementedError("a tree of arrays counts what leaves while it leaves")

    def _evict_older(self, until: Time) -> int:
        return self._leave(self._size, self._clock.last_before(until))

    def _leave(self, count: int, last: int) -> int:
        """Evict at most `count` with codes up to `last`; how many that were."""
        if count == self._size and self._edges.item(LATEST) <= last:
            self._clear_kernel(self._edges, self._times, self._sums)
            gone = count
        else:
            gone = self._evict_kernel(count, last, *self._tree)
        self._size -= gone
        self._nulls.keep(self._size)
        return gone

    def _held_times(self) -> Sequence[Time]:
        raise NotImplementedError("only a window that holds nothing but nulls is taken over")

    def _fold(self) -> Element:
        if self._size == len(self._nulls):
            return ABSENT
        return self._inlet.element(self._query_kernel(self._edges, self._suffixes, self._sums))


def _cells(elements: int) -> tuple[int, int]:
    """Cells for the leaves and the inner nodes of a tree of so many elements."""
    leaves = most_leaves(elements)
    return leaves * LEAF_SIZE, most_nodes(leaves) * FAN_SIZE


def _longer(array: Array, size: int) -> Array:
    longer: Array = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer
