"""What a query is, in words that can be compared: a checkpoint belongs to the query that made it.

    description  =  windows, aggregates, columns and rules as plain JSON
    fingerprint  =  SHA-256 of the description, written canonically

Every bucket keeps both. The fingerprint is compared whenever a bucket is loaded, and where it differs the
descriptions say in what. Functions are compared by name, by what they close over, and by their byte code as
long as both come from the same version of Python; what they read from their module is not seen.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import CodeType, FunctionType
from typing import Any

import pyarrow as pa

from sash.aggregation.monoid import Monoid
from sash.errors import DifferentQuery
from sash.operators.bound import BoundQuery, BoundWhole
from sash.operators.joins.bound import BoundJoin
from sash.operators.stateful.streaming import BoundOperator
from sash.semantics.expression import Side

FORMAT = 1
"""Of what Sash keeps in a state store; a checkpoint of another format cannot be resumed."""

_CODE = f"code of Python {sys.version_info.major}.{sys.version_info.minor}"


def describe(bound: BoundQuery, *, output: str, buckets: int) -> dict[str, Any]:
    """The query as JSON. `output` says whether it emits reports or late events."""
    query = bound.query
    return {
        "format": FORMAT,
        "kind": type(bound).__name__,
        "output": output,
        "buckets (4 for each of spark.sql.shuffle.partitions)": buckets,
        "time": bound.time,
        "key": list(bound.keys),
        "columns": {name: str(bound.schema.field(name).type) for name in bound.columns},
        "windows": {window.label: _plain(window) for window in query.windows},
        "aggregates": {name: _plain(monoid) for name, monoid in query.aggregates.items()},
        "computation": _plain(bound.computation) if isinstance(bound, BoundWhole) else None,
        "order": query.order.value,
        "delay": str(query.delay),
        "allowed_lateness": str(query.allowed_lateness),
        "emit": str(query.emit),
        "empty": query.empty,
    }


def describe_join(bound: BoundJoin, *, output: str, buckets: int) -> dict[str, Any]:
    """A join as JSON."""
    join = bound.join
    return {
        "format": FORMAT,
        "kind": "join",
        "output": output,
        "buckets (by spark.sql.shuffle.partitions)": buckets,
        "within": str(join.within),
        "where": str(bound.tree) if bound.tree is not None else _plain(join.where),
        "candidates": bound.strategy.how,
        "delay": {side.value: str(join.delay(side)) for side in Side},
        "time": {side.value: bound.of(side).time for side in Side},
        "key": {side.value: list(bound.of(side).keys) for side in Side},
        "columns": {
            side.value: {field.name: str(field.type) for field in bound.of(side).schema} for side in Side
        },
        "suffixes": list(bound.suffixes),
    }


def describe_operator(bound: BoundOperator, *, output: str) -> dict[str, Any]:
    """An O+ as JSON."""
    operator = bound.operator
    functions = ("update", "output", "slide", "state")
    several = len(operator.inputs) > 1
    return {
        "format": FORMAT,
        "kind": type(operator).__name__,
        "output": output,
        "advance": operator.clock.slide,
        "size": operator.clock.size,
        "delay": str(bound.delay),
        "columns": {field.name: str(field.type) for field in bound.schema},
        "answer": {field.name: str(field.type) for field in operator.schema},
        "keys": _plain(operator.keys),
        "functions": {
            name: [_plain(getattr(operator, f"_{name}")), _plain(getattr(type(operator), name))]
            for name in functions
        },
        "aggregates": _plain(getattr(operator, "aggregates", None)),
        # Checkpoints of a single input are there already, and do not tell it.
        **({"time": [own.time for own in operator.inputs]} if several else {}),
    }


def canonical(description: Mapping[str, Any]) -> bytes:
    """The one way to write a description.

    >>> canonical({"b": 1, "a": [None, True]})
    b'{"a":[null,true],"b":1}'
    """
    return json.dumps(description, sort_keys=True, separators=(",", ":")).encode()


def fingerprint(description: Mapping[str, Any]) -> bytes:
    return hashlib.sha256(canonical(description)).digest()


def require_same(kept: bytes, description: Mapping[str, Any]) -> None:
    """DifferentQuery, with every difference, unless the kept description is this one."""
    found = list(differences(json.loads(kept), dict(description)))
    if found:
        raise DifferentQuery(
            "this checkpoint was made by a different query: " + "; ".join(found) + ". "
            "Go on with the query that made it, or give the new one a checkpoint location of its own"
        )


def differences(kept: Any, now: Any, *, at: str = "") -> Iterator[str]:
    """Where two descriptions differ, one sentence each.

    >>> list(differences({"emit": "close", "key": ["a"]}, {"emit": "change", "key": ["a"]}))
    ["emit was 'close' and is 'change'"]
    """
    if isinstance(kept, dict) and isinstance(now, dict):
        for name in sorted(kept.keys() | now.keys()):
            if name.startswith("code of Python") and not (name in kept and name in now):
                continue
            yield from differences(kept.get(name), now.get(name), at=f"{at}.{name}" if at else name)
    elif isinstance(kept, list) and isinstance(now, list) and len(kept) == len(now):
        for number, (old, new) in enumerate(zip(kept, now, strict=True)):
            yield from differences(old, new, at=f"{at}[{number}]")
    elif kept != now:
        yield f"{at} was {_short(kept)} and is {_short(now)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _plain(value: Any, *, within: tuple[int, ...] = ()) -> Any:
    """A value as JSON. What has no words of its own is told by its type."""
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
            return {str(name): _plain(part, within=within) for name, part in value.items()}
        case list() | tuple():
            return [_plain(part, within=within) for part in value]
        case frozenset():
            return sorted((_plain(part, within=within) for part in value), key=repr)
        case Monoid():
            return _monoid(value, within)
        case FunctionType():
            return _function(value, within)
        case functools.partial():
            return _plain([value.func, value.args, value.keywords], within=within)
        case pa.Schema() | pa.DataType():
            return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: _plain(getattr(value, field.name), within=within) for field in fields(value)}
        return {"is": type(value).__name__, **parts}
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _monoid(monoid: Monoid, within: tuple[int, ...]) -> dict[str, Any]:
    functions = {name: getattr(monoid, name) for name in ("identity", "lift", "combine", "lower")}
    return {
        "is": monoid.name,
        "columns": list(monoid.columns),
        **({} if monoid.where is None else {"where": str(monoid.where)}),
        **{name: _plain(function, within=within) for name, function in functions.items()},
    }


def _function(function: FunctionType, within: tuple[int, ...]) -> dict[str, Any]:
    described: dict[str, Any] = {"function": function.__qualname__}
    closed = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells = {name: _plain(_content(cell), within=within) for name, cell in closed.items()}
    if cells:
        described["closes over"] = cells
    if function.__defaults__:
        described["defaults"] = _plain(list(function.__defaults__), within=within)
    if not (function.__module__ or "").startswith("sash."):
        # Our own functions may be rewritten from one version to the next and still mean the same.
        described[_CODE] = _code(function.__code__)
    return described


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet filled: a function that refers to itself
        return "itself"


def _code(code: CodeType) -> str:
    constants = [
        _code(constant) if isinstance(constant, CodeType) else repr(constant) for constant in code.co_consts
    ]
    text = "\n".join([code.co_code.hex(), *code.co_names, *code.co_varnames, *constants])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
