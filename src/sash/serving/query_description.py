"""A query as data in its store, so that a reader needs nothing but the store.

    format · time · keys · schema (Arrow) · look-backs · aggregates: name, function, arguments, condition

Built-in aggregates are made again by calling the function of that name, from a fixed list, with plain
values. Aggregates of a user's own are code, which does not travel: the reader is given the query itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from sash.aggregation import built_in
from sash.aggregation.encoding import decode, encode
from sash.aggregation.monoid import Monoid
from sash.aggregation.stores.values import reading
from sash.errors import DifferentQuery, StoreError, Unsupported
from sash.operators.bound_query import BoundRolling
from sash.semantics.condition import Condition
from sash.semantics.durations import Duration, Unit
from sash.semantics.expression import Column, Constant, ExpressionNode, Operation, Side
from sash.semantics.query import Query
from sash.semantics.windows import SlideByTupleWindow

FORMAT = 2

_MAKERS: Mapping[str, Callable[..., Monoid]] = {name: getattr(built_in, name) for name in built_in.__all__}


def narrowed(bound: BoundRolling) -> BoundRolling:
    """The query over the columns that it computes with: keys, time, inputs."""
    wanted = {bound.time, *bound.keys}
    wanted.update(*(monoid.reads for monoid in bound.aggregates.values()))
    fields = [field.remove_metadata() for field in bound.schema if field.name in wanted]
    return BoundRolling(bound.query, pa.schema(fields), bound.time, bound.keys)


def described(bound: BoundRolling) -> bytes:
    """The query as bytes."""
    return encode(
        {
            "format": FORMAT,
            "time": bound.time,
            "keys": list(bound.keys),
            "schema": bound.schema.serialize().to_pybytes(),
            "delay": (bound.query.delay.length, bound.query.delay.unit.value),
            "look-backs": [
                (window.name, window.size, window.unit.value)
                for window in bound.query.windows
                if isinstance(window, SlideByTupleWindow)
            ],
            "aggregates": {name: _call(monoid) for name, monoid in bound.aggregates.items()},
        }
    )


def restored(data: bytes, *, query: BoundRolling | None) -> BoundRolling:
    """The query of a description; `query` where it has aggregates that are code."""
    with reading("the query of the published features"):
        return _restored(data, query)


def _restored(data: bytes, query: BoundRolling | None) -> BoundRolling:
    kept = _kept(data)
    if query is not None:
        require_same(data, query)
        return query
    unknown = [name for name, call in kept["aggregates"].items() if call["arguments"] is None]
    if unknown:
        raise Unsupported(
            "store", ", ".join(unknown), "of built-in aggregates",
            message=f"the store does not hold the code of {', '.join(unknown)}: give the query, "
            "sash.online(store, query=q) or sash serve --query module:name",
        )  # fmt: skip
    look_backs = tuple(
        SlideByTupleWindow(size, 1, Unit(unit), name=name) for name, size, unit in kept["look-backs"]
    )
    aggregates = {name: _made(call) for name, call in kept["aggregates"].items()}
    length, unit = kept["delay"]
    described = Query(look_backs, aggregates, delay=Duration(length, Unit(unit)))
    schema = pa.ipc.read_schema(pa.py_buffer(kept["schema"]))
    return BoundRolling(described, schema, kept["time"], tuple(kept["keys"]))


def names_in(data: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Aggregates and look-backs of a description, also where aggregates are code."""
    kept = _kept(data)
    look_backs = (name or str(Duration(size, Unit(unit))) for name, size, unit in kept["look-backs"])
    return tuple(kept["aggregates"]), tuple(look_backs)


def require_same(data: bytes, query: BoundRolling) -> None:
    """DifferentQuery unless the store was published by this query."""
    kept, given = _kept(data), _kept(described(query))
    # Its columns may be named in another zone or come in another order; its delay is the stream's.
    differ = [part for part in ("time", "keys", "look-backs", "aggregates") if kept[part] != given[part]]
    # What is kept of events are the bits of their columns.
    before, now = (_types(part["schema"]) for part in (kept, given))
    differ += [f"types of {name}" for name in before if name in now and before[name] != now[name]]
    if differ:
        raise DifferentQuery(
            f"this store was published by a query with other {' and '.join(differ)}; "
            "give each query a store of its own (another folder, or redis://…#name)"
        )


def _kept(data: bytes) -> dict[str, Any]:
    kept = decode(data)
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise StoreError("this store was published by another version of Sash: publish it again")
    return kept


def _types(schema: bytes) -> dict[str, str]:
    """Of the columns; a zone or the width of offsets makes no other type."""
    fields = pa.ipc.read_schema(pa.py_buffer(schema))
    return {
        field.name: f"timestamp {field.type.unit}"
        if pa.types.is_timestamp(field.type)
        else str(field.type).removeprefix("large_")
        for field in fields
    }


def _call(monoid: Monoid) -> dict[str, Any]:
    """How an aggregate is made again; its arguments are None where they are no plain values."""
    name, arguments, options = monoid.made_by or (monoid.name, None, None)
    try:
        encode((arguments, options))
    except Unsupported:
        arguments, options = None, None
    return {
        "function": name,
        "arguments": None if arguments is None else list(arguments),
        "options": options,
        "columns": list(monoid.columns),
        "where": None if monoid.where is None else _plain(monoid.where.tree),
    }


def _made(call: Mapping[str, Any]) -> Monoid:
    if call["function"] not in _MAKERS:
        raise StoreError(f"this store was published with an aggregate {call['function']}, unknown here")
    where = None if call["where"] is None else Condition(_tree(call["where"]))
    return _MAKERS[call["function"]](*call["arguments"], **call["options"]).conditional(where)


def _plain(tree: ExpressionNode) -> tuple[Any, ...]:
    match tree:
        case Column(_, name):
            return ("column", name)
        case Constant(value):
            return ("constant", value)
        case Operation(operator, operands):
            return (operator, *map(_plain, operands))
    raise AssertionError(tree)


def _tree(plain: tuple[Any, ...]) -> ExpressionNode:
    match plain:
        case ("column", name):
            return Column(Side.LEFT, name)
        case ("constant", value):
            return Constant(value)
        case (operator, *operands):
            return Operation(operator, tuple(map(_tree, operands)))
    raise StoreError("a condition in this store cannot be read")
