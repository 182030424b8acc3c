"""How a join finds its candidates: hash, band cells or join matrix, and why.

    l.a == r.b              equal groups      a row meets the rows of its group
    abs(l.x - r.a) <= w     a band            a row meets the rows of its cell and of the two beside it
    anything else           join matrix       a row meets all rows within the window

Groups come from the streams' keys and from equalities between two columns; a band narrows a group
further, and a second band narrows the first. What finds candidates may find too many: whatever is left
of the predicate, and a group's cells, are compared exactly. `matcher.py` visits the candidates, with the
loops of `kernels/joins`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.arrays import Ints
from sash.operators.predicates.predicate_kinds import kind_of_column, to_kernel
from sash.semantics.expression import MIRRORED, Column, Constant, ExpressionNode, Operation, Side

SearchMethod: TypeAlias = Literal["hash", "band cells", "join matrix"]

CELLS = 2**30
"""Cells beyond ± this are one: still right, because comparisons are exact, only less selective."""
_SLACK = 1 + 2**-20
"""Cells of fractions are this much wider than the band, so that rounding moves no match two cells away."""
_FINE = 2**10
_FARTHEST_FINE = 2**50


@dataclass(frozen=True)
class Equality:
    """A column of each side; rows whose values differ do not match."""

    left: str
    right: str
    type: pa.DataType
    """What both are compared as."""
    complete: bool = False
    """Whether being in one group decides it: words have no other way to be compared by a kernel."""

    def name(self, side: Side) -> str:
        return self.left if side is Side.LEFT else self.right


@dataclass(frozen=True)
class Band:
    """|left − right| ≤ width."""

    left: str
    right: str
    width: float
    exact: bool
    """Whether both columns and the width are whole numbers."""

    def name(self, side: Side) -> str:
        return self.left if side is Side.LEFT else self.right

    def cells(self, rows: pa.Table, side: Side) -> Ints:
        """The cell of each row; two rows that match are in the same or in neighbouring ones.

        >>> Band("x", "a", 10, exact=True).cells(pa.table({"x": [-1, 9, 10, 25]}), Side.LEFT).tolist()
        [-1, 0, 1, 2]
        """
        return self._cells(to_kernel(rows[self.name(side)]), self.width)

    def ranges(
        self, rows: pa.Table, side: Side, *, width: float, single: Side = Side.LEFT
    ) -> tuple[Ints, Ints]:
        """The first and the last cell of this width that a row meets: its own on the side `single`; on the
        other those of all rows that it could match, at most two when a cell is two bands wide."""
        values = to_kernel(rows[self.name(side)])
        if side is single:
            own = self._cells(values, width)
            return own, own
        if self.exact:
            whole, reach = np.clip(values.astype(np.int64), -(2**61), 2**61), int(self.width)
            return self._cells(whole - reach, width), self._cells(whole + reach, width)
        wider = values.astype(np.float64), self.width * _SLACK
        low = np.nextafter(np.subtract(*wider), -np.inf)
        return self._cells(low, width), self._cells(np.nextafter(np.add(*wider), np.inf), width)

    def _cells(self, values: NDArray[np.generic], width: float) -> Ints:
        if self.exact:
            return np.clip(values.astype(np.int64) // max(int(width), 1), -CELLS, CELLS)
        return _floors(values, width, 1, CELLS)

    def fine(self, rows: pa.Table, side: Side) -> Ints:
        """A number for each row; those of two rows that match are at most `fine_width` apart."""
        values = to_kernel(rows[self.name(side)])
        if self.exact:
            return np.clip(values.astype(np.int64), -(2**61), 2**61)
        return _floors(values, self.width, _FINE, _FARTHEST_FINE)

    @property
    def fine_width(self) -> int:
        return int(self.width) if self.exact else _FINE + 1

    def __str__(self) -> str:
        return f"|left.{self.left} - right.{self.right}| ≤ {self.width:g}"


def _floors(values: NDArray[np.generic], width: float, parts: int, farthest: int) -> Ints:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scaled = values.astype(np.float64) / (width * _SLACK or 1.0)
        # A NaN matches nothing, so that it may stand anywhere.
        floors: Ints = np.clip(np.nan_to_num(np.floor(scaled * parts)), -farthest, farthest).astype(
            np.int64
        )
    return floors


@dataclass(frozen=True)
class Strategy:
    """Where to look for matches. `why` is one sentence for `explain`."""

    how: SearchMethod
    why: str
    groups: tuple[Equality, ...] = ()
    bands: tuple[Band, ...] = ()
    """At most two."""
    rest: tuple[ExpressionNode, ...] = ()
    """Of a traced predicate: what must be compared on each candidate."""


def _equality(group: Equality) -> str:
    left, right = str(group.left), str(group.right)
    return left if left == right else f"{left} = {right}"


def choose(
    keys: Sequence[Equality], conjuncts: Sequence[ExpressionNode], schemas: Mapping[Side, pa.Schema]
) -> Strategy:
    """The strategy for streams with these keys and a predicate that is the conjunction of these parts."""
    equalities = {part: found for part in conjuncts for found in _equalities(part, schemas)}
    bands = [found for part in conjuncts for found in _bands(part, schemas)]
    rest = tuple(part for part in conjuncts if part not in equalities or not equalities[part].complete)
    groups = (*keys, *equalities.values())
    if groups:
        names = ", ".join(dict.fromkeys(_equality(group) for group in groups))
        how: SearchMethod = "hash"
        why = f"equality of {names} puts all rows that can match into one group"
        why += f", and {bands[0]} into neighbouring cells of it" if bands else ""
    elif bands:
        how, why = "band cells", f"{bands[0]} puts all rows that can match into neighbouring cells"
    else:
        how, why = "join matrix", "without an equality or a band every row within the window may match"
    return Strategy(how, why, groups, tuple(bands[:2]), rest)


def equality(left: str, right: str, schemas: Mapping[Side, pa.Schema]) -> Equality | None:
    """The two columns as one group, if their types can be compared group by group."""
    types = [schemas[Side.LEFT].field(left).type, schemas[Side.RIGHT].field(right).type]
    kinds = [kind_of_column(type_) for type_ in types]
    if kinds == ["int", "int"]:
        return Equality(left, right, pa.int64())
    if kinds == ["float", "float"]:
        return Equality(left, right, pa.float64())
    if all(pa.types.is_string(type_) or pa.types.is_large_string(type_) for type_ in types):
        return Equality(left, right, types[0] if types[0] == types[1] else pa.large_string(), complete=True)
    if types[0] == types[1] and not pa.types.is_nested(types[0]):
        return Equality(left, right, types[0], complete=kinds[0] is None)
    return None


def _equalities(part: ExpressionNode, schemas: Mapping[Side, pa.Schema]) -> Iterator[Equality]:
    match part:
        case Operation("==", (Column(one_side, one), Column(other_side, other))) if one_side != other_side:
            names = {one_side: one, other_side: other}
            found = equality(names[Side.LEFT], names[Side.RIGHT], schemas)
            if found is not None:
                yield found


def _bands(part: ExpressionNode, schemas: Mapping[Side, pa.Schema]) -> Iterator[Band]:
    match part:
        case Operation(compared, (Constant() as width, Operation("abs") as distance)):
            part = Operation(MIRRORED.get(compared, compared), (distance, width))
    match part:
        case Operation(
            "<=" | "<",
            (Operation("abs", (Operation("-", (Column(a, one), Column(b, other))),)), Constant(width)),
        ) if a != b and isinstance(width, int | float | np.number) and 0 <= width < float("inf"):
            names = {a: one, b: other}
            kinds = [kind_of_column(schemas[side].field(name).type) for side, name in names.items()]
            if all(kind in ("int", "float") for kind in kinds):
                exact = kinds == ["int", "int"] and isinstance(width, int | np.integer) and width < 2**61
                size = int(width) if exact else float(width)
                yield Band(names[Side.LEFT], names[Side.RIGHT], size, exact=bool(exact))
