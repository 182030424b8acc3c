"""A predicate over two rows as a compiled matcher: from its tree, or from its text when it has no tree.

    tree        abs(left.x - right.a) <= 10
    text        def holds(probe, i, stored, j): return abs(probe[0][i] - stored[0][j]) <= 10

A matcher runs the rows of one side, the probes, along stored rows of the other, so that each predicate
has two texts, one for each side that probes. The columns of a side are a tuple of arrays in an agreed
order; the last is the row's time. Integers are 64 bits wide here: whoever calls sees to it that they
suffice.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from sash.aggregation.kernels.compiler.function_source import (
    NoSource,
    defined,
    outside_names,
    plain_function,
    source_of,
)
from sash.aggregation.kernels.compiler.numba_compilation import Kernel, build, jit_disabled
from sash.aggregation.kernels.compiler.template_words import Columns
from sash.aggregation.kernels.joins.pairs import matcher, read_only
from sash.semantics.expression import COMPARISONS, Column, Constant, ExpressionNode, Operation, Side

ROWS = ("sash_probe", "sash_i", "sash_stored", "sash_j")
"""The parameters of a generated function: columns and position of the probe, of the stored row."""


def compiled_tree(
    parts: Sequence[ExpressionNode], places: Mapping[Column, int], probe: Side, within: int
) -> Kernel:
    """The matcher for the conjunction of `parts` (and of |Δτ| ≤ within, unless that is negative)."""

    def leaf(part: Column | Constant) -> str:
        if isinstance(part, Column):
            return ast.unparse(_cell(places[part], part.side is probe))
        return repr(plain(part.value))

    conditions = [text_of(part, leaf) for part in parts]
    if within >= 0:
        conditions.append(_meets(within))
    text = " & ".join(f"({condition})" for condition in conditions) or "True"
    return build(matcher(_function("holds", text, {})))


def compiled_function(
    where: Callable[..., Any], places: Mapping[Column, int], probe: Side, within: int,
    samples: Mapping[Side, Columns],
) -> Kernel:  # fmt: skip
    """The matcher for a function that has no tree. NoSource if its text is not to be had or does not answer
    with a bool, NumbaError if it cannot be compiled; `samples` are columns of the types that will come."""
    if jit_disabled():
        raise NoSource("compilation is switched off")
    predicate = _rewritten(where, places, probe)
    one, two = (tuple(map(read_only, samples[side])) for side in (probe, probe.other))
    answer = build(predicate).result_type(one, 0, two, 0)
    if str(answer) not in ("bool", "boolean"):  # as one version of Numba calls it, and the next
        raise NoSource(f"it returns {answer}, not a bool")
    text = f"predicate({', '.join(ROWS)})"
    if within >= 0:
        text = f"{_meets(within)} and {text}"
    return build(matcher(_function("holds", text, {"predicate": predicate})))


def columns_in_text(where: Callable[..., Any], names: Mapping[Side, Sequence[str]]) -> list[Column]:
    """The columns that the text of a function names; NoSource if it uses a row in another way."""
    reader = _Rewriter(_parameters(where), None)
    reader.visit(_parsed(where))
    unknown = [column for column in reader.found if column.name not in names[column.side]]
    if unknown:
        raise NoSource(f"there is no column {unknown[0]}")
    return list(dict.fromkeys(reader.found))


def largest(tree: ExpressionNode, column: int) -> int:
    """An upper bound of the integer that a tree computes from columns of at most this magnitude. Its
    parts have bounds of their own."""
    match tree:
        case Column():
            return column
        case Constant():
            value = plain(tree.value)
            return abs(value) if isinstance(value, int) else 0
        case Operation(operator, operands):
            inner = [largest(operand, column) for operand in operands]
            match operator:
                case "+" | "-":
                    return sum(inner)
                case "*":
                    return inner[0] * inner[1]
                case "&" | "|" | "^":
                    return (1 << max(inner).bit_length()) if max(inner) > 1 else 1
                case _ if operator in COMPARISONS:
                    return 1
                case _:
                    return max(inner)


def text_of(tree: ExpressionNode, leaf: Callable[[Column | Constant], str]) -> str:
    """A tree as an expression of Python, over what `leaf` writes for columns and constants."""
    match tree:
        case Operation(operator, (one,)):
            return f"{operator}({text_of(one, leaf)})"
        case Operation(operator, (first, second)):
            return f"({text_of(first, leaf)} {operator} {text_of(second, leaf)})"
        case Column() | Constant():
            return leaf(tree)
    raise AssertionError(tree)


def plain(value: Any) -> Any:
    """A constant as the text has it: numpy's as Python's, a length of time as its microseconds."""
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    return value.item() if isinstance(value, np.generic) else value


def _meets(within: int) -> str:
    p, i, s, j = ROWS
    return f"(abs({p}[-1][np.uintp({i})] - {s}[-1][np.uintp({j})]) <= {within})"


def _cell(place: int, probes: bool) -> ast.expr:
    """The value of a column in its row. An unsigned index cannot mean 'from the end', which costs time."""
    columns, position = ROWS[:2] if probes else ROWS[2:]
    expression = ast.parse(f"{columns}[{place}][np.uintp({position})]", mode="eval")
    return expression.body


def _function(name: str, text: str, outside: Mapping[str, Any]) -> Callable[..., Any]:
    return defined(f"def {name}({', '.join(ROWS)}):\n    return {text}", name, {"np": np, **outside})


def _rewritten(where: Callable[..., Any], places: Mapping[Column, int], probe: Side) -> Callable[..., Any]:
    """The function with its rows' columns as cells of arrays."""
    plain = plain_function(where)
    node = _Rewriter(_parameters(where), lambda column: _cell(places[column], column.side is probe)).visit(
        _parsed(where)
    )
    node.name = "predicate"
    node.args.args = [ast.arg(name) for name in ROWS]
    text = ast.unparse(ast.fix_missing_locations(node))
    return defined(text, "predicate", {"np": np, **outside_names(plain)})


def _parsed(where: Callable[..., Any]) -> ast.FunctionDef:
    node = ast.parse(source_of(where)).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def _parameters(where: Callable[..., Any]) -> dict[str, Side]:
    names = [argument.arg for argument in _parsed(where).args.args]
    if len(names) != 2:
        raise NoSource(f"it has {len(names)} parameters, not two")
    return dict(zip(names, Side, strict=True))


class _Rewriter(ast.NodeTransformer):
    """Finds `l.x` and `l["x"]`; puts something in their place when given what."""

    def __init__(
        self, parameters: Mapping[str, Side], replacement: Callable[[Column], ast.expr] | None
    ) -> None:
        self.parameters, self.replacement = parameters, replacement
        self.found: list[Column] = []

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self.parameters:
            return self._column(node, self.parameters[node.value.id], node.attr)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        row, name = node.value, node.slice
        if isinstance(row, ast.Name) and row.id in self.parameters:
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                return self._column(node, self.parameters[row.id], name.value)
            raise NoSource("it computes the name of a column")
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.parameters:
            raise NoSource(f"it uses the row {node.id!r} as a whole")
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        raise NoSource("it holds another function")

    def _column(self, node: ast.expr, side: Side, name: str) -> ast.AST:
        column = Column(side, name)
        self.found.append(column)
        return node if self.replacement is None else self.replacement(column)
