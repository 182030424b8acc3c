"""Look-backs of one key that several workers share: rows by pane, and one element a pane of the others'.

    pane of a row       q = ⌊τ / p⌋,    R·p divides every look-back W
    worker of a row     q mod R
    its look-back       { τ − W < τ' ≤ τ }  =  rows of the panes q − W/p and q, of which it has a part
                                            +  all panes between these two, whole

W/p is a multiple of R, so that the two panes of which a look-back has a part belong to the worker of the
row, as rows. Of the panes between them those of other workers are one element each, at the time of one of
their rows: no look-back of this worker begins or ends inside of them. So a row travels once as it is, and
its pane R − 1 times as an element. Parts of a pane that were folded apart are several elements of it, and
nobody need put them together: the aggregates must commute. A look-back without end begins nowhere, and sets
no condition on p.

>>> import sash
>>> t = pa.table({"t": pa.array([], pa.int64())})
>>> bound = sash.stream(t, time="t").rolling(60, 90).agg(n=sash.count()).bound
>>> panes = LookBackPanes.of(bound, workers=4)
>>> panes.shares, panes.lengths
(3, (1, 5, 10))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.arrays import Ints, Mask
from sash.operators.answer import features
from sash.operators.bound_query import BoundLatest, BoundQuery, BoundRolling
from sash.operators.columns.layout import Layout, arrange
from sash.operators.columns.times import to_integers
from sash.operators.folding.elements import Elements
from sash.operators.folding.fold_ranges import folder_of
from sash.operators.folding.pane_parts import NumberParts, PaneParts, pane_parts_of, parts_by_name
from sash.operators.folding.panes import part_name
from sash.operators.kinds.look_back import LookBackKind
from sash.operators.patterns.folding import Folding
from sash.semantics.windows import SlideByTupleWindow

OWN = "__sash_own"
"""Whether a row is an event, which has a row in the answer; the others are panes."""
SPREAD = 16
"""Panes of each worker between the first row of a key and the last, at least, where look-backs allow it:
then all workers have about as many rows."""
WITHOUT_END = 2**50
"""What divides a look-back without end, for one worker."""


@dataclass(frozen=True)
class BoundOverElements(BoundRolling):
    """A query of look-backs over elements in the place of events: it answers as the query over events."""

    over_events: BoundRolling

    @cached_property
    def output(self) -> pa.Schema:
        return self.over_events.output

    @cached_property
    def late_output(self) -> pa.Schema:
        return self.over_events.late_output


@dataclass(frozen=True)
class LookBackPanes:
    """A query whose look-backs `shares` workers can share."""

    bound: BoundRolling
    shares: int
    """R."""

    @classmethod
    def of(cls, bound: BoundQuery, *, workers: int) -> LookBackPanes | None:
        """For as many workers as the lengths of the look-backs allow; None for a query of other windows,
        and for aggregates that depend on the order of events."""
        if not isinstance(bound, BoundRolling) or isinstance(bound, BoundLatest):
            return None
        if any(pane_parts_of(monoid, bound.schema) is None for monoid in bound.aggregates.values()):
            return None
        common = _common(bound)
        possible = (shares for shares in range(workers, 0, -1) if common % shares == 0)
        return cls(bound, next(possible))

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The lengths p that panes may have, ascending."""
        common = _common(self.bound)
        return tuple(sorted(_divisors((common or self.shares * WITHOUT_END) // self.shares)))

    def lengths_of(self, rows: Ints, spans: Ints) -> Ints:
        """How long panes of keys are that have so many rows between their first time and their last; 0
        for a key that one worker should have alone, because elements would be more than its rows.

        Panes are as long as look-backs allow, and short enough to give each worker several.
        """
        lengths = np.array(self.lengths)
        wanted = spans // (SPREAD * self.shares)
        chosen = lengths[np.maximum(np.searchsorted(lengths, wanted, side="right") - 1, 0)]
        folds = rows >= self.shares * (spans // chosen + 1)
        return np.where(folds, chosen, 0)

    @cached_property
    def numbers(self) -> bool:
        """Whether all elements are numbers, which machine code folds."""
        return all(isinstance(parts, NumberParts) for parts in self._parts.values())

    @cached_property
    def fields(self) -> list[pa.Field]:
        """The columns of elements, all aggregates one after the other."""
        return [
            pa.field(name, type_)
            for number, parts in enumerate(self._parts.values())
            for name, type_ in zip(_names(number, parts), parts.types, strict=True)
        ]

    @cached_property
    def schema(self) -> pa.Schema:
        """Of rows and elements together: an element has the key and the time of one of its rows, a row has
        no parts."""
        rows = [field.with_nullable(True) for field in self.bound.schema]
        return pa.schema([*rows, *self.fields, pa.field(OWN, pa.bool_())])

    def rows(self, rows: pa.Table) -> pa.Table:
        """Rows as they are, in the form of `schema`."""
        none = [pa.nulls(rows.num_rows, field.type) for field in self.fields]
        return self._table([*rows.columns, *none], np.ones(rows.num_rows, np.bool_))

    def lifted(self, rows: pa.Table, own: Mask) -> pa.Table:
        """Rows in that form, each with the element that it is: for whoever folds elements only. `own` are
        those that have a row in the answer."""
        return self._table([*rows.columns, *self._folded(rows, np.arange(len(own)), len(own))], own)

    def elements(self, rows: pa.Table, codes: Ints, one: Ints) -> pa.Table:
        """The panes of rows, in the form of `schema`: `codes` has the pane of each row, `one` a row of each
        pane."""
        known = rows.select([*self.bound.keys, self.bound.time]).take(pa.array(one))
        columns = [
            known[field.name] if field.name in known.column_names else pa.nulls(len(one), field.type)
            for field in self.bound.schema
        ]
        return self._table([*columns, *self._folded(rows, codes, len(one))], np.zeros(len(one), np.bool_))

    @cached_property
    def over_elements(self) -> BoundRolling:
        """The query over rows that are `lifted`, and elements."""
        aggregates = {
            name: parts.over_elements(_names(number, parts), self.bound.output_type(name))
            for number, (name, parts) in enumerate(self._parts.items())
        }
        query = replace(self.bound.query, aggregates=aggregates)
        return BoundOverElements(query, self.schema, self.bound.time, self.bound.keys, self.bound)

    def features(self, table: pa.Table, *, ordinals: Ints) -> pa.Table:
        """The answer for the rows of a table of rows and elements."""
        bound, times = self.bound, to_integers(table[self.bound.time])
        layout = arrange(table, list(bound.keys), times, ordinals, bound.query.order)
        own = layout.rows[OWN].combine_chunks()
        rows = layout.rows.filter(own).select(bound.schema.names)
        looked_back = list(self._looked_back(layout, rows, own))
        return features(bound, rows, looked_back)

    def _looked_back(self, layout: Layout, rows: pa.Table, own: pa.BooleanArray) -> Iterator[pa.Table]:
        """The folds of each look-back, from rows only."""
        bound, is_own = self.bound, own.to_numpy(zero_copy_only=False)
        panes = layout.rows.filter(pc.invert(own)).select([field.name for field in self.fields])
        folding = Folding(
            bound, {name: folder_of(monoid, rows.schema) for name, monoid in bound.aggregates.items()}
        )
        lifted = dict(folding.lift(rows))
        if panes.num_rows:
            for number, (name, parts) in enumerate(self._parts.items()):
                again = parts.over_elements(_names(number, parts), bound.output_type(name))
                of_panes = folder_of(again, panes.schema).lift(panes)
                lifted[name] = Elements.mixed(lifted[name], of_panes, is_own)
        for window in bound.query.windows:
            ranges = LookBackKind.of_layout(window, layout).where(is_own)
            folds = folding.fold(lifted, ranges.lo, ranges.hi, ranges.slot)
            yield folding.lower(folds, len(ranges)).columns

    def _folded(self, rows: pa.Table, codes: Ints, groups: int) -> list[pa.Array]:
        every = (parts.of_events(rows, codes, groups=groups) for parts in self._parts.values())
        return [part for parts in every for part in parts]

    def _table(self, columns: list[Any], own: Mask) -> pa.Table:
        return pa.table([*columns, pa.array(own)], names=self.schema.names).cast(self.schema)

    @cached_property
    def _parts(self) -> dict[str, PaneParts]:
        return parts_by_name(self.bound)

    def __getstate__(self) -> dict[str, Any]:
        return {"bound": self.bound, "shares": self.shares}


def _names(number: int, parts: PaneParts) -> tuple[str, ...]:
    return tuple(part_name(number, part) for part in range(len(parts.types)))


def _common(bound: BoundRolling) -> int:
    """What divides all look-backs that have an end; 0 if none has."""
    windows = [window for window in bound.query.windows if isinstance(window, SlideByTupleWindow)]
    return gcd(*(window.size for window in windows if not window.endless))


def _divisors(number: int) -> Iterator[int]:
    """Some divisors from the number down, each about a half of the one before where it can be.

    >>> list(_divisors(60)), list(_divisors(7 * 11))
    ([60, 30, 15, 5, 1], [77, 11])
    """
    yield number
    for prime in (2, 3, 5, 7):
        while number % prime == 0:
            number //= prime
            yield number
