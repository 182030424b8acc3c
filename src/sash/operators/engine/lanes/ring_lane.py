"""A lane of rings: the elements of every key in order, and the tree of their folds (`kernels.state.rings`).

    append     new elements at the end; nodes of the blocks that they complete
    folds      of ranges, from O(log n) elements and nodes each
    let_go     elements at the beginning

What is appended last can be taken back (`keep`), so that windows over events that are not final yet are
computed by the same code, and then forgotten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.kernels.state import busy_key_folds, rings
from sash.aggregation.kernels.state.rings import COUNT, HEAD, LOG
from sash.arrays import Bytes, Ints, Mask
from sash.operators.arena import Arena, TableSpec
from sash.operators.columns.layout import Layout
from sash.operators.engine.lanes.aggregate_tree import TreeGroup
from sash.operators.engine.lanes.byte_heap import ByteHeap
from sash.operators.engine.lanes.element_layout import KNOWN, TIME, Form, LaneAggregate
from sash.operators.engine.lanes.object_tree import ObjectTree
from sash.operators.engine.lanes.slots import Slots
from sash.operators.folding.elements import Elements
from sash.operators.kinds.kind_base import Held
from sash.operators.windows.numbering import numbered
from sash.operators.windows.ranges import Ranges
from sash.semantics.event import Order

SPAN = 2
"""Words of a middle for each group of aggregates: where it begins and ends. Then comes what a node has."""
NO_RUNS = np.empty((0, 2), np.int64)
FOLDS = rings.LIVE + 1
"""In the words of the free lists, after `LIVE`: how many bytes of folds there are."""


class RingLane:
    """The elements of all keys of a bucket, for the windows that share them."""

    def __init__(
        self,
        arena: Arena,
        slots: Slots,
        name: str,
        form: Form,
        *,
        word: int,
        order: Order,
        growing_tail: bool,
        windows: int = 0,
    ) -> None:
        self.arena, self.slots, self.name, self.form, self.word = arena, slots, name, form, word
        self.order, self.growing_tail = order, growing_tail
        self.windows = windows
        """Of how many windows the middles of ranges are remembered: none where elements are taken back."""
        self.combines: Counter[str] = Counter()
        """Of each aggregate, since this object was made."""

    @staticmethod
    def tables(name: str, form: Form) -> dict[str, TableSpec]:
        return {
            name: TableSpec(form.width),
            f"{name}.nodes": TableSpec(form.node_width),
            f"{name}.middles": TableSpec(SPAN * len(form.groups) + form.node_width),
            f"{name}.free": TableSpec(1),
            f"{name}.heap": TableSpec(1, "uint8"),
            f"{name}.folds": TableSpec(1, "uint8"),
        }

    @property
    def elements(self) -> Ints:
        return self.arena.ints(self.name)

    @property
    def nodes(self) -> Ints:
        return self.arena.ints(f"{self.name}.nodes")

    @property
    def _middles(self) -> Ints:
        return self.arena.ints(f"{self.name}.middles")[: None if self.windows else 0]

    @property
    def _free(self) -> Ints:
        """Free lists by size, the first row that was never used, the bytes of the heap, live elements."""
        self.arena.reserve(f"{self.name}.free", FOLDS + 1)
        return self.arena.ints(f"{self.name}.free")[:, 0]

    def _of(self, slots: Ints, word: int) -> Ints:
        found: Ints = self.slots.rows[slots, self.word + word]
        return found

    def held(self, slots: Ints, *, policy: Any = None) -> Held:
        """The elements of these keys, as window kinds see them."""
        base, mask, head, count = np.empty((4, len(slots)), np.int64)
        kernel_of(rings.held_rings)(self.slots.rows, self.word, slots, base, mask, head, count)
        return Held(
            self.elements[:, TIME], base, mask, head, count, self.order, self._column,
            self._gatherer(slots), policy,
        )  # fmt: skip

    def _column(self, name: str) -> Any:
        floats = pa.types.is_floating(self.form.schema.field(name).type)
        table = self.arena.floats(self.name) if floats else self.elements
        return table[:, self.form.numbers[name]]

    # Elements come

    def new_slots(self, slots: Ints) -> None:
        """Keys that have no elements yet."""
        self.slots.rows[slots, self.word + LOG] = -1

    def append(self, slots: Ints, offsets: Ints, rows: pa.Table, times: Ints) -> None:
        """Key slots[k] gets the rows offsets[k] ≤ p < offsets[k + 1], in this order."""
        words, data = self.form.words(rows, times)
        if len(data):
            words[:, self.form.pointers] += self.heap.append(data)
        self.append_words(slots, np.diff(offsets), words)

    def restore(self, slots: Ints, added: Ints, words: Ints, heap: Bytes) -> None:
        """The elements of a lane that has none; their pointers are into this heap."""
        self.heap.append(heap)
        self.append_words(slots, added, words)

    @property
    def heap(self) -> ByteHeap:
        """What elements point into."""
        used = self._free[rings.FREE_LISTS : rings.FREE_LISTS + 1]
        return ByteHeap(self.arena, f"{self.name}.heap", used)

    @property
    def folds(self) -> ByteHeap:
        """What nodes that are objects point into."""
        return ByteHeap(self.arena, f"{self.name}.folds", self._free[FOLDS : FOLDS + 1])

    def append_words(self, slots: Ints, added: Ints, words: Ints) -> None:
        """The same, for elements that are words already: the next added[k] of them are of key slots[k]."""
        grown = np.empty((5, len(slots)), np.int64)
        found = self._append(slots, added, words, grown)
        if found < 0:
            self._reserve(-found)
            found = self._append(slots, added, words, grown)
        if found:
            base, mask, head, first, done = (row[:found] for row in grown)
            self._grow_trees(Held(self.elements[:, TIME], base, mask, head, done), first)

    def _append(self, slots: Ints, added: Ints, words: Ints, grown: Ints) -> int:
        found: int = kernel_of(rings.append)(
            self.slots.rows, self.word, slots, added, words, self.elements, self.nodes, self._middles,
            self.windows, self._free, int(self.growing_tail), *grown,
        )  # fmt: skip
        return found

    def _reserve(self, regions: int) -> None:
        """Room for new regions of so many rows together."""
        needed = int(self._free[rings.TOP]) + regions
        self.arena.reserve(self.name, needed)
        self.arena.reserve(f"{self.name}.nodes", (needed >> 2) + 1)
        self.arena.reserve(f"{self.name}.middles", ((needed >> rings.REMEMBERING) + 1) * self.windows)

    def replace_last(self, slots: Ints, words: Ints) -> None:
        """The last element of each key is another one now; with `growing_tail` no node holds it."""
        held = self.held(slots)
        self.elements[held.positions(np.arange(len(slots)), held.count - 1)] = words

    def last(self, slots: Ints) -> tuple[Mask, Ints]:
        """Which keys have an element, and the words of their last one."""
        held = self.held(slots)
        some = held.head < held.count
        words = np.zeros((len(slots), self.form.width), np.int64)
        keys = np.flatnonzero(some)
        words[keys] = self.elements[held.positions(keys, held.count[keys] - 1)]
        return some, words

    def pane_rows(self, words: Ints, columns: list[str]) -> pa.Table:
        """Elements that are panes as rows: null where an aggregate counts nothing."""
        rows = self.form.rows(words, self.heap.data, columns)
        for aggregate in self.form.aggregates.values():
            blank = (words[:, KNOWN + aggregate.word] & aggregate.bit) == 0
            if blank.any():
                for column in aggregate.monoid.columns:
                    at, field = rows.schema.get_field_index(column), rows.schema.field(column)
                    values = pa.array(rows[column].to_numpy(), field.type, mask=blank)
                    rows = rows.set_column(at, field, values)
        return rows

    def _grow_trees(self, held: Held, first: Ints) -> None:
        """Of these keys, the elements from `first` on are new, and will not change."""
        done = held.count
        for aggregate in self.form.aggregates.values():
            if aggregate.machine is None:
                ObjectTree(self, aggregate).grow(held, first, done)
        for group in self.form.groups:
            combines = group.grow(
                *self._tree(group), self.elements, self.nodes, held.base, held.mask, held.head, first, done
            )
            self._count(group, combines)

    def _count(self, group: TreeGroup, combines: int) -> None:
        for aggregate in group.aggregates:
            self.combines[aggregate.name] += combines

    def _tree(self, group: TreeGroup) -> tuple[Any, ...]:
        """The columns that the tree kernels of a group read and write."""

        def tree() -> tuple[Any, ...]:
            inputs, nodes = zip(*map(self.columns_of, group.aggregates), strict=True)
            known, nodes_known = self.elements[:, KNOWN + group.word], self.nodes[:, group.word]
            return inputs, known, nodes, nodes_known, group.bits, group.wanted

        return self.arena.views(f"{self.name}.tree.{group.number}", tree)

    def _remembered(self, group: TreeGroup) -> tuple[Any, ...]:
        """… and those of the middles that are remembered."""

        def middles() -> tuple[Any, ...]:
            rows, first = self._middles, SPAN * len(self.form.groups)
            folds = tuple(
                columns_as(rows, first + aggregate.node, machine.dtypes)
                for aggregate, machine in zip(group.aggregates, group.machines, strict=True)
            )
            return folds, rows[:, first + group.word], rows, SPAN * group.number

        return self.arena.views(f"{self.name}.middles.{group.number}", middles)

    def columns_of(self, aggregate: LaneAggregate) -> tuple[Columns, Columns]:
        """What an aggregate lifts of elements, and its folds in nodes."""
        machine = aggregate.machine
        assert machine is not None
        inputs = tuple(
            _typed(self.elements, self.form.numbers[column], self.form.schema.field(column).type)
            for column in aggregate.monoid.columns
        )
        return inputs, columns_as(self.nodes, aggregate.node, machine.dtypes)

    # Elements go

    def keep(self, slots: Ints, counts: Ints) -> None:
        """Take back all but the first `counts` elements of each key."""
        self._free[rings.LIVE] -= (self._of(slots, COUNT) - counts).sum()
        self.slots.rows[slots, self.word + COUNT] = counts

    def let_go(self, slots: Ints, heads: Ints) -> None:
        """Elements before these ordinals are needed no more."""
        rows, free = self.slots.rows, self._free
        regions = kernel_of(rings.let_go)(rows, self.word, slots, heads, self.elements, free)
        if regions:
            self._reserve(regions)
            kernel_of(rings.shrink)(
                rows, self.word, slots, self.elements, self.nodes, self._middles, self.windows, free
            )

    @property
    def size(self) -> int:
        """Bytes of the elements that are held, and of the heap that they point into."""
        return 8 * self.form.width * int(self._free[rings.LIVE]) + self.heap.size

    @property
    def folds_size(self) -> int:
        """Bytes of the nodes above the elements."""
        return 2 * self.form.node_width * int(self._free[rings.LIVE]) + self.folds.size

    def is_empty(self, slots: Ints) -> Mask:
        empty: Mask = self._of(slots, HEAD) >= self._of(slots, COUNT)
        return empty

    # Folds

    def folds_of(
        self, names: Sequence[str], held: Held, ranges: Ranges, *, window: int = 0, dealt: int = 1
    ) -> dict[str, Elements]:
        """The fold of each range, whose slots index `held`, for these aggregates. The ranges are those of
        `dealt` windows of the lane by turns, from `window` on; folds are those of the first window, then
        those of the second, …"""
        found: dict[str, Elements] = {}
        runs = NO_RUNS, np.array([[0, len(ranges)]], np.int64)
        if len(ranges) and np.bincount(ranges.slot[::dealt]).max() >= busy_key_folds.LEAST:
            runs = kernel_of(busy_key_folds.long_runs)(ranges.slot, ranges.lo, ranges.hi, dealt)
        for group in self.form.groups:
            if any(aggregate.name in names for aggregate in group.aggregates):
                found |= self._folds_of_group(group, held, ranges, window, dealt, *runs)
        for name in names:
            aggregate = self.form.aggregates[name]
            if aggregate.machine is None:
                parts = [ranges.take(np.arange(at, len(ranges), dealt)) for at in range(dealt)]
                folds = [ObjectTree(self, aggregate).fold(held, part) for part in parts]
                found[name] = Elements.joined(folds, 0, len(ranges))
        return found

    def _folds_of_group(
        self,
        group: TreeGroup,
        held: Held,
        ranges: Ranges,
        window: int,
        dealt: int,
        runs: Ints,
        others: Ints,
    ) -> dict[str, Elements]:
        """`runs` and `others` are all ranges: those that follow each other, and the rest."""
        out = tuple(machine.empty(len(ranges)) for machine in group.machines)
        counted = np.empty(len(ranges), np.int64)
        tree = (*self._tree(group), self.elements, self.nodes)
        where = held.base, held.mask, held.count, int(self.growing_tail), ranges.slot, ranges.lo, ranges.hi
        combines = 0
        if len(others):
            combines += group.fold(
                *tree, *self._remembered(group), *where, window, self.windows, dealt, out, counted, others
            )
        if len(runs):
            combines += group.fold_runs(*tree, *where, runs, dealt, out, counted)
        self._count(group, combines)
        everywhere = bool((counted == group.wanted).all())
        return {
            aggregate.name: Elements(columns, None if everywhere else _where(counted & aggregate.bit))
            for aggregate, columns in zip(group.aggregates, out, strict=True)
        }

    def steps(self, held: Held, ranges: Ranges, *, lengths: Ints) -> tuple[Ints, Ints]:
        """The elements and nodes that the folds of these ranges are made of; only such nodes as are kept,
        whose length is not negative."""
        done = np.maximum(held.count - int(self.growing_tail), 0) & ~np.int64(rings.LEAF - 1)
        found: tuple[Ints, Ints] = kernel_of(rings.steps_of)(
            held.base, held.mask, done, ranges.slot, ranges.lo, ranges.hi, lengths, self.elements,
            self.nodes,
        )  # fmt: skip
        return found

    def gathered(self, held: Held, ranges: Ranges, columns: list[str]) -> tuple[pa.Table, Ints, Ints]:
        """Rows of all ranges, the elements of a key once; and where each range lies among them."""
        keys, first = np.unique(ranges.slot, return_index=True)
        # Not those of its first and last: windows that are reported several times come in another order.
        begin = np.minimum.reduceat(ranges.lo, first) if len(keys) else ranges.lo
        end = np.maximum.reduceat(ranges.hi, first) if len(keys) else begin
        which, number = numbered(np.maximum(end - begin, 0))
        positions = held.positions(keys[which], begin[which] + number)
        words = self.elements[positions]
        rows = self.pane_rows(words, columns) if self.growing_tail else self.rows_of(words, columns)
        offsets = np.concatenate(([0], np.cumsum(np.maximum(end - begin, 0))))[:-1]
        key = np.searchsorted(keys, ranges.slot)
        moved = offsets[key] - begin[key]
        return rows, ranges.lo + moved, ranges.hi + moved

    def rows_of(self, words: Ints, columns: list[str]) -> pa.Table:
        """Columns of elements; there is a row for each, also if there are no columns."""
        if not columns:
            return pa.table({"": pa.nulls(len(words))})
        return self.form.rows(words, self.heap.data, columns)

    def _gatherer(self, slots: Ints) -> Callable[[], Layout]:
        def gather() -> Layout:
            held = self.held(slots)
            sizes = held.count - held.head
            which, number = numbered(sizes)
            words = self.elements[held.positions(which, held.head[which] + number)]
            rows = self.rows_of(words, list(self.form.extra))
            offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
            return Layout(rows, np.ascontiguousarray(words[:, TIME]), offsets, self.order)

        return gather


def _where(marks: Ints) -> Mask | None:
    known: Mask = marks != 0
    return None if known.all() else known


def columns_as(words: Ints, first: int, dtypes: tuple[np.dtype[Any], ...]) -> Columns:
    """Columns of a table of words from `first` on, as these types."""
    return tuple(_as(words, first + at, dtype) for at, dtype in enumerate(dtypes))


def _typed(words: Ints, at: int, type_: pa.DataType) -> Any:
    """A column of elements as kernels lift it."""
    if pa.types.is_floating(type_):
        return _as(words, at, np.dtype(np.float64))
    return _as(words, at, np.dtype(np.bool_) if pa.types.is_boolean(type_) else np.dtype(np.int64))


def _as(words: Ints, at: int, dtype: np.dtype[Any]) -> Any:
    if dtype == np.float64:
        return words.view(np.float64)[:, at]
    # The first byte of a word, which is the lowest: a truth is 0 or 1.
    return words.view(np.bool_)[:, 8 * at] if dtype == np.bool_ else words[:, at]
