"""The source text of a function, found, proved to be that function's, and able to travel.

Machine code can be kept on disk only for functions that live in a file. A monoid's functions may live
anywhere (a class body, a lambda in a call, a notebook cell, another process), so their text is looked up
once and carried along as an attribute of the function, which cloudpickle ships with it.

A file can change after it was imported, and several lambdas can share a line. So a candidate text counts
only when it compiles to the very byte code that the function runs:

>>> def half(x):
...     return x / 2
>>> print(source_of(half))
def half(x):
    return x / 2
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from sash.aggregation.monoid import Monoid

CARRIED = "__sash_source__"
"""The attribute under which a function carries its text to other processes."""


class NoSource(Exception):
    """The text of a function cannot be had, and the message has the reason. Callers handle it."""


def remember(monoid: Monoid) -> Monoid:
    """The same monoid, its functions carrying their source text wherever they are pickled to.

    Functions whose text is not to be had are left as they are: they still compile, without a file.
    """
    for function in (monoid.lift, monoid.combine, monoid.lower, monoid.inverse):
        carry_source(function)
    return monoid


def carry_source(function: Callable[..., Any] | None) -> None:
    """Let a function, and those that it calls, carry their source text wherever they are pickled to."""
    for reached in _reachable(function):
        try:
            setattr(reached, CARRIED, source_of(reached))
        except NoSource:
            continue


def source_of(function: Callable[..., Any]) -> str:
    """The text of `function` as a top-level `def` named as the function is (lambdas: `function`)."""
    plain = plain_function(function)
    carried = plain.__dict__.get(CARRIED)
    if isinstance(carried, str):
        return carried
    if plain.__defaults__ or plain.__kwdefaults__:
        raise NoSource(f"{plain.__qualname__} has default arguments, whose values its text does not hold")
    try:
        lines, _ = inspect.findsource(plain)
        tree = _parsed("".join(lines))
    except (OSError, TypeError, SyntaxError, IndexError) as error:
        raise NoSource(f"the source of {plain.__qualname__} is not available ({error})") from None
    for node in _candidates(tree, plain.__code__.co_firstlineno):
        if _same_code(_compiled(node, plain.__code__, tree), plain.__code__):
            return ast.unparse(_as_definition(node))
    raise NoSource(f"the file of {plain.__qualname__} no longer holds the code that runs")


def defined(text: str, name: str, outside: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """The function that a text defines, over the names that it takes from outside; it carries its text.

    >>> double = defined("def double(x):\\n    return x + x", "double")
    >>> double(2), source_of(double)
    (4, 'def double(x):\\n    return x + x')
    """
    namespace: dict[str, Any] = dict(outside or {})
    exec(compile(text, f"<sash {name}>", "exec"), namespace)
    function: Callable[..., Any] = namespace[name]
    setattr(function, CARRIED, text)
    return function


def plain_function(function: Callable[..., Any]) -> FunctionType:
    """The Python function behind `function`, also when it was given as a Numba dispatcher."""
    plain = getattr(function, "py_func", function)
    if not isinstance(plain, FunctionType):
        raise NoSource(f"{function!r} is not a Python function")
    return plain


def outside_names(function: FunctionType) -> dict[str, Any]:
    """The names that a function takes from its closure and its module, with their present values."""
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    named = {
        name: function.__globals__[name] for name in _global_names(code) if name in function.__globals__
    }
    return named | {name: cell.cell_contents for name, cell in cells}


def _global_names(code: CodeType) -> Iterator[str]:
    # co_names also lists attributes; a global that merely shares an attribute's name is harmless here.
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _reachable(function: Callable[..., Any] | None) -> Iterator[FunctionType]:
    pending, seen = [function], set()
    while pending:
        try:
            plain = plain_function(pending.pop())  # type: ignore[arg-type]
        except NoSource:
            continue
        if plain not in seen:
            seen.add(plain)
            yield plain
            pending.extend(value for value in outside_names(plain).values() if callable(value))


@lru_cache(maxsize=64)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _candidates(tree: ast.Module, line: int) -> Iterator[ast.FunctionDef | ast.Lambda]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == line:
                yield node
        elif isinstance(node, ast.Lambda) and node.lineno == line:
            yield node


def _as_definition(node: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef:
    """A bare `def`: no decorators, no annotations; a lambda gets a name and a return."""
    body: list[ast.stmt]
    if isinstance(node, ast.Lambda):
        name, body = "function", [ast.Return(node.body)]
    else:
        name, body = node.name, list(node.body)
    names = [ast.arg(argument.arg) for argument in (*node.args.posonlyargs, *node.args.args)]
    arguments = ast.arguments([], names, None, [], [], None, [])
    return ast.fix_missing_locations(ast.FunctionDef(name, arguments, body, [], None, None, lineno=1))


def _compiled(node: ast.FunctionDef | ast.Lambda, like: CodeType, tree: ast.Module) -> CodeType:
    # Names from a closure compile to other byte code than globals do, so the closure is put around it.
    around = ast.parse(f"def around({', '.join(like.co_freevars)}): pass")
    outer = around.body[0]
    assert isinstance(outer, ast.FunctionDef)
    if isinstance(node, ast.Lambda):
        outer.body = [ast.Expr(node)]
    else:
        bare = ast.FunctionDef(node.name, node.args, node.body, [], None, None)
        outer.body = [ast.copy_location(bare, node)]
    # CPython compiles `math.sqrt(x)` in another way when it sees that the file imports `math`.
    imports = [statement for statement in tree.body if isinstance(statement, ast.Import | ast.ImportFrom)]
    around.body = [*imports, outer]
    module = compile(ast.fix_missing_locations(around), "<candidate>", "exec", dont_inherit=True)
    return _first_code(_first_code(module))


def _first_code(code: CodeType) -> CodeType:
    return next(constant for constant in code.co_consts if isinstance(constant, CodeType))


def _same_code(one: CodeType, two: CodeType) -> bool:
    shape = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount")
    if any(getattr(one, name) != getattr(two, name) for name in shape):
        return False
    if len(one.co_consts) != len(two.co_consts):
        return False
    return all(map(_same_constant, one.co_consts, two.co_consts))


def _same_constant(one: Any, two: Any) -> bool:
    if isinstance(one, CodeType) and isinstance(two, CodeType):
        return _same_code(one, two)
    return type(one) is type(two) and repr(one) == repr(two)
