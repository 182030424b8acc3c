"""Values as plain JSON that means the same on another day: whatever the hash seed, the docstrings and where
the code is written.

    a function   its instructions, its defaults and what it closes over
    an object    its fields, and the function that it is called as
    a set        its elements in order

A name alone decides nothing, as long as there are instructions of one version of Python to compare: a user
may rename a class, and move it to another module. Sash's own functions and classes are known by their names
without their modules, because they may be rewritten from one version to the next and still mean the same.
One that gets another name keeps the one that is in checkpoints (`RENAMED`);
tests/state/descriptions.json has them all.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import CodeType, FunctionType, MethodType
from typing import Any

import pyarrow as pa

from sash.aggregation.monoid import Monoid

_CODE = "code of Python"
_CODE_HERE = f"{_CODE} {sys.version_info.major}.{sys.version_info.minor}, by instruction"
_NAMES = ("function", "is")
RENAMED: dict[str, str] = {}
"""Of what Sash has renamed since 0.1.0: the name of today → the name in checkpoints."""
_CALLED = ("combine", "does")
"""What a description with a name has its instructions in, when not in itself."""


def plain(value: Any, *, within: tuple[int, ...] = ()) -> Any:
    """A value as JSON.

    >>> plain({"b", "a"}), plain((1, None)), plain(1.5)
    (['a', 'b'], [1, None], '1.5')
    """
    if id(value) in within:
        return "itself"
    within = (*within, id(value))
    match value:
        case Enum():
            return value.value
        case None | bool() | int() | str():
            return value
        case float() | complex() | bytes():
            return repr(value)
        case Mapping():
            return {str(name): plain(part, within=within) for name, part in value.items()}
        case list() | tuple():
            return [plain(part, within=within) for part in value]
        case set() | frozenset():
            return sorted((plain(part, within=within) for part in value), key=repr)
        case Monoid():
            return _monoid(value, within)
        case FunctionType():
            return _function(value, within)
        case MethodType(__func__=FunctionType() as function, __self__=owner):
            of = plain(owner, within=within)
            known = isinstance(of, dict) and of.keys() > {"is"}
            return _function(function, within) | ({"of": of} if known else {})
        case functools.partial():
            return plain([value.func, value.args, value.keywords], within=within)
        case pa.Schema() | pa.DataType():
            return str(value)
    return _object(value, within)


def kind_of(operator: object) -> str:
    """The class of ours that an operator is of, also when a user's class is derived from it."""
    return next(own_name(each) for each in type(operator).__mro__ if _is_ours(each))


def own_name(named: Any) -> str:
    """The name of a class or function of Sash's, as it is written in checkpoints."""
    name: str = named.__qualname__
    return RENAMED.get(name, name)


def _object(value: Any, within: tuple[int, ...]) -> Any:
    if hasattr(value, "__qualname__"):
        return own_name(value) if _is_ours(value) else f"{value.__module__}.{value.__qualname__}"
    kind = type(value)
    if _is_ours(kind) and not is_dataclass(value):
        return own_name(kind)
    described: dict[str, Any] = {"is": own_name(kind) if _is_ours(kind) else kind.__name__}
    if is_dataclass(value):
        described |= {
            field.name: plain(getattr(value, field.name), within=within) for field in fields(value)
        }
    called = getattr(kind, "__call__", None)  # noqa: B004
    if isinstance(called, FunctionType) and not _is_ours(kind):
        described["does"] = _function(called, within)
    return described


def _monoid(monoid: Monoid, within: tuple[int, ...]) -> dict[str, Any]:
    functions = {name: getattr(monoid, name) for name in ("identity", "lift", "combine", "lower")}
    return {
        "is": monoid.name,
        "columns": list(monoid.columns),
        **({} if monoid.where is None else {"where": str(monoid.where)}),
        **{name: plain(function, within=within) for name, function in functions.items()},
    }


def _function(function: FunctionType, within: tuple[int, ...]) -> dict[str, Any]:
    ours = _is_ours(function)
    described: dict[str, Any] = {"function": own_name(function) if ours else function.__name__}
    closed = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells = {name: plain(_content(cell), within=within) for name, cell in closed.items()}
    if cells:
        described["closes over"] = cells
    if function.__defaults__:
        described["defaults"] = plain(list(function.__defaults__), within=within)
    if not ours:
        described[_CODE_HERE] = _hashed(function.__code__)
    return described


def _is_ours(named: Any) -> bool:
    return bool((named.__module__ or "").startswith("sash."))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet filled: a function that refers to itself
        return "itself"


def _hashed(code: CodeType) -> str:
    """Instructions with what they load instead of where that lies: a docstring, which none of them loads,
    would move it."""
    lines = [f"{each.opname} {_loaded(each.argval)}" for each in dis.get_instructions(code)]
    return hashlib.sha256("\n".join([*code.co_varnames, *lines]).encode()).hexdigest()[:16]


def _loaded(value: Any) -> str:
    match value:
        case CodeType():
            return _hashed(value)
        case frozenset():
            return f"{{{', '.join(sorted(map(_loaded, value)))}}}"
        case tuple():
            return f"({', '.join(map(_loaded, value))})"
    return repr(value)


# What is compared of two descriptions


def skipped(kept: dict[str, Any], now: dict[str, Any]) -> set[str]:
    """The entries that make no difference between these two: instructions that only one of them has, and
    names where both have the same kind of them."""
    names = {name for name in kept.keys() ^ now.keys() if name.startswith(_CODE)}
    return names | set(_NAMES) if _codes(kept) & _codes(now) else names


def _codes(part: Any) -> set[str]:
    if not isinstance(part, dict):
        return set()
    own = {name for name in part if name.startswith(_CODE)}
    return own.union(*(_codes(part.get(name)) for name in _CALLED))
