"""What the parts of a predicate are, as far as machine code cares.

    bool, int, float            numbers
    time, local time, span      microseconds: instants with a zone, without one, and the time between two
    None                        anything else: words, decimals, mixtures. Such a part is interpreted

>>> from sash.semantics.expression import trace
>>> types = {Side.LEFT: pa.schema([("x", pa.int32())]), Side.RIGHT: pa.schema([("a", pa.float64())])}
>>> kind_of(trace(lambda l, r: abs(l.x - r.a), ["x"], ["a"]), types)
'float'
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.operators.inputs import to_numpy
from sash.semantics.expression import COMPARISONS, Column, Constant, Node, Side

Kind: TypeAlias = Literal["bool", "int", "float", "time", "local time", "span"]
Schemas: TypeAlias = Mapping[Side, pa.Schema]

_NUMBERS = ("bool", "int", "float")


def kind_of(tree: Node, schemas: Schemas) -> Kind | None:
    """What a tree computes, or None where it cannot be compiled."""
    if isinstance(tree, Column):
        return kind_of_column(schemas[tree.side].field(tree.name).type)
    if isinstance(tree, Constant):
        return _kind_of_constant(tree)
    kinds = [kind_of(operand, schemas) for operand in tree.operands]
    if len(kinds) == 1:
        (one,) = kinds
        return "int" if one == "bool" else one if one in ("int", "float", "span") else None
    first, second = kinds
    if first is None or second is None:
        return None
    return _of_two(tree.operator, first, second)


def kind_of_column(type_: pa.DataType) -> Kind | None:
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


def _kind_of_constant(constant: Constant) -> Kind | None:
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


def _of_two(operator: str, first: Kind, second: Kind) -> Kind | None:
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
