"""A user's predicate over one row, asked about all rows of a layout at once.

    predicate    lambda row: (row.price > 100) & (row.kind == "sell")
    tree         & (> (price, 100), == (kind, 'sell'))                   it is asked once, about symbols
    truths       numpy computes the tree over the columns

As in joins, a predicate that uses `and`, `or`, `not`, `if`, methods or other functions has no tree, and is
asked about each row. So is every predicate about what Python and 64 bits may see differently:

    rows with a null in a column that it reads       rows with integers whose arithmetic could leave 64 bits
    a divisor of zero, // and % of fractions         columns and constants that are no plain numbers
    a constant truth, such as `row.x is None`        answers that are no bool

Words may be compared with == and !=. Either way errors are those of `semantics.predicate.holds`, about the
first row that has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sash.errors import SashError
from sash.operators.predicate_kinds import (
    Schemas,
    integer_limit,
    kind_of,
    kind_of_column,
    to_kernel,
    within,
)
from sash.semantics.event import Event
from sash.semantics.expression import (
    Column,
    Constant,
    Node,
    Operation,
    Side,
    Untraceable,
    columns_of,
    parts_of,
    trace_row,
)
from sash.semantics.predicate import Predicate, holds
from sash.semantics.windows import PunctuatedWindow, ThresholdWindow

Mask = NDArray[np.bool_]


def on_columns(predicate: Predicate, schema: pa.Schema) -> bool:
    """Whether the predicate has a tree that numpy can compute over such columns."""
    return _tree_of(predicate, schema) is not None


def truths(window: ThresholdWindow | PunctuatedWindow, rows: pa.Table, times: NDArray[np.int64]) -> Mask:
    """Whether the predicate holds, for each event; null is false."""
    answers = np.zeros(len(times), np.bool_)
    tree = _tree_of(window.predicate, rows.schema)
    computed = tree.clean(rows) if tree is not None else answers.copy()
    if tree is not None and computed.any():
        clean = rows if computed.all() else rows.filter(pa.array(computed))
        try:
            answers[computed] = tree.truths(clean)
        except ZeroDivisionError:
            computed[:] = False  # Python meets it too, and says in which row
    asked = np.flatnonzero(~computed)
    answers[asked] = [
        holds(window.predicate, Event(int(times[at]), values=row), asked_by=str(window))
        for at, row in zip(asked, rows.take(pa.array(asked)).to_pylist(), strict=True)
    ]
    return answers


@dataclass(frozen=True)
class _Tree:
    """What a predicate says, without its comparisons of words: these stand in it as columns of their own,
    of a row on the right."""

    root: Node
    words: Mapping[Column, Operation]
    schema: pa.Schema

    @cached_property
    def _schemas(self) -> Schemas:
        compared = pa.schema([(column.name, pa.bool_()) for column in self.words])
        return {Side.LEFT: self.schema, Side.RIGHT: compared}

    @cached_property
    def _limit(self) -> int:
        return integer_limit([self.root], self._schemas)

    @property
    def computable(self) -> bool:
        parts = list(parts_of(self.root))
        constants = [type(part.value) for part in parts if isinstance(part, Constant)]
        floors = [p for p in parts if isinstance(p, Operation) and p.operator in ("//", "%")]
        kinds = [self._kind(part) for part in parts]
        return (
            self._kind(self.root) == "bool"
            and any(isinstance(part, Column) for part in parts)
            and all(kind in ("bool", "int", "float") for kind in kinds)
            # A truth that is the same for all rows comes from asking what a symbol is; of numpy's numbers,
            # those that are narrow compute in their own way.
            and all(constant in (int, float) for constant in constants)
            and all(self._kind(floor) != "float" for floor in floors)
            and self._limit >= 0
        )

    def _kind(self, part: Node) -> str | None:
        return kind_of(part, self._schemas)

    def clean(self, rows: pa.Table) -> Mask:
        """The rows that numpy sees as Python does."""
        clean = np.ones(rows.num_rows, np.bool_)
        for column in columns_of(self.root, *self.words.values()):
            if column in self.words:
                continue
            values = rows[column.name]
            if values.null_count:
                clean &= values.is_valid().to_numpy()
            if kind_of_column(values.type) == "int":
                clean &= within(to_kernel(values), self._limit)
        return clean

    def truths(self, rows: pa.Table) -> Mask:
        """Of clean rows; ZeroDivisionError where Python would raise it."""
        columns = {
            column: _compared(self.words[column], rows)
            if column in self.words
            else to_kernel(rows[column.name])
            for column in columns_of(self.root)
        }
        with np.errstate(all="ignore"):  # an overflow of floats is infinite in Python too, silently
            answers: Mask = _computed(self.root, columns)
        return answers


def _tree_of(predicate: Predicate, schema: pa.Schema) -> _Tree | None:
    try:
        traced = trace_row(predicate, schema.names)
    except (Untraceable, SashError):  # a row of values will show what is wrong with it
        return None
    words: dict[Column, Operation] = {}
    tree = _Tree(_without_words(traced, schema, words), words, schema)
    return tree if tree.computable else None


def _without_words(tree: Node, schema: pa.Schema, found: dict[Column, Operation]) -> Node:
    match tree:
        case Operation("==" | "!=", (one, other)) if _are_words(one, other, schema):
            column = Column(Side.RIGHT, str(len(found)))
            found[column] = tree
            return column
        case Operation(operator, operands):
            return Operation(operator, tuple(_without_words(part, schema, found) for part in operands))
    return tree


def _are_words(one: Node, other: Node, schema: pa.Schema) -> bool:
    types = [schema.field(part.name).type for part in (one, other) if isinstance(part, Column)]
    constants = [part.value for part in (one, other) if isinstance(part, Constant)]
    return (
        len(types) + len(constants) == 2
        and all(pa.types.is_string(type_) for type_ in types)
        # A lone surrogate has no place in Arrow.
        and all(type(word) is str and word == word.encode(errors="ignore").decode() for word in constants)
    )


def _compared(words: Operation, rows: pa.Table) -> Mask:
    one, other = (
        rows[part.name] if isinstance(part, Column) else pa.scalar(part.value, pa.string())
        for part in words.operands
        if not isinstance(part, Operation)
    )
    same: Mask = (pc.equal if words.operator == "==" else pc.not_equal)(one, other).to_numpy()
    return same


_COMPUTED = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide,
    "%": np.remainder, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
_ARITHMETIC = ("+", "-", "*", "/", "//", "%")


def _computed(tree: Node, columns: Mapping[Column, NDArray[Any]]) -> Any:
    match tree:
        case Column():
            return columns[tree]
        case Constant(value):
            return value
        case Operation(operator, (one,)):
            return (np.abs if operator == "abs" else np.negative)(_number(_computed(one, columns)))
        case Operation(operator, (one, other)):
            first, second = _computed(one, columns), _computed(other, columns)
            if operator in _ARITHMETIC:
                first, second = _number(first), _number(second)
            if operator in ("/", "//", "%") and np.any(second == 0):
                raise ZeroDivisionError
            return _COMPUTED[operator](first, second)
    raise AssertionError(tree)


def _number(value: Any) -> Any:
    """Python's truths are 0 and 1 in arithmetic; numpy's are not."""
    return value.astype(np.int64) if getattr(value, "dtype", None) == np.bool_ else value
