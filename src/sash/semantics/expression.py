"""A predicate over two rows as a tree, found by calling it with symbols instead of values.

    where(l, r)  =  abs(l.x - r.a) <= 10          the function
    tree         =  ≤ (abs (− (left.x, right.a)), 10)

Of a row of symbols, `l.x` is a symbol, and operators between symbols build a tree. A tree can be
taken apart (equalities, bands), written down as text and compiled. Python's `and`, `or`,
`not`, `if` and chained comparisons need the truth of a symbol, which it does not have: such functions
are not traceable, and neither are those that hand a symbol to another library. They still work, on
rows.

>>> tree = trace(lambda l, r: (abs(l.x - r.a) <= 10) & (l.kind == r.kind), ["x", "kind"], ["a", "kind"])
>>> [str(part) for part in conjuncts(tree)]
['(abs((left.x - right.a)) <= 10)', '(left.kind == right.kind)']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from types import SimpleNamespace
from typing import Any, NoReturn, TypeAlias

from sash.errors import SashError, UnknownColumn
from sash.semantics.event import Row


class Side(Enum):
    """Which of the two inputs of a join."""

    LEFT = "left"
    RIGHT = "right"

    @property
    def other(self) -> Side:
        return Side.RIGHT if self is Side.LEFT else Side.LEFT


@dataclass(frozen=True)
class Column:
    """A column of one side's row."""

    side: Side
    name: str

    def __str__(self) -> str:
        return f"{self.side.value}.{self.name}"


@dataclass(frozen=True)
class Constant:
    """A value that is the same for all rows."""

    value: Any

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Operation:
    """An operator and what it is applied to: two trees, or one for `abs` and a leading minus."""

    operator: str
    operands: tuple[ExpressionNode, ...]

    def __str__(self) -> str:
        if len(self.operands) == 1:
            return f"{self.operator}({self.operands[0]})"
        first, second = self.operands
        return f"({first} {self.operator} {second})"


ExpressionNode: TypeAlias = "Column | Constant | Operation"
TRUE = Constant(True)
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class Untraceable(BaseException):
    """The function does more than operators between columns; the message names it. Callers handle it. No
    Exception, so that a function which handles those of its own does not continue with half a result."""


def trace(where: Callable[..., Any], left: Sequence[str], right: Sequence[str]) -> ExpressionNode:
    """The tree of `where`, or the constant that it returns; UnknownColumn if it reads another
    column than these, Untraceable if it has no tree."""
    try:
        answer = where(_SymbolRow(Side.LEFT, left), _SymbolRow(Side.RIGHT, right))
    except (SashError, Untraceable):
        raise
    except Exception as error:
        # Whatever it is, rows of values will show whether it is the function or the symbols.
        raise Untraceable(f"{type(error).__name__}: {error}") from error
    return _node(answer)


def trace_row(predicate: Callable[..., Any], columns: Sequence[str]) -> ExpressionNode:
    """The tree of a predicate over one row, which stands on the left: as `trace`."""
    return trace(lambda row, _: predicate(row), columns, ())


def trace_folds(policy: Callable[..., Any], names: Sequence[str]) -> ExpressionNode:
    """The tree of a slide policy over folds of these names: of the whole window on the left, of a prefix on
    the right. As `trace`, but what is not tracked makes it Untraceable, too."""
    total, old = (SimpleNamespace(**{name: _Symbol(Column(side, name)) for name in names}) for side in Side)
    try:
        return _node(policy(total, old))
    except Exception as error:
        raise Untraceable(f"{type(error).__name__}: {error}") from error


def conjuncts(tree: ExpressionNode) -> Iterator[ExpressionNode]:
    """The parts that must all be true; none for the constant True."""
    match tree:
        case Operation("&", operands):
            for operand in operands:
                yield from conjuncts(operand)
        case Constant(True):
            return
        case _:
            yield tree


def columns_of(*trees: ExpressionNode) -> list[Column]:
    """The columns that trees read, each once, in the order of their first appearance."""
    parts = (part for tree in trees for part in parts_of(tree))
    return list(dict.fromkeys(part for part in parts if isinstance(part, Column)))


def parts_of(tree: ExpressionNode) -> Iterator[ExpressionNode]:
    """A tree and all the trees that it is made of."""
    yield tree
    if isinstance(tree, Operation):
        for operand in tree.operands:
            yield from parts_of(operand)


class _SymbolRow:
    """A row of symbols: `row.x` and `row["x"]`."""

    def __init__(self, side: Side, columns: Sequence[str]) -> None:
        # Such names no column has.
        self.__side, self.__columns = side, columns

    def __getitem__(self, name: str) -> _Symbol:
        if name not in self.__columns:
            raise UnknownColumn(f"where, in the {self.__side.value} row", name, self.__columns)
        return _Symbol(Column(self.__side, name))

    def __getattr__(self, name: str) -> _Symbol:
        if name.startswith("__"):
            raise AttributeError(name)
        if hasattr(Row, name):
            raise Untraceable(f"it uses a row as a whole ({name})")
        return self[name]

    def __iter__(self) -> NoReturn:
        raise Untraceable("it goes through a row's columns")


class _Symbol:
    """A tree that operators grow. Equality grows it too, so that symbols have no hash."""

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None
    """Makes numpy leave operators with its own scalars to us."""

    def __init__(self, node: ExpressionNode) -> None:
        self.node = node

    def __bool__(self) -> NoReturn:
        if any(map(_binds_tighter, parts_of(self.node))):
            raise Untraceable("a comparison beside & or | is not in parentheses")
        raise Untraceable("it uses `and`, `or`, `not`, `if`, `in` or a < b < c")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Untraceable(f"it uses `.{name}` of a value")

    def __str__(self) -> NoReturn:
        raise Untraceable("it needs the text of a value")

    __repr__ = __str__

    def __abs__(self) -> _Symbol:
        return _Symbol(Operation("abs", (self.node,)))

    def __neg__(self) -> _Symbol:
        return _Symbol(Operation("-", (self.node,)))


def _binds_tighter(part: ExpressionNode) -> bool:
    """Whether & or | stands inside a comparison: Python reads `a > 1 & b == 2` as `a > (1 & b) == 2`."""
    if not isinstance(part, Operation) or part.operator not in _COMPARED.values():
        return False
    return any(isinstance(one, Operation) and one.operator in ("&", "|") for one in part.operands)


def _node(value: Any) -> ExpressionNode:
    return value.node if isinstance(value, _Symbol) else Constant(value)


def _forward(operator: str) -> Callable[[_Symbol, Any], _Symbol]:
    return lambda symbol, other: _Symbol(Operation(operator, (symbol.node, _node(other))))


def _backward(operator: str) -> Callable[[_Symbol, Any], _Symbol]:
    return lambda symbol, other: _Symbol(Operation(operator, (_node(other), symbol.node)))


# No `~`: of a Python bool it is an integer, so a function that uses it has no boolean answer on rows.
_ARITHMETIC = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
for _name, _operator in (_ARITHMETIC | _COMPARED).items():
    setattr(_Symbol, f"__{_name}__", _forward(_operator))
for _name, _operator in _ARITHMETIC.items():
    setattr(_Symbol, f"__r{_name}__", _backward(_operator))
