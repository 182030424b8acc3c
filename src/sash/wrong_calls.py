"""Calls that do not fit the signature of a public function: `WrongCall`, which shows how it is called.

Python's own TypeError has the name by which a function is defined, and no hint. Nothing is checked before a
call: only one that failed before its first line is looked at.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sash.errors import WrongCall, did_you_mean

CallArguments = ParamSpec("CallArguments")
Returned = TypeVar("Returned")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def called_as(
    usage: str, /, hints: Mapping[str, str] | None = None, *, first: Callable[[Any], Any] | None = None
) -> Callable[[Callable[CallArguments, Returned]], Callable[CallArguments, Returned]]:
    """Decorator: a call that does not fit shows `usage`. `hints`: what to do instead of an argument that
    others have. `first`: what is refused whatever is given, from the first argument (self).

    >>> @called_as("greet('Ada', loud=True)", {"volume": "Write loud=True."})
    ... def greet_(name, *, loud=False): ...
    >>> greet_("Ada", volume=11)
    Traceback (most recent call last):
        ...
    sash.errors.WrongCall: greet() has no argument 'volume'. Write loud=True.
    >>> greet_("Ada", True)
    Traceback (most recent call last):
        ...
    sash.errors.WrongCall: greet() takes 1 argument by position, others by name. Write \
greet('Ada', loud=True).
    """

    def decorate(function: Callable[CallArguments, Returned]) -> Callable[CallArguments, Returned]:
        @wraps(function)
        def call(*arguments: CallArguments.args, **options: CallArguments.kwargs) -> Returned:
            try:
                return function(*arguments, **options)
            except TypeError as error:
                inside = error.__traceback__ is None or error.__traceback__.tb_next is not None
                wrong = None if inside else _wrong(function, arguments, options, usage, hints or {})
                if wrong is None:
                    raise
            if first is not None and arguments:
                first(arguments[0])
            raise wrong

        return call

    return decorate


def _wrong(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: Mapping[str, Any],
    usage: str,
    hints: Mapping[str, str],
) -> WrongCall | None:
    """What does not fit; None where it does, so that the error is of another kind."""
    known = inspect.signature(function).parameters
    method = next(iter(known), "") == "self"
    name = usage.partition("(")[0]
    write = f"Write {usage}."
    by_position = [one for one in known if known[one].kind in _POSITIONAL]
    any_number = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in known.values())
    for option in options:
        if option not in known:
            names = [one for one in known if one != "self"]
            hint = hints.get(option) or did_you_mean(option, names) or write
            return WrongCall(
                option,
                options[option],
                "left out",
                message=f"{name}() has no argument {option!r}",
                hint=hint,
            )
    if len(arguments) > len(by_position) and not any_number:
        count = len(by_position) - method
        words = f"{count or 'no'} argument{'s' * (count != 1)} by position"
        others = ", others by name" if len(known) > len(by_position) else ""
        return WrongCall(
            "arguments", arguments[method:], words, message=f"{name}() takes {words}{others}", hint=write
        )
    given = {*by_position[: len(arguments)], *options}
    for one, parameter in known.items():
        required = parameter.default is parameter.empty and parameter.kind not in (
            inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD,
        )  # fmt: skip
        if required and one not in given:
            return WrongCall(
                one, None, "given", message=f"{name}() needs {one}", hint=hints.get(one) or write
            )
    return None
