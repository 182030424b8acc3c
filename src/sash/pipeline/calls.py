"""Calls as text: 'quantile(price, 0.5)', 'WinFarm(PaneFarm(2, 3), replicas=2)'. Parsed, never evaluated.

    call      =  name ( [argument {, argument}] )
    argument  =  [name =] value
    value     =  number | true | false | name | 'text' | "text" | call | [value, …]

It is a part of Python's grammar, so Python's own parser reads it.

>>> call_of("quantile(price, 0.5)", argument="median")
Call(name='quantile', arguments=('price', 0.5), options={})
>>> call_of("histogram(price, edges=[0, 10])", argument="spread").options
{'edges': (0, 10)}
>>> call_of("sum(x", argument="total")
Traceback (most recent call last):
    ...
sash.errors.ArgumentError: total must be a call such as 'sum(price)'; got 'sum(x'. After 'sum': '(' was \
never closed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any, TypeAlias

from sash.errors import ArgumentError


@dataclass(frozen=True)
class Call:
    """A name and what it is given."""

    name: str
    arguments: tuple[Value, ...] = ()
    options: dict[str, Value] = field(default_factory=dict)


Value: TypeAlias = "str | int | float | Call | tuple[Value, ...]"

_TRUTHS = {"true": True, "false": False}


class _Unreadable(Exception):
    """A part of Python that is no call."""


def call_of(text: Any, *, argument: str, example: str = "sum(price)") -> Call:
    """The call that a text states; `argument` is the name for errors."""
    try:
        if not isinstance(text, str):
            raise _Unreadable
        value = _value(ast.parse(text.strip(), mode="eval").body)
        if not isinstance(value, Call):
            raise _Unreadable(f"'{value}' is no call; write '{value}(…)'.")
        return value
    except SyntaxError as error:
        before = (error.text or "")[: max(0, (error.offset or 1) - 1)].strip()
        place = f"After '{before}'" if before else "At the beginning"
        hint = f"{place}: {error.msg.split(' (detected')[0]}."  # Python's line is not that of the file
    except (_Unreadable, ValueError, RecursionError) as error:
        hint = str(error)
    raise ArgumentError(argument, text, f"a call such as '{example}'", hint=hint)


def _value(part: ast.expr) -> Value:
    match part:
        case ast.Call(called, arguments, keywords):
            options = {str(one.arg): _value(one.value) for one in keywords if one.arg is not None}
            if len(options) < len(keywords):
                raise _Unreadable("Each name=value needs a name, and none may be given twice.")
            return Call(_name(called), tuple(map(_value, arguments)), options)
        case ast.Name() | ast.Attribute():
            name = _name(part)
            return _TRUTHS.get(name, name)
        case ast.Constant(int() | float() | str() as value):
            return value
        case ast.UnaryOp(ast.USub() | ast.UAdd() as sign, ast.Constant(int() | float() as value)):
            return -value if isinstance(sign, ast.USub) else value
        case ast.List(elements):
            return tuple(map(_value, elements))
    raise _Unreadable(f"'{ast.unparse(part)}' is neither a name, a number, a text, a list nor a call.")


def _name(part: ast.expr) -> str:
    """A name, or several with dots between them."""
    match part:
        case ast.Name(name):
            return name
        case ast.Attribute(inner, name):
            return f"{_name(inner)}.{name}"
    raise _Unreadable(f"'{ast.unparse(part)}' is no name.")


def required_form(make: Callable[..., Any], name: str) -> str:
    """How a function is called, as this module reads it.

    >>> from sash.aggregation import built_in
    >>> required_form(built_in.quantile, "quantile")
    'quantile(column, q, [sketch=kll], [k=200], [where=…])'
    """
    return f"{name}({', '.join(_shown(one) for one in signature(make).parameters.values())})"


def _shown(parameter: Parameter) -> str:
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return f"{parameter.name}…"
    if parameter.default is Parameter.empty:
        return parameter.name
    return f"[{parameter.name}={'…' if parameter.default is None else parameter.default}]"


def required_fit(make: Callable[..., Any], call: Call, *, argument: str, text: str) -> None:
    """ArgumentError unless the function can be called so."""
    try:
        signature(make).bind(*call.arguments, **call.options)
    except TypeError:
        raise ArgumentError(argument, text, f"'{required_form(make, call.name)}'") from None
