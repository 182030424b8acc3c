"""How a built-in aggregate was made, so that it can be made again elsewhere from plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec

from sash.aggregation.monoid import Monoid

Arguments = ParamSpec("Arguments")


def recorded(name: str, make: Callable[Arguments, Monoid]) -> Callable[Arguments, Monoid]:
    """The same function; what it returns has the name and the arguments of the call. A condition is not
    among them: it is in the aggregate."""

    @wraps(make)
    def made(*arguments: Arguments.args, **options: Arguments.kwargs) -> Monoid:
        given: dict[str, Any] = {key: value for key, value in options.items() if key != "where"}
        return replace(make(*arguments, **options), made_by=(name, tuple(arguments), given))

    return made
