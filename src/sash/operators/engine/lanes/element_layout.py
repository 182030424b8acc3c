"""What an element of a lane looks like: a row of words.

    time · which aggregates it counts for · numeric inputs, each column once · other inputs, whole rows

An element is an event, or a pane: then the inputs are the parts of its partial aggregates. Numbers are
lifted by the kernels that read them; values that are no numbers lie in the lane's heap (see `row_words`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.compiler.compiled import Compiled
from sash.aggregation.monoid import Monoid
from sash.arrays import Array, Bytes, Ints, Mask
from sash.errors import IntegerOverflow
from sash.operators.columns.arrow_columns import from_numpy, kind_of_type, to_numpy
from sash.operators.engine.groups.user_fold import ACCUMULATOR, Steps
from sash.operators.engine.lanes.aggregate_tree import TreeGroup, groups_of
from sash.operators.engine.lanes.row_words import BITS, Words
from sash.operators.folding.fold_ranges import ColumnFolder, Folder, ObjectFolder, folder_of
from sash.operators.folding.whole_windows import Fold

TIME, KNOWN = 0, 1


@dataclass(frozen=True)
class LaneAggregate:
    """One aggregate over the elements of a lane."""

    name: str
    monoid: Monoid
    folder: Folder
    number: int
    """Its place among the lane's aggregates."""
    node: int
    """The first word of its fold in a node."""

    @property
    def machine(self) -> Compiled | None:
        """What folds it, when its elements are numbers."""
        return self.folder.machine if isinstance(self.folder, ColumnFolder) else None

    @property
    def node_words(self) -> int:
        """How many words of a node are its fold's: its fields, or what `object_tree` keeps of objects."""
        return 3 if self.machine is None else len(self.machine.dtypes)

    @property
    def word(self) -> int:
        return self.number // BITS

    @property
    def bit(self) -> int:
        return 1 << self.number % BITS


@dataclass(frozen=True)
class Form:
    """Of the elements of one lane."""

    schema: pa.Schema
    """Of the rows that elements are made of."""
    monoids: Mapping[str, Monoid]
    extra: tuple[str, ...] = ()
    """Columns that are needed besides those of the aggregates."""
    whole_rows: bool = False
    steps: Fold | None = None
    """What steps from one accumulator to the next, where that is kept."""

    @cached_property
    def aggregates(self) -> dict[str, LaneAggregate]:
        found, word = {}, -(-len(self.monoids) // BITS)
        for number, (name, monoid) in enumerate(self.monoids.items()):
            folder = self._folder(monoid)
            found[name] = aggregate = LaneAggregate(name, monoid, folder, number, word)
            word += aggregate.node_words
        return found

    @cached_property
    def groups(self) -> list[TreeGroup]:
        """The aggregates whose elements are numbers, as they are folded together."""
        return groups_of(self.aggregates.values())

    def _folder(self, monoid: Monoid) -> Folder:
        if self.steps is not None and monoid.name == ACCUMULATOR:
            return Steps(self.steps)
        folder = folder_of(monoid, self.schema)
        has_objects = isinstance(folder, ColumnFolder) and folder.machine.shape.has_objects
        return ObjectFolder(monoid) if has_objects else folder

    @property
    def known_words(self) -> int:
        return max(1, -(-len(self.monoids) // BITS))

    @cached_property
    def _columns(self) -> list[str]:
        wanted = dict.fromkeys(c for monoid in self.monoids.values() for c in monoid.columns)
        return list(wanted | dict.fromkeys(self.extra))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The word of each numeric column."""
        numeric = [c for c in self._columns if kind_of_type(self.schema.field(c).type) != "object"]
        return {column: KNOWN + self.known_words + at for at, column in enumerate(numeric)}

    @cached_property
    def others(self) -> Words:
        """The columns that are no numbers; or all, where whole rows are needed."""
        names = [c for c in self._columns if c not in self.numbers]
        return Words(self.schema if self.whole_rows else pa.schema([self.schema.field(c) for c in names]))

    @property
    def _others_at(self) -> int:
        return KNOWN + self.known_words + len(self.numbers)

    @property
    def other_places(self) -> list[int]:
        """The first word of each column that is no number."""
        return [self._others_at + place for place in self.others.places]

    @cached_property
    def width(self) -> int:
        return self._others_at + (self.others.width if len(self.others.schema) else 0)

    @cached_property
    def node_width(self) -> int:
        return self.known_words + sum(a.node_words for a in self.aggregates.values())

    def words(self, rows: pa.Table, times: Ints) -> tuple[Ints, Bytes]:
        """Rows as elements, and the bytes that they point into."""
        words = np.zeros((len(times), self.width), np.int64)
        words[:, TIME] = times
        valid: dict[str, Mask | None] = {}
        for column, word in self.numbers.items():
            values, valid[column] = to_numpy(rows[column])
            words[:, word] = bits_of(values, column)
        for aggregate in self.aggregates.values():
            known = aggregate.folder.known(rows)
            bit = aggregate.bit if known is None else known.astype(np.int64) * aggregate.bit
            words[:, KNOWN + aggregate.word] |= bit
        if not len(self.others.schema):
            return words, np.empty(0, np.uint8)
        words[:, self._others_at :], data = self.others.encode(rows.select(self.others.schema.names))
        return words, data

    @cached_property
    def pointers(self) -> Ints:
        """The words that point into the heap."""
        if not len(self.others.schema):
            return np.empty(0, np.int64)
        return self._others_at + np.flatnonzero(self.others.variable)

    @cached_property
    def node_pointers(self) -> Ints:
        """The words of a node that point into the heap of folds."""
        objects = [a.node for a in self.aggregates.values() if a.machine is None]
        return np.array(objects, np.int64)

    def rows(self, words: Ints, heap: Bytes, columns: list[str]) -> pa.Table:
        """Columns of elements, as rows again. Numbers whose aggregates do not count them are not null."""
        found: dict[str, Any] = {}
        others = None
        for column in columns:
            if column in self.others.schema.names:
                if others is None:
                    others = self.others.decode(np.ascontiguousarray(words[:, self._others_at :]), heap)
                found[column] = others[column]
            else:
                found[column] = numbers_as(words[:, self.numbers[column]], self.schema.field(column).type)
        return pa.table(found, schema=pa.schema([self.schema.field(column) for column in columns]))


def bits_of(values: Array, column: str) -> Ints:
    """Numbers as words; what does not fit into a signed integer is refused."""
    if values.dtype.kind == "f":
        return values.astype(np.float64).view(np.int64)
    if values.dtype == np.uint64 and len(values) and values.max() >= 2**63:
        raise IntegerOverflow(f"column {column} holds {values.max()}, which does not fit in a signed int")
    return values.astype(np.int64)


def numbers_as(words: Ints, type_: pa.DataType) -> pa.Array:
    """Words as a column of this type."""
    words = np.ascontiguousarray(words)
    kind = kind_of_type(type_)
    values: Array = words
    if kind == "float":
        values = words.view(np.float64)
    elif kind == "bool":
        values = words.astype(np.bool_)
    return from_numpy(values, np.ones(len(words), np.bool_), type_)
