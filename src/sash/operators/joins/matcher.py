"""Which candidates match: machine code for the rows that it can judge, Python for the others.

    traced and of numbers        compiled from the tree
    not traceable                compiled from the function's text
    neither                      interpreted, with one warning

Python decides about rows whose integers could leave 64 bits in machine code and, where the predicate is
a function and no tree, about rows with nulls: which of them it reads depends on the row. Of a tree it is
known that every column is read, so that rows with a null in one never match and are not kept.

How candidates are found, by hash, band cells or a join matrix: `hash_band_or_matrix.py`; their codes are
in `state/chunk.py`, the search in `kernels/joins/pairs.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.compiler.function_source import NoSource
from sash.aggregation.kernels.compiler.numba_compilation import Kernel, NumbaError, short_reason
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.kernels.joins.pairs import CandidateRanges, matches
from sash.aggregation.kernels.joins.predicates import columns_in_text, compiled_function, compiled_tree
from sash.arrays import Ints, Mask
from sash.errors import SashWarning
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.joins.state.archive import Archive, Rows
from sash.operators.joins.state.chunk import Chunk
from sash.operators.predicates.predicate_kinds import (
    integer_limit,
    kind_of_part,
    to_kernel,
    within_limit,
    without_nulls,
)
from sash.semantics.expression import TRUE, Column, Side, columns_of
from sash.semantics.join import PredicateRow, pair_matches

PairPositions = tuple[Ints, Ints]

JUDGED = 2**17
"""Candidates that Python judges at a time: a hundred bytes each."""
_FUNCTION_LIMIT = 2**31
"""Integers of a function's text are at most this large: a product of two fits."""


