"""What the parts of a predicate are, as far as machine code cares.

    bool, int, float            numbers
    time, local time, span      microseconds: instants with a zone, without one, and the time between two
    None                        anything else: words, decimals, mixtures. Such a part is interpreted

>>> from sash.semantics.expression import trace
>>> types = {Side.LEFT: pa.schema([("x", pa.int32())]), Side.RIGHT: pa.schema([("a", pa.float64())])}
>>> kind_of_part(trace(lambda l, r: abs(l.x - r.a), ["x"], ["a"]), types)
'float'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sash.aggregation.kernels.joins.predicates import largest
from sash.arrays import Mask
from sash.operators.columns.arrow_columns import to_numpy
from sash.semantics.expression import (
    COMPARISONS,
    Column,
    Constant,
    ExpressionNode,
    Operation,
    Side,
    parts_of,
)

ValueKind: TypeAlias = Literal["bool", "int", "float", "time", "local time", "span"]
Schemas: TypeAlias = Mapping[Side, pa.Schema]

EXACT_IN_FLOAT = 2**53
"""Whole numbers up to this magnitude are floats too."""

_NUMBERS: tuple[ValueKind, ...] = ("bool", "int", "float")
_LIMITS = [*(1 << bits for bits in range(62, -1, -1)), 0]


def kind_of_part(tree: ExpressionNode, schemas: Schemas) -> ValueKind | None:
    """What a tree computes, or None where it cannot be compiled."""
    if isinstance(tree, Column):
        return kind_of_column(schemas[tree.side].field(tree.name).type)
    if isinstance(tree, Constant):
        return _kind_of_constant(tree)
    kinds = [kind_of_part(operand, schemas) for operand in tree.operands]
    if len(kinds) == 1:
        (one,) = kinds
        return "int" if one == "bool" else one if one in ("int", "float", "span") else None
    first, second = kinds
    if first is None or second is None:
        return None
    return _of_two(tree.operator, first, second)


def kind_of_column(type_: pa.DataType) -> ValueKind | None:
    if pa.types.is_boolean(type_):
        return "bool"
    if pa.types.is_integer(type_) and type_ != pa.uint64():
        return "int"
    if pa.types.is_float32(type_) or pa.types.is_float64(type_):
        return "float"
    if pa.types.is_timestamp(type_) and type_.unit != "ns":
        return "local time" if type_.tz is None else "time"
    return None


def to_kernel(column: pa.ChunkedArray) -> NDArray[np.generic]:
    """The values as a predicate is compiled for them: bool, int64, float64 or microseconds; 0 for null.

    Narrow numbers are widened, because Python computes with wide ones."""
    kind, type_ = kind_of_column(column.type), column.type
    if kind in ("time", "local time"):
        column = column.cast(pa.timestamp("us", type_.tz))
    values, _ = to_numpy(column)
    return values.astype({"bool": np.bool_, "float": np.float64}.get(kind or "", np.int64), copy=False)


def integer_limit(trees: Iterable[ExpressionNode], schemas: Schemas) -> int:
    """Up to which magnitude of the whole numbers in columns 64 bits compute what Python does; −1: with
    none, because constants are too large.

    Whole numbers must not leave 64 bits, and where one meets a fraction it must be a float itself."""
    parts = [part for tree in trees for part in parts_of(tree)]
    return next((limit for limit in _LIMITS if all(_exact(part, limit, schemas) for part in parts)), -1)


def plain_limit(
    root: ExpressionNode, schemas: Schemas, *, kinds: tuple[ValueKind, ...] = _NUMBERS,
    constants: tuple[type, ...] = (int, float),
) -> int:  # fmt: skip
    """The integer limit of a predicate; −1 where it has parts of other kinds than these, constants of other
    types, or where 64 bits may compute something else than Python.

    A truth that is the same for all rows comes from a test of what a symbol is; of numpy's numbers, those
    that are narrow compute in their own way; and so do // and % of fractions."""
    parts = list(parts_of(root))
    floors = [part for part in parts if isinstance(part, Operation) and part.operator in ("//", "%")]
    fits = (
        kind_of_part(root, schemas) == "bool"
        and any(isinstance(part, Column) for part in parts)
        and all(kind_of_part(part, schemas) in kinds for part in parts)
        and all(type(part.value) in constants for part in parts if isinstance(part, Constant))
        and all(kind_of_part(floor, schemas) != "float" for floor in floors)
    )
    return integer_limit([root], schemas) if fits else -1


def _exact(part: ExpressionNode, limit: int, schemas: Schemas) -> bool:
    if isinstance(part, Operation):
        whole = [operand for operand in part.operands if kind_of_part(operand, schemas) != "float"]
        if part.operator == "/" or len(whole) < len(part.operands):
            return all(largest(operand, limit) <= EXACT_IN_FLOAT for operand in whole)
    return kind_of_part(part, schemas) == "float" or largest(part, limit) < 2**63


def without_nulls(rows: pa.Table, columns: Iterable[str]) -> Mask:
    """The rows in which every value of these columns is known."""
    known = np.ones(rows.num_rows, np.bool_)
    for name in columns:
        if rows[name].null_count:
            known &= pc.is_valid(rows[name]).to_numpy()
    return known


def within_limit(rows: pa.Table, columns: Iterable[str], limit: int) -> Mask:
    """The rows whose whole numbers in these columns are at most `limit` in magnitude."""
    inside = np.ones(rows.num_rows, np.bool_)
    for name in columns:
        if kind_of_column(rows[name].type) == "int":
            values = to_kernel(rows[name])
            inside &= (values >= -limit) & (values <= limit)  # type: ignore[operator]
    return inside


def _kind_of_constant(constant: Constant) -> ValueKind | None:
    match constant.value:
        case bool() | np.bool_():
            return "bool"
        case int() | np.integer():
            return "int" if -(2**62) < constant.value < 2**62 else None
        case float() | np.floating():
            return "float" if np.isfinite(constant.value) else None
        case timedelta():
            return "span"
        case _:
            return None


def _of_two(operator: str, first: ValueKind, second: ValueKind) -> ValueKind | None:
    kinds = {first, second}
    numbers = kinds <= set(_NUMBERS)
    if operator in COMPARISONS:
        return "bool" if numbers or len(kinds) == 1 else None
    if operator in ("&", "|", "^"):
        return "bool" if kinds == {"bool"} else "int" if kinds <= {"bool", "int"} else None
    if numbers:
        return "float" if operator == "/" or "float" in kinds else "int"
    match operator, first, second:
        case "-", "time" | "local time", _ if len(kinds) == 1:
            return "span"
        case "+" | "-", "span", "span":
            return "span"
        case "+" | "-", "time" | "local time", "span":
            return first
        case "+", "span", "time" | "local time":
            return second
    return None
