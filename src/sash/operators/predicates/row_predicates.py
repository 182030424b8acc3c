"""A user's predicate over one row, computed for all rows of a layout at once.

    predicate    lambda row: (row.price > 100) & (row.kind == "sell")
    tree         & (> (price, 100), == (kind, 'sell'))                   it is called once, with symbols
    truths       numpy computes the tree over the columns

As in joins, a predicate that uses `and`, `or`, `not`, `if`, methods or other functions has no tree, and is
called for each row. So is every predicate about what Python and 64 bits may see differently:

    rows with a null in a column that it reads       rows with integers whose arithmetic could leave 64 bits
    a divisor of zero, // and % of fractions         columns and constants that are no plain numbers
    a constant truth, such as `row.x is None`        answers that are no bool

Words may be compared with == and !=, and anything with None. Either way errors are those of
`semantics.predicate.holds`, about the first row that has one.

The condition of an aggregate is such a tree from the start, and defines what a null in a column means: so
rows with nulls are computed on columns too, each value with whether it is known (`condition_truths`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.arrays import Array, Ints, Mask
from sash.errors import SashError
from sash.operators.predicates.predicate_kinds import (
    Schemas,
    kind_of_part,
    plain_limit,
    to_kernel,
    within_limit,
    without_nulls,
)
from sash.semantics.condition import Condition
from sash.semantics.event import Event
from sash.semantics.expression import (
    Column,
    Constant,
    ExpressionNode,
    Operation,
    Side,
    Untraceable,
    columns_of,
    parts_of,
    trace_row,
)
from sash.semantics.predicate import Predicate, holds
from sash.semantics.window import PredicateWindow


def on_columns(predicate: Predicate, schema: pa.Schema) -> bool:
    """Whether the predicate has a tree that numpy can compute over such columns."""
    return _tree_of(predicate, schema) is not None


def truths(window: PredicateWindow, rows: pa.Table, times: Ints) -> Mask:
    """Whether the predicate holds, for each event; null is false."""
    tree = _tree_of(window.predicate, rows.schema)

    def call(positions: Ints, values: list[dict[str, Any]]) -> list[bool]:
        return [
            holds(window.predicate, Event(int(times[at]), values=row), owner=str(window))
            for at, row in zip(positions, values, strict=True)
        ]

    clean = None if tree is None else tree.within_limits(rows) & tree.without_nulls(rows)
    return _answered(tree, rows, clean, call)


def condition_truths(condition: Condition, rows: pa.Table) -> Mask:
    """Whether the condition of an aggregate is true, for each row; null is not."""
    rows = rows.select(list(condition.columns))
    tree = _computable(condition.tree, rows.schema)
    if tree is not None and tree.mixes_truths_and_integers:
        tree = None
    clean = None if tree is None else tree.within_limits(rows)
    return _answered(tree, rows, clean, lambda _, values: [condition.holds(row) for row in values])


CallForRows: TypeAlias = Callable[[Ints, list[dict[str, Any]]], list[bool]]


def _answered(tree: _Tree | None, rows: pa.Table, clean: Mask | None, call: CallForRows) -> Mask:
    """By the tree for the rows that are clean; for the others by calls, with their positions."""
    answers = np.zeros(rows.num_rows, np.bool_)
    computed = answers.copy() if clean is None else clean
    if tree is not None and computed.any():
        try:
            answers[computed] = tree.truths(rows if computed.all() else rows.filter(pa.array(computed)))
        except ZeroDivisionError:
            computed = np.zeros(rows.num_rows, np.bool_)  # Python meets it too, and knows in which row
    others = np.flatnonzero(~computed)
    if len(others):
        answers[others] = call(others, rows.take(pa.array(others)).to_pylist())
    return answers


@dataclass(frozen=True)
class _Tree:
    """The tree of a predicate, without its comparisons of words: these stand in it as columns of their own,
    of a row on the right."""

    root: ExpressionNode
    words: Mapping[Column, Operation]
    schema: pa.Schema

    @cached_property
    def _schemas(self) -> Schemas:
        compared = pa.schema([(column.name, pa.bool_()) for column in self.words])
        return {Side.LEFT: self.schema, Side.RIGHT: compared}

    @cached_property
    def _limit(self) -> int:
        return plain_limit(self.root, self._schemas)

    @property
    def computable(self) -> bool:
        return self._limit >= 0

    def _kind(self, part: ExpressionNode) -> str | None:
        return kind_of_part(part, self._schemas)

    @property
    def mixes_truths_and_integers(self) -> bool:
        """With `&`, `|` or `^`: there a null among truths is not a null among integers."""
        combined = (p for p in parts_of(self.root) if isinstance(p, Operation) and p.operator in "&|^")
        return any(len({self._kind(operand) for operand in part.operands}) > 1 for part in combined)

    @property
    def _read(self) -> Iterator[str]:
        """The columns of the input that it reads."""
        for column in columns_of(self.root, *self.words.values()):
            if column not in self.words:
                yield column.name

    def without_nulls(self, rows: pa.Table) -> Mask:
        """The rows in which every value that it reads is known."""
        return without_nulls(rows, self._read)

    def within_limits(self, rows: pa.Table) -> Mask:
        """The rows with integers that numpy computes with as Python does."""
        return within_limit(rows, self._read, self._limit)

    def truths(self, rows: pa.Table) -> Mask:
        """Of rows within limits; ZeroDivisionError where Python would raise it. Unknown is false."""
        columns = {
            column: _compared(self.words[column], rows)
            if column in self.words
            else (to_kernel(rows[column.name]), _known(rows[column.name]))
            for column in columns_of(self.root)
        }
        with np.errstate(all="ignore"):  # an overflow of floats is infinite in Python too, silently
            answers, known = _computed(self.root, columns)
        true: Mask = answers if known is True else answers & known
        return true


def _tree_of(predicate: Predicate, schema: pa.Schema) -> _Tree | None:
    try:
        traced = trace_row(predicate, schema.names)
    except (Untraceable, SashError):  # a row of values will show what is wrong with it
        return None
    return _computable(traced, schema)


def _computable(traced: ExpressionNode, schema: pa.Schema) -> _Tree | None:
    words: dict[Column, Operation] = {}
    tree = _Tree(_without_words(traced, schema, words), words, schema)
    return tree if tree.computable else None


def _without_words(
    tree: ExpressionNode, schema: pa.Schema, found: dict[Column, Operation]
) -> ExpressionNode:
    match tree:
        case Operation("==" | "!=", (one, other)) if _tests_null(one, other) or _are_words(
            one, other, schema
        ):
            column = Column(Side.RIGHT, str(len(found)))
            found[column] = tree
            return column
        case Operation(operator, operands):
            return Operation(operator, tuple(_without_words(part, schema, found) for part in operands))
    return tree


def _tests_null(one: ExpressionNode, other: ExpressionNode) -> bool:
    return isinstance(one, Column) and other == Constant(None)


def _are_words(one: ExpressionNode, other: ExpressionNode, schema: pa.Schema) -> bool:
    types = [schema.field(part.name).type for part in (one, other) if isinstance(part, Column)]
    constants = [part.value for part in (one, other) if isinstance(part, Constant)]
    return (
        len(types) + len(constants) == 2
        and all(pa.types.is_string(type_) for type_ in types)
        # A lone surrogate has no place in Arrow.
        and all(type(word) is str and word == word.encode(errors="ignore").decode() for word in constants)
    )


NotNull: TypeAlias = "Mask | Literal[True]"
"""Which values are not null; True: all."""


def _known(column: pa.ChunkedArray) -> NotNull:
    return column.is_valid().to_numpy() if column.null_count else True


def _compared(words: Operation, rows: pa.Table) -> tuple[Mask, NotNull]:
    one, other = words.operands
    if isinstance(one, Column) and _tests_null(one, other):
        column = rows[one.name]
        return (column.is_null() if words.operator == "==" else column.is_valid()).to_numpy(), True
    sides = [
        rows[part.name] if isinstance(part, Column) else pa.scalar(part.value, pa.string())
        for part in (one, other)
        if not isinstance(part, Operation)
    ]
    same = (pc.equal if words.operator == "==" else pc.not_equal)(*sides)
    return same.fill_null(False).to_numpy(), _known(same)


_COMPUTED = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide,
    "%": np.remainder, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
_ARITHMETIC = ("+", "-", "*", "/", "//", "%")


def _computed(tree: ExpressionNode, columns: Mapping[Column, tuple[Array, NotNull]]) -> tuple[Any, NotNull]:
    """The values of a tree, and which of them are known."""
    match tree:
        case Column():
            return columns[tree]
        case Constant(value):
            return value, True
        case Operation(operator, (one,)):
            value, known = _computed(one, columns)
            return (np.abs if operator == "abs" else np.negative)(_number(value)), known
        case Operation(operator, (one, other)):
            (first, one_known), (second, other_known) = _computed(one, columns), _computed(other, columns)
            if operator in _ARITHMETIC:
                first, second = _number(first), _number(second)
            if operator in ("/", "//", "%") and np.any((second == 0) & other_known):
                raise ZeroDivisionError
            known = _known_of_two(operator, (first, one_known), (second, other_known))
            return _COMPUTED[operator](first, second), known
    raise AssertionError(tree)


def _known_of_two(operator: str, one: tuple[Any, NotNull], other: tuple[Any, NotNull]) -> NotNull:
    (first, one_known), (second, other_known) = one, other
    if one_known is True and other_known is True:
        return True
    known = one_known & other_known
    if operator in ("&", "|") and getattr(first, "dtype", None) == np.bool_:
        # One side that is known can be enough: false & …, true | ….
        decides = np.logical_not if operator == "&" else np.asarray
        known = known | (one_known & decides(first)) | (other_known & decides(second))
    return np.asarray(known)


def _number(value: Any) -> Any:
    """Python's truths are 0 and 1 in arithmetic; numpy's are not."""
    return value.astype(np.int64) if getattr(value, "dtype", None) == np.bool_ else value