class Matcher:
    """The predicate of one join. `compares_time` means that |Δτ| ≤ within is part of it."""

    def __init__(self, bound: BoundJoin, archives: Mapping[Side, Archive], *, compares_time: bool) -> None:
        self._archives = archives
        self._join, self._schemas = bound.join, bound.schemas
        self._within = min(bound.join.within.length, 2**61) if compares_time else -1
        self._rest, self._traced = bound.strategy.rest, bound.tree is not None
        self.why_interpreted = ""
        self._reads = columns_of(bound.tree or TRUE) if self._traced else self._columns_in_text(bound)
        compared = columns_of(*self._rest) if self._traced else self._reads
        self._columns = {side: [c for c in compared if c.side is side] for side in Side}
        self._limit = self._integer_limit()
        self._kernels: dict[Side, Kernel] = {}
        if not self.why_interpreted:
            self._compile()
        if self.why_interpreted:
            self._warn()

    def _warn(self) -> None:
        warnings.warn(
            SashWarning(
                "the predicate of the join cannot be compiled and is interpreted, with the same "
                f"results but more slowly: {self.why_interpreted}"
            ),
            stacklevel=2,
        )

    def _columns_in_text(self, bound: BoundJoin) -> list[Column]:
        assert bound.join.where is not None
        try:
            return columns_in_text(bound.join.where, {s: bound.of(s).schema.names for s in Side})
        except NoSource as reason:
            self.why_interpreted = str(reason)
            return []

    def _integer_limit(self) -> int:
        if not self._traced:
            return _FUNCTION_LIMIT
        return integer_limit(self._rest, self._schemas)

    def _compile(self) -> None:
        compared = [column for side in Side for column in self._columns[side]]
        foreign = [column for column in compared if kind_of_part(column, self._schemas) is None]
        mixed = [part for part in self._rest if kind_of_part(part, self._schemas) != "bool"]
        if foreign or mixed:
            what = f"{foreign[0]} is a column of" if foreign else f"in {mixed[0]} there are"
            self.why_interpreted = f"{what} other things than 64-bit numbers and times"
            return
        if self._limit < 0:
            self.why_interpreted = "its numbers are too large for 64 bits"
            return
        try:
            self._kernels = {side: self._compiled(side) for side in Side}
        except (NoSource, NumbaError) as error:
            self.why_interpreted = str(error) if isinstance(error, NoSource) else short_reason(error)

    def _compiled(self, probe: Side) -> Kernel:
        places = {c: place for side in Side for place, c in enumerate(self._columns[side])}
        if self._traced:
            return compiled_tree(self._rest, places, probe, self._within)
        assert self._join.where is not None
        samples = {side: self.columns(Rows.nothing(self._schemas[side]), side) for side in Side}
        return compiled_function(self._join.where, places, probe, self._within, samples)

    def keeps(self, table: pa.Table, side: Side) -> Mask:
        """Which rows can match at all."""
        read = [column.name for column in self._reads if column.side is side] if self._traced else []
        return without_nulls(table, read)

    def clean(self, rows: Rows, side: Side) -> Mask:
        """Which rows machine code can judge."""
        if not self._kernels:
            return np.zeros(len(rows), np.bool_)
        names = [column.name for column in self._columns[side]]
        return without_nulls(rows.table, names) & within_limit(rows.table, names, self._limit)

    def columns(self, rows: Rows, side: Side) -> Columns:
        """What the kernels read: the predicate's columns, and the times."""
        if self.why_interpreted:
            return (rows.time,)
        read = (to_kernel(rows.table[column.name]) for column in self._columns[side])
        return (*read, rows.time)

    def matches(self, probe: Chunk, side: Side, stored: Chunk, ranges: CandidateRanges) -> PairPositions:
        """The pairs of positions (in `probe`, in `stored`) that match; `side` is the probe's."""
        if not (probe.clean and stored.clean and self._kernels):
            return self._matches_in_python(probe, side, stored, ranges)
        try:
            return matches(self._kernels[side], probe.columns, stored.columns, ranges)
        except NumbaError as error:  # a tree is compiled when it is first called
            self._kernels, self.why_interpreted = {}, short_reason(error)
            self._warn()
            return self._matches_in_python(probe, side, stored, ranges)
        except ArithmeticError:
            # Python meets the same error, and finds for which rows.
            return self._matches_in_python(probe, side, stored, ranges)

    def _matches_in_python(
        self, probe: Chunk, side: Side, stored: Chunk, ranges: CandidateRanges
    ) -> PairPositions:
        """Evaluate every candidate in Python, so many at a time, each of which is an object; none that is
        too old to be in the archives any more."""
        ends: Ints = np.cumsum(ranges.hi - ranges.lo)
        found = [(ranges.probe[:0], ranges.lo[:0])]
        for start in range(0, ranges.comparisons, JUDGED):
            candidate: Ints = np.arange(start, min(start + JUDGED, ranges.comparisons))
            of = np.searchsorted(ends, candidate, side="right")
            j = ranges.hi[of] - (ends[of] - candidate)
            found.append(self._judged(probe, side, stored, ranges.probe[of], j))
        probes, others = zip(*found, strict=True)
        return np.concatenate(probes), np.concatenate(others)

    def _judged(self, probe: Chunk, side: Side, stored: Chunk, i: Ints, j: Ints) -> PairPositions:
        if self._within >= 0:
            near = np.abs(probe.time[i] - stored.time[j]) <= self._within
            i, j = i[near], j[near]
        rows = (self._rows(side, probe.place[i]), self._rows(side.other, stored.place[j]))
        lefts, rights = rows if side is Side.LEFT else rows[::-1]
        judged = [pair_matches(self._join.where, *pair) for pair in zip(lefts, rights, strict=True)]
        holds = np.array(judged, np.bool_)
        return i[holds], j[holds]

    def _rows(self, side: Side, places: Ints) -> list[PredicateRow]:
        """The rows at these places, each looked up once."""
        once, which = np.unique(places, return_inverse=True)
        rows = self._archives[side].at(once).predicate_rows()
        return [rows[number] for number in which.tolist()]
