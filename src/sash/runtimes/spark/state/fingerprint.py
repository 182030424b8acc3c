"""What a query is, in words that can be compared: a checkpoint belongs to the query that made it.

    description  =  windows, aggregates, columns and rules as plain JSON
    fingerprint  =  SHA-256 of what is compared of it, written canonically

Every bucket keeps both. The fingerprint is compared whenever a bucket is loaded, and where it differs
`checkpoint_compatibility` compares the descriptions. Functions and users' classes are compared by what they
close over and hold, and by their byte code as long as both come from the same version of Python, otherwise
by name (see `stable_json`); what they read from their module is not seen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from sash.operators.bound_query import BoundQuery, BoundWhole
from sash.operators.engine import keeps_panes
from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.bound_join import BoundJoin
from sash.operators.stateful.streaming import BoundOperator
from sash.runtimes.spark.state.stable_json import CODE, is_older_form, kind_of, own_name, plain, skipped
from sash.semantics.expression import Side
from sash.semantics.watermark import LateBy

ORDER, ELEMENTS = "aggregates in order", "elements"
BUCKETS, BUCKET_NUMBERS = "buckets", "bucket numbers"
WINDOWS_IN_ORDER = "windows in order"
PATTERN = "pattern"
BUCKET_COUNT = "elastic buckets"
"""Of a query in epochs, whether it is elastic or not."""
CALLS = "calls"
"""Entries of a description. Calls are the aggregates as they were written, for people: what they do is
under `aggregates`, and only that is compared."""
FORMAT = 1
"""Of what Sash keeps in a state store; a checkpoint of another format cannot be resumed."""


def describe(bound: BoundQuery, *, buckets: int) -> dict[str, Any]:
    """The query as JSON. Where its outputs go is no part of it."""
    query = bound.query
    return {
        "format": FORMAT,
        "kind": own_name(type(bound)),
        BUCKETS: buckets,
        "time": bound.time,
        "key": list(bound.keys),
        "columns": {name: _type(bound.schema.field(name).type) for name in bound.columns},
        "windows": {window.label: plain(window) for window in query.windows},
        "aggregates": {name: plain(monoid) for name, monoid in query.aggregates.items()},
        CALLS: {name: str(monoid) for name, monoid in query.aggregates.items()},
        ORDER: list(query.aggregates),
        WINDOWS_IN_ORDER: [window.label for window in query.windows],
        ELEMENTS: "panes" if keeps_panes(bound) else "events",
        "computation": plain(bound.computation) if isinstance(bound, BoundWhole) else None,
        "order": query.order.value,
        "delay": str(query.delay),
        "allowed_lateness": str(query.allowed_lateness),
        **({"late_by": query.late_by.value} if query.late_by is not LateBy.TIME else {}),
        "emit": str(query.emit),
        "empty": query.empty,
        **({"forget_after": str(query.forget_after)} if query.forget_after.length else {}),
    }


def window_labels(description: Mapping[str, Any]) -> list[str]:
    """In the order that they were given, which JSON does not keep; as they stand in older descriptions.

    >>> window_labels({"windows": {"10": {}, "5": {}}, WINDOWS_IN_ORDER: ["5", "10"]})
    ['5', '10']
    """
    return list(description.get(WINDOWS_IN_ORDER) or description.get("windows", ()))


def without_buckets(description: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a query in epochs, which may have its buckets elsewhere."""
    return {name: part for name, part in description.items() if name not in (BUCKETS, BUCKET_NUMBERS)}


def compared(description: Mapping[str, Any]) -> dict[str, Any]:
    """What decides whether two queries are the same."""
    return {name: part for name, part in description.items() if name != CALLS}


def _type(type_: pa.DataType) -> str:
    """Times are instants, whatever the zone in which a session shows them."""
    zoned = pa.types.is_timestamp(type_) and type_.tz is not None
    return str(pa.timestamp(type_.unit, "UTC") if zoned else type_)


