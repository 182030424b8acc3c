"""How a built-in aggregate was made, so that it can be made again elsewhere from plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec

from sash.aggregation.monoid import Monoid
from sash.wrong_calls import called_as

Arguments = ParamSpec("Arguments")


def recorded(name: str, make: Callable[Arguments, Monoid]) -> Callable[Arguments, Monoid]:
    """The same function; what it returns has the name and the arguments of the call. A condition is not
    among them: it is in the aggregate."""

    checked = called_as(_usage(name, make))(make)

    @wraps(make)
    def made(*arguments: Arguments.args, **options: Arguments.kwargs) -> Monoid:
        given: dict[str, Any] = {key: value for key, value in options.items() if key != "where"}
        return replace(checked(*arguments, **options), made_by=(name, tuple(arguments), given))

    return made


def _usage(name: str, make: Callable[..., Monoid]) -> str:
    """
    >>> _usage("sum", lambda column, *, where=None: column)
    'sash.sum(column, where=…)'
    """
    shown = []
    for one in signature(make).parameters.values():
        by_name = "=…" if one.kind is one.KEYWORD_ONLY else ""
        shown.append(f"{'*' if one.kind is one.VAR_POSITIONAL else ''}{one.name}{by_name}")
    return f"sash.{name}({', '.join(shown)})"
