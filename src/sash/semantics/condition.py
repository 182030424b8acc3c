"""The condition of an aggregate: which rows count, as a tree over columns with SQL's three truths.

    where  =  lambda row: (row.amount > 100) & (row.kind == "buy")        a function of a row of symbols
    where  =  "amount > 100 and kind == 'buy'"                            the same as text
    tree   =  & (> (amount, 100), == (kind, 'buy'))

A row counts when the tree is *true* for it. Arithmetic and comparisons with a null are null; `&` and `|`
are Kleene's (false & null is false, true | null is true); null does not count. `== None` and `!= None` are
tests for null, as `is None` and `is not None` are in text.

The function is called once, with symbols: the condition is then data, which can be compared, shown, sent
to other processes and computed on columns. What has no tree (`and`, `or`, `not`, `if`, methods in a
function) is refused; text may use `and`, `or`, `in` and chained comparisons, because it is not run.

>>> buys = condition(lambda row: (row.amount > 100) & (row.kind == "buy"))
>>> str(buys), buys.columns
("(amount > 100) & (kind == 'buy')", ('amount', 'kind'))
>>> buys == condition("amount > 100 and kind == 'buy'")
True
>>> buys.holds({"amount": 101, "kind": "buy"}), buys.holds({"amount": 101, "kind": None})
(True, False)
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

from sash.errors import ArgumentError, PredicateError
from sash.semantics.expression import (
    MIRRORED,
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
from sash.semantics.predicate import truth
from sash.semantics.sql_words import in_python

_EXAMPLE = "a condition such as lambda row: (row.price > 100) & (row.kind == 'buy')"


@dataclass(frozen=True)
class Condition:
    """What must be true of a row. Made by `condition`."""

    tree: ExpressionNode

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads, in order of appearance."""
        return tuple(column.name for column in columns_of(self.tree))

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether it is true of this row: by definition, value by value."""
        try:
            answer = _value(self.tree, row)
        except Exception as error:
            raise PredicateError(
                f"the condition where={self} raised {type(error).__name__}: {error}; "
                f"called with {self._part(row)}"
            ) from error
        return truth(answer, owner=f"where={self}", about=self._part(row))

    def _part(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: row[name] for name in self.columns}

    def __str__(self) -> str:
        return _text(self.tree, outermost=True)


RowCondition: TypeAlias = "Callable[[Any], Any] | str | Condition"
"""What `where=` takes: a function of a row, or the same as text."""


def condition(where: RowCondition | None) -> Condition | None:
    """The condition that a function or a text states; None means every row."""
    if where is None or isinstance(where, Condition):
        return where
    if type(where).__name__ == "Column":
        hint = (
            "A Column of PySpark is computed by Spark only. Write it as text, where='amount > 100', or as "
        )
        hint += "a function of a row, where=lambda row: row.amount > 100."
        raise ArgumentError("where", where, _EXAMPLE, hint=hint)
    if isinstance(where, str):
        tree = _parsed(where)
    elif callable(where):
        try:
            tree = trace_row(where, _AnyName())
        except Untraceable as error:
            why = f"This function cannot become a condition on columns: {error}. Write & and | with each "
            why += "comparison in parentheses, or the condition as text, 'x > 1 and y in (2, 3)'."
            raise _refused(where, why) from None
    else:
        raise ArgumentError("where", where, _EXAMPLE)
    _check(where, tree)
    return Condition(tree)


def _check(where: Any, tree: ExpressionNode) -> None:
    constant_truth = "Part of this one is the same for all rows; a null is tested for with `== None`."
    if not columns_of(tree):
        raise _refused(where, constant_truth)
    for part in parts_of(tree):
        if isinstance(part, Constant) and not isinstance(part.value, Hashable):
            raise _refused(where, f"{part} is no single value.")
        # `row.x is None` is about the symbol and not about its values: such a truth stands here by mistake.
        combined = part.operands if isinstance(part, Operation) and part.operator in ("&", "|", "^") else ()
        if any(isinstance(one, Constant) and isinstance(one.value, bool) for one in combined):
            raise _refused(where, constant_truth)


def _refused(where: Any, why: str) -> ArgumentError:
    hint = f"{why} For anything else, compute a column of booleans first."
    return ArgumentError("where", where, f"{_EXAMPLE}: comparisons, combined with & and |", hint=hint)


class _AnyName(list[str]):
    """Names of columns before there is an input: any. A query refuses what its input does not have."""

    def __contains__(self, name: object) -> bool:
        return True


# The three truths.

_COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "^": operator.xor, "&": operator.and_, "|": operator.or_,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def _value(tree: ExpressionNode, row: Mapping[str, Any]) -> Any:
    match tree:
        case Column(_, name):
            return row[name]
        case Constant(value):
            return value
        case Operation("==" | "!=", (tested, Constant(None)) | (Constant(None), tested)):
            return (_value(tested, row) is None) is (tree.operator == "==")
        case Operation(operator_, (one,)):
            value = _value(one, row)
            return None if value is None else abs(value) if operator_ == "abs" else -value
        case Operation(operator_, (one, other)):
            return _of_two(operator_, _value(one, row), _value(other, row))
    raise AssertionError(tree)


def _of_two(operator_: str, one: Any, other: Any) -> Any:
    # Whatever the unknown side is, false & … is false and true | … is true.
    decisive = {"&": False, "|": True}.get(operator_)
    if decisive is not None and (one is decisive or other is decisive):
        return decisive
    return None if one is None or other is None else _COMPUTED[operator_](one, other)


# From text and to text.

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.And: "&", ast.Or: "|",
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "==", ast.IsNot: "!=",
}  # fmt: skip


def _parsed(text: str) -> ExpressionNode:
    try:
        return _node(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as error:
        raise _refused(text, f"It cannot be read: {error.msg}.{in_python(text)}") from None
    except (MemoryError, RecursionError, ValueError) as error:
        raise _refused(f"{text[:40]}…", f"It cannot be read: {error}.") from None
    except Untraceable as error:
        raise _refused(text, f"In text, {error} has no meaning.{in_python(text)}") from None


def _node(part: ast.expr) -> ExpressionNode:
    match part:
        case ast.Name(name):
            return Column(Side.LEFT, name)
        case ast.Constant(value):
            return Constant(value)
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
            return Constant(-value)
        case ast.UnaryOp(ast.USub(), inner):
            return Operation("-", (_node(inner),))
        case ast.Call(ast.Name("abs"), [inner], []):
            return Operation("abs", (_node(inner),))
        case ast.BinOp(one, how, other) if type(how) in _BINARY:
            return Operation(_BINARY[type(how)], (_node(one), _node(other)))
        case ast.BoolOp(how, parts):
            return _joined(_BINARY[type(how)], [_node(one) for one in parts])
        case ast.Compare(first, operators, others):
            sides = [first, *others]
            pairs = zip(sides[:-1], operators, sides[1:], strict=True)
            return _joined("&", [_comparison(one, how, other) for one, how, other in pairs])
    raise Untraceable(f"'{ast.unparse(part)}'")


def _comparison(one: ast.expr, how: ast.cmpop, other: ast.expr) -> ExpressionNode:
    match how, other:
        case ast.In(), ast.Tuple(members) | ast.List(members) | ast.Set(members) if members:
            return _joined("|", [Operation("==", (_node(one), _node(member))) for member in members])
        case ast.NotIn(), ast.Tuple(members) | ast.List(members) | ast.Set(members) if members:
            return _joined("&", [Operation("!=", (_node(one), _node(member))) for member in members])
        case ast.Is() | ast.IsNot(), ast.Constant(None):
            return Operation(_COMPARED[type(how)], (_node(one), Constant(None)))
        case ast.Is() | ast.IsNot() | ast.In() | ast.NotIn(), _:
            raise Untraceable(f"'{ast.unparse(ast.Compare(one, [how], [other]))}'")
    left, right, operator_ = _node(one), _node(other), _COMPARED[type(how)]
    if isinstance(left, Constant):  # as Python turns `0 < row.x` around
        left, right, operator_ = right, left, MIRRORED[operator_]
    return Operation(operator_, (left, right))


def _joined(operator_: str, parts: list[ExpressionNode]) -> ExpressionNode:
    return reduce(lambda one, other: Operation(operator_, (one, other)), parts)


def _text(tree: ExpressionNode, *, outermost: bool = False) -> str:
    match tree:
        case Column(_, name):
            return name if name.isidentifier() else f"row[{name!r}]"
        case Constant(value):
            return repr(value)
        case Operation(operator_, (one,)):
            return f"{operator_}({_text(one, outermost=True)})"
        case Operation(operator_, (one, other)):
            text = f"{_text(one)} {operator_} {_text(other)}"
            return text if outermost else f"({text})"
    raise AssertionError(tree)
