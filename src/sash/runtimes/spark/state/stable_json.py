"""Values as plain JSON that means the same on another day: whatever the hash seed, the docstrings and where
the code is written.

    a function   its instructions, its defaults and what it closes over
    a class      its attributes, and the instructions of its methods and bases
    an object    its fields or its text, and the function that it is called as, or its class
    a set        its elements in order

A name alone decides nothing, as long as there are instructions of one version of Python to compare: a user
may rename a class, and move it to another module. Classes and functions without instructions, those of the
standard library and of extensions, have only their names. Sash's own functions and classes are known by
their names without their modules, because they may be rewritten from one version to the next and still mean
the same. One that gets another name keeps the one that is in checkpoints (`RENAMED`);
tests/state/descriptions.json has them all.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import CodeType, FunctionType, MethodType
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from sash.aggregation.monoid import Monoid

CODE = "code of Python"
_CODE_HERE = f"{CODE} {sys.version_info.major}.{sys.version_info.minor}, by instruction"
_CLASS = "class"
_HEAP_TYPE = 1 << 9
"""Python's flag of a class that is not written in C."""
_NAMES = ("function", "is", _CLASS)
_VALUE = "value"
_VALUES = (date, time, timedelta, Decimal, Fraction, UUID, re.Pattern, range, np.generic)
"""Whose text is all there is of them. 0.1.0 had only the names of their types."""
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
            known = isinstance(of, dict) and of.keys() - {_CODE_HERE} > {"is"}
            return _function(function, within) | ({"of": of} if known else {})
        case functools.partial():
            return plain([value.func, value.args, value.keywords], within=within)
        case pa.Schema() | pa.DataType():
            return str(value)
        case type() if _is_users(value):
            return _class(value, within)
        case object(__wrapped__=FunctionType() as function) if not _is_ours(function):  # functools.cache
            return _function(function, within)
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
        module = getattr(value, "__module__", None)
        return own_name(value) if _is_ours(value) else f"{module}.{value.__qualname__}"
    kind = type(value)
    if _is_ours(kind) and not is_dataclass(value):
        return own_name(kind)
    described: dict[str, Any] = {"is": own_name(kind) if _is_ours(kind) else kind.__name__}
    if is_dataclass(value):
        described |= {
            field.name: plain(getattr(value, field.name), within=within) for field in fields(value)
        }
    if isinstance(value, _VALUES):
        described[_VALUE] = repr(value)
    called = getattr(kind, "__call__", None)  # noqa: B004
    if isinstance(called, FunctionType) and not _is_ours(kind):
        described["does"] = _function(called, within)
    elif _is_users(kind):
        described |= {name: part for name, part in _class(kind, within).items() if name == _CODE_HERE}
    return described


def _class(kind: type, within: tuple[int, ...]) -> dict[str, Any]:
    """A class of a user's. One that has nothing is known by its name."""
    if issubclass(kind, Enum):
        members = {name: plain(member.value, within=within) for name, member in kind.__members__.items()}
    else:
        members = dict(_data(kind, within))
    bases = [plain(base, within=within) for base in kind.__bases__ if base is not object]
    content = [_without_names(part) for part in (*bases, dict(_methods(kind, within)))]
    described: dict[str, Any] = {_CLASS: kind.__name__}
    if members:
        described["attributes"] = members
    if bases or members or any(content):
        text = json.dumps([content, _without_names(members)], sort_keys=True)
        described[_CODE_HERE] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return described


def _data(kind: type, within: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """The attributes of a class that are neither methods nor written by Python itself."""
    for name, value in sorted(vars(kind).items()):
        written_by_python = name.startswith(("__", "_abc_")) or hasattr(value, "__objclass__")
        if not written_by_python and _method(value) is None:
            yield name, plain(value, within=within)


def _methods(kind: type, within: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    """Those of `Enum` and of others in the standard library are not part of a class that has them."""
    for name, value in sorted(vars(kind).items()):
        functions = [each for each in _method(value) or () if not _is_standard(each)]
        if functions:
            yield name, [type(value).__name__, *(_function(each, within) for each in functions)]


def _method(value: Any) -> list[FunctionType] | None:
    """The functions behind an attribute; None for data."""
    match value:
        case property():
            parts: tuple[Any, ...] = (value.fget, value.fset, value.fdel)
        case functools.cached_property():
            parts = (value.func,)
        case _:
            parts = (getattr(value, "__wrapped__", value),)
    found = [part for part in parts if isinstance(part, FunctionType)]
    return found or None


def _without_names(part: Any) -> Any:
    """A description that has its instructions, without what its functions and classes are called."""
    if isinstance(part, list):
        return [_without_names(each) for each in part]
    if not isinstance(part, dict):
        return part
    names = _NAMES if _codes(part) else ()
    return {name: _without_names(each) for name, each in part.items() if name not in names}


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
    return (getattr(named, "__module__", None) or "").startswith("sash.")


def _is_standard(named: Any) -> bool:
    return (named.__module__ or "").partition(".")[0] in sys.stdlib_module_names


def _is_users(kind: type) -> bool:
    """Whether a class was written in Python, and neither by us nor for the standard library."""
    return bool(kind.__flags__ & _HEAP_TYPE) and not _is_ours(kind) and not _is_standard(kind)


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
    names = {name for name in kept.keys() ^ now.keys() if name.startswith((CODE, _VALUE))}
    return names | set(_NAMES) if _codes(kept) & _codes(now) else names


def _codes(part: Any) -> set[str]:
    if not isinstance(part, dict):
        return set()
    own = {name for name in part if name.startswith(CODE)}
    return own.union(*(_codes(part.get(name)) for name in _CALLED))


def is_older_form(kept: Any, now: Any) -> bool:
    """Whether a class or function that 0.1.0 has written as `module.name` is the one of this name."""
    if not isinstance(kept, str) or not isinstance(now, dict):
        return False
    return kept.rpartition(".")[2] in (now.get(name) for name in (_CLASS, "function"))
