"""The condition of an aggregate in SQL, where SQL and Python mean the same by it.

    comparisons of columns with columns and constants, of one kind: integers, floats, truths, words
    tests for null, and & and | of all these

Everything else is computed in Python, over rows: above all arithmetic, which SQL rounds, divides and
overflows in its own way. In SQL, NaN equals itself and is above all numbers; in Python it differs from
everything. Comparisons of floats therefore exclude it.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import pyarrow as pa

from sash.runtimes.spark.packing.columns import quoted
from sash.runtimes.spark.sql_folding.numbers_in_sql import as_number
from sash.semantics.condition import Condition
from sash.semantics.expression import COMPARISONS, Column, Constant, ExpressionNode, Operation

SqlKind: TypeAlias = Literal["int", "float", "bool", "word"]

EXACT = 2**53
"""Integers up to this are doubles too."""


def condition_sql(condition: Condition, schema: pa.Schema) -> str | None:
    """The condition over columns of this schema; None when SQL has no form of it.

    >>> from sash.semantics.condition import condition
    >>> schema = pa.schema([("x", pa.int64()), ("kind", pa.string())])
    >>> condition_sql(condition("x > 1 and x != None"), schema)
    "((CAST(`x` AS BIGINT) > CAST('1' AS BIGINT)) AND (`x` IS NOT NULL))"
    >>> condition_sql(condition("x + 1 > 1"), schema) is None
    True
    """
    return _truth(condition.tree, schema)


def _truth(tree: ExpressionNode, schema: pa.Schema) -> str | None:
    match tree:
        case Column():
            value = _value(tree, schema)
            return value[0] if value is not None and value[1] == "bool" else None
        case Operation("&" | "|" as operator, (one, other)):
            parts = [_truth(part, schema) for part in (one, other)]
            joined = {"&": " AND ", "|": " OR "}[operator]
            return None if None in parts else f"({joined.join(map(str, parts))})"
        case Operation("==" | "!=" as operator, (Column(_, name), Constant(None))):
            return f"({quoted(name)} IS {'' if operator == '==' else 'NOT '}NULL)"
        case Operation(operator, (one, other)) if operator in COMPARISONS:
            values = [_value(part, schema) for part in (one, other)]
            if any(value is not None and value[1] == "float" for value in values):
                values = [_value(_as_float(part), schema) for part in (one, other)]
            return _comparison(operator, *values)
    return None


def _as_float(part: ExpressionNode) -> ExpressionNode:
    match part:
        case Constant(int() as number) if type(number) is int and abs(number) <= EXACT:
            return Constant(float(number))
    return part


def _comparison(
    operator: str, one: tuple[str, SqlKind] | None, other: tuple[str, SqlKind] | None
) -> str | None:
    if one is None or other is None:
        return None
    (first, kind), (second, kind_of_second) = one, other
    if kind != kind_of_second or (kind in ("word", "bool") and operator not in ("==", "!=")):
        return None
    compared = f"({first} {'=' if operator == '==' else operator} {second})"
    if kind == "float":
        is_nan = f"isnan({first}) OR isnan({second})"
        return f"({compared} OR {is_nan})" if operator == "!=" else f"({compared} AND NOT ({is_nan}))"
    return compared


def _value(part: ExpressionNode, schema: pa.Schema) -> tuple[str, SqlKind] | None:
    match part:
        case Column(_, name):
            return _column(quoted(name), schema.field(name).type)
        case Constant(bool() as truth):
            return str(truth), "bool"
        case Constant(int() as number) if -(2**63) <= number < 2**63:
            return f"CAST('{number}' AS BIGINT)", "int"
        case Constant(float() as number) if type(number) is float and math.isfinite(number):
            return f"CAST('{number!r}' AS DOUBLE)", "float"
        case Constant(str() as word) if type(word) is str and word == word.encode(errors="ignore").decode():
            # By its bytes, so that no character of it needs to be escaped.
            return f"CAST(X'{word.encode().hex()}' AS STRING)", "word"
    return None


def _column(name: str, type_: pa.DataType) -> tuple[str, SqlKind] | None:
    if pa.types.is_string(type_):
        return name, "word"
    kinds: list[tuple[bool, SqlKind]] = [
        (pa.types.is_boolean(type_), "bool"),
        (pa.types.is_integer(type_), "int"),
        (pa.types.is_floating(type_), "float"),
    ]
    number = as_number(name, type_)
    found = [kind for fits, kind in kinds if fits]
    return (number, found[0]) if number is not None and found else None