def describe_join(bound: BoundJoin | BoundAsof, *, buckets: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "kind": "join",
        BUCKETS: buckets,
        **(_asof(bound) if isinstance(bound, BoundAsof) else _window_join(bound)),
        "candidates": bound.strategy.how,
        "delay": {side.value: str(bound.join.delay(side)) for side in Side},
        "time": {side.value: bound.of(side).time for side in Side},
        "key": {side.value: list(bound.of(side).keys) for side in Side},
        "columns": {
            side.value: {field.name: _type(field.type) for field in bound.of(side).schema} for side in Side
        },
    }


def _window_join(bound: BoundJoin) -> dict[str, Any]:
    join = bound.join
    return {
        "within": str(join.within),
        "where": str(bound.tree) if bound.tree is not None else plain(join.where),
        "suffixes": list(bound.suffixes),
        **({"prefixes": list(bound.prefixes)} if bound.prefixes is not None else {}),
        # Checkpoints of inner joins are there already, and do not have it.
        **({"how": join.how} if join.how != "inner" else {}),
    }


def _asof(bound: BoundAsof) -> dict[str, Any]:
    tolerance = bound.join.tolerance
    return {
        "direction": bound.join.direction,
        "tolerance": None if tolerance is None else str(tolerance),
        "suffix": bound.suffix,
    }


def describe_operator(bound: BoundOperator) -> dict[str, Any]:
    operator = bound.operator
    functions = ("update", "output", "slide", "state")
    several = len(operator.inputs) > 1
    delays = list(dict.fromkeys(map(str, bound.delays)))
    return {
        "format": FORMAT,
        "kind": kind_of(operator),
        "advance": operator.clock.slide,
        "size": operator.clock.size,
        "delay": delays[0] if len(delays) == 1 else list(map(str, bound.delays)),
        "columns": {field.name: _type(field.type) for field in bound.schema},
        "answer": {field.name: _type(field.type) for field in operator.schema},
        "keys": plain(operator.keys),
        "functions": {
            name: [plain(getattr(operator, f"_{name}")), plain(getattr(type(operator), name))]
            for name in functions
        },
        "aggregates": plain(getattr(operator, "aggregates", None)),
        # Checkpoints of a single input are there already, and do not have it.
        **({"time": [own.time for own in operator.inputs]} if several else {}),
        **({"window": operator.window_type} if operator.window_type != "multi" else {}),
    }


def canonical(description: Mapping[str, Any]) -> bytes:
    """The one way to write a description.

    >>> canonical({"b": 1, "a": [None, True]})
    b'{"a":[null,true],"b":1}'
    """
    return json.dumps(description, sort_keys=True, separators=(",", ":")).encode()


def fingerprint(description: Mapping[str, Any]) -> bytes:
    return hashlib.sha256(canonical(compared(description))).digest()


def differences(kept: Any, now: Any, *, at: str = "") -> Iterator[str]:
    """Where two descriptions differ, one sentence each.

    >>> list(differences({"emit": "close", "key": ["a"]}, {"emit": "change", "key": ["a"]}))
    ["emit was 'close' and is 'change'"]
    """
    if isinstance(kept, dict) and isinstance(now, dict):
        names = skipped(kept, now)
        for name in sorted(kept.keys() | now.keys()):
            if name not in names:
                yield from differences(kept.get(name), now.get(name), at=f"{at}.{name}" if at else name)
    elif isinstance(kept, list) and isinstance(now, list) and len(kept) == len(now):
        for number, (old, new) in enumerate(zip(kept, now, strict=True)):
            yield from differences(old, new, at=f"{at}[{number}]")
    elif kept != now and CODE in at:
        yield f"the code of {at.partition(f'.{CODE}')[0]} is another"
    elif kept != now and not is_older_form(kept, now):
        yield f"{at} was {_short(kept)} and is {_short(now)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"
