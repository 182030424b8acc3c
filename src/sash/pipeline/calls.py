"""Calls in words: 'quantile(price, 0.5)', 'WinFarm(PaneFarm(2, 3), replicas=2)'. Read, never evaluated.

    call      =  name ( [argument {, argument}] )
    argument  =  [name =] value
    value     =  number | true | false | word | 'text' | "text" | call | list
    list      =  [ value {, value} ]

>>> call_of("quantile(price, 0.5)", argument="median")
Call(name='quantile', arguments=('price', 0.5), options={})
>>> call_of("histogram(price, edges=[0, 10])", argument="spread").options
{'edges': (0, 10)}
>>> call_of("sum(x", argument="total")
Traceback (most recent call last):
    ...
sash.errors.ArgumentError: total must be words such as 'sum(price)'; got 'sum(x'. After 'sum(x' there is a \
')' or a ',' missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any, TypeAlias

from sash.errors import ArgumentError

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?!\w)
      | (?P<word>[^\W\d][\w.]*)
      | (?P<text>"[^"]*"|'[^']*')
      | (?P<mark>[(),=\[\]])
    )""",
    re.VERBOSE,
)
_INTEGER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class Call:
    """A name and what it is given."""

    name: str
    arguments: tuple[Value, ...] = ()
    options: dict[str, Value] = field(default_factory=dict)


Value: TypeAlias = "str | int | float | Call | tuple[Value, ...]"

_TRUTHS = {"true": True, "false": False}


def call_of(words: Any, *, argument: str, example: str = "sum(price)") -> Call:
    """The call that the words say; `argument` is the name to blame when they cannot be read."""
    if not isinstance(words, str):
        raise ArgumentError(argument, words, f"words such as '{example}'")
    return _Reader(words, argument, example).whole()


def required_form(make: Callable[..., Any], name: str) -> str:
    """How a function is called, in the words of this module.

    >>> from sash.aggregation import monoids
    >>> required_form(monoids.quantile, "quantile")
    'quantile(column, q, [sketch=kll], [k=200], [where=…])'
    """
    return f"{name}({', '.join(_shown(one) for one in signature(make).parameters.values())})"


def _shown(parameter: Parameter) -> str:
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return f"{parameter.name}…"
    if parameter.default is Parameter.empty:
        return parameter.name
    return f"[{parameter.name}={'…' if parameter.default is None else parameter.default}]"


def required_fit(make: Callable[..., Any], call: Call, *, argument: str, words: str) -> None:
    """ArgumentError unless the function can be called so."""
    try:
        signature(make).bind(*call.arguments, **call.options)
    except TypeError:
        raise ArgumentError(argument, words, f"'{required_form(make, call.name)}'") from None


class _Reader:
    def __init__(self, words: str, argument: str, example: str) -> None:
        self._words, self._argument, self._example = words, argument, example
        self._at = 0

    def whole(self) -> Call:
        value = self._value()
        if not isinstance(value, Call):
            raise self._refused(f"'{value}' is no call; write '{value}(…)'.")
        if self._words[self._at :].strip():
            raise self._refused(f"After {self._read()} nothing may follow.")
        return value

    def _value(self) -> Value:
        if self._takes("["):
            return self._list()
        kind, token = self._token()
        if kind == "number":
            return int(token) if _INTEGER.fullmatch(token) else float(token)
        if kind == "text":
            return token[1:-1]
        if kind != "word":
            raise self._refused(f"After {self._read()} a name, a number or a text is missing.")
        return self._call(token) if self._takes("(") else _TRUTHS.get(token, token)

    def _list(self) -> tuple[Value, ...]:
        values: list[Value] = []
        while not self._takes("]"):
            if values and not self._takes(","):
                raise self._refused(f"After {self._read()} there is a ']' or a ',' missing.")
            values.append(self._value())
        return tuple(values)

    def _call(self, name: str) -> Call:
        arguments: list[Value] = []
        options: dict[str, Value] = {}
        while not self._takes(")"):
            if (arguments or options) and not self._takes(","):
                raise self._refused(f"After {self._read()} there is a ')' or a ',' missing.")
            value = self._value()
            if isinstance(value, str) and self._takes("="):
                options[value] = self._value()
            elif options:
                raise self._refused(f"What has no name comes before {next(iter(options))}=….")
            else:
                arguments.append(value)
        return Call(name, tuple(arguments), options)

    def _token(self) -> tuple[str, str]:
        found = _TOKEN.match(self._words, self._at)
        if found is None or found.lastgroup == "mark":
            return "", ""
        self._at = found.end()
        return str(found.lastgroup), found[str(found.lastgroup)]

    def _takes(self, mark: str) -> bool:
        found = _TOKEN.match(self._words, self._at)
        if found is None or found["mark"] != mark:
            return False
        self._at = found.end()
        return True

    def _read(self) -> str:
        return f"'{self._words[: self._at].strip()}'" if self._at else "the beginning"

    def _refused(self, hint: str) -> ArgumentError:
        return ArgumentError(self._argument, self._words, f"words such as '{self._example}'", hint=hint)
