"""All aggregates of a query at once: lift, fold and lower, with the same folders in every worker.

The folders are chosen once, over the whole input, because elements of different forms do not combine; and
they are tried on nothing first, so that what has to be compiled is compiled before workers meet there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.bound_query import BoundQuery
from sash.operators.folding.elements import Elements
from sash.operators.folding.fold_ranges import Folder, folder_of, values_of
from sash.operators.folding.values import Values, one_each
from sash.operators.windows.ranges import Ranges, groups_of

Folds: TypeAlias = Mapping[str, Elements]
"""For each aggregate its elements: of events, of panes, or of windows."""


@dataclass(frozen=True)
class Folding:
    """The folders of a query's aggregates."""

    bound: BoundQuery
    folders: Mapping[str, Folder]

    @classmethod
    def apart(cls, bound: BoundQuery) -> Folding:
        """The folders of one process of several, which do not depend on the rows that this one has."""
        return cls(bound, {name: folder_of(m, bound.schema) for name, m in bound.aggregates.items()})

    @classmethod
    def of(cls, bound: BoundQuery, rows: pa.Table, ranges: Ranges) -> Folding:
        folders = {
            name: folder_of(monoid, rows.schema, rows=rows, longest=ranges.longest)
            for name, monoid in bound.aggregates.items()
        }
        folding = cls(bound, folders)
        folding.values(rows.slice(0, 0), ranges.take(np.empty(0, np.int64)))
        return folding

    def values(self, rows: pa.Table, ranges: Ranges) -> Values:
        # One aggregate after the other: the elements of the next take the memory of the last.
        columns = {
            name: values_of(folder, rows, ranges, self.bound.result_type(self.bound.aggregates[name]))
            for name, folder in self.folders.items()
        }
        return one_each(columns, len(ranges))

    def lift_and_fold(self, rows: pa.Table, lo: Ints, hi: Ints, slot: Ints) -> Folds:
        """The first of two steps: one element for each [lo, hi) of the rows."""
        return self.fold(self.lift(rows), lo, hi, slot)

    def fold_and_lower(self, folds: Folds, lo: Ints, hi: Ints, slot: Ints) -> Values:
        """The second one: one value for each [lo, hi) of the elements."""
        return self.lower(self.fold(folds, lo, hi, slot), len(lo))

    def lift(self, rows: pa.Table) -> Folds:
        return {name: folder.lift(rows) for name, folder in self.folders.items()}

    def fold(self, folds: Folds, lo: Ints, hi: Ints, slot: Ints) -> Folds:
        """One element for each [lo, hi); both never decrease within a slot."""
        groups = groups_of(slot)
        return {
            name: folder.fold(folds[name], lo, hi, groups=groups) for name, folder in self.folders.items()
        }

    def lower(self, folds: Folds, windows: int) -> Values:
        """The values of as many windows as there are elements."""
        columns = {
            name: folder.lower(folds[name], self.bound.result_type(self.bound.aggregates[name]))
            for name, folder in self.folders.items()
        }
        return one_each(columns, windows)


def joined(parts: Sequence[Folds], lo: int, hi: int) -> Folds:
    """The elements lo ≤ i < hi of the first part followed by the second, …"""
    return {name: Elements.joined([part[name] for part in parts], lo, hi) for name in parts[0]}


def dealt(parts: Sequence[Folds], lo: int, hi: int) -> Folds:
    """The elements lo ≤ i < hi of each part: the first of every part, then the second of every part, …"""
    return {name: Elements.dealt([part[name].span(lo, hi) for part in parts]) for name in parts[0]}
