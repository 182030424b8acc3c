"""Whether a query can go on from a checkpoint that was made by another one, and what differs if it cannot.

the same           whatever the names of functions and the order in which things were written down
other aggregates   those that are new begin now, those that are gone are dropped
anything else      DifferentQuery: what is held was made for other windows, keys or rules
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sash.aggregation.stores.values import reading
from sash.errors import DifferentQuery
from sash.operators.engine import Change
from sash.runtimes.spark.session_requirements import PARTITIONS
from sash.runtimes.spark.state.fingerprint import (
    BUCKET_COUNT,
    BUCKET_NUMBERS,
    BUCKETS,
    ELEMENTS,
    ORDER,
    PATTERN,
    WINDOWS_IN_ORDER,
    compared,
    differences,
    window_labels,
)
from sash.semantics.windows.time import label_as_written

_MADE_BY = {
    "BoundQuery": ".window",
    "BoundWhole": ".window, with a computation over whole windows",
    "BoundRolling": ".rolling",
    "BoundLatest": ".latest",
    "join": ".join",
}
"""How a query of a kind is written. Others are operators, known by their class."""
_KINDS = ("BoundQuery", "BoundRolling", "BoundToAllColumns")
_OPERATOR = "WindowOperator"
_LATER = (ORDER, WINDOWS_IN_ORDER, ELEMENTS, BUCKET_NUMBERS)
"""Entries that a description of an older version does not have."""


def change_of(kept: bytes, description: Mapping[str, Any]) -> Change | None:
    """How the aggregates have changed since the kept description, if they have; DifferentQuery where a
    query cannot go on."""
    with reading("the description of the query in the checkpoint"):
        return _change_of(kept, description)


def _change_of(kept: bytes, description: Mapping[str, Any]) -> Change | None:
    then, now = compared(_renamed(json.loads(kept))), compared(description)
    found = list(_found(then, now))
    aggregates = list(_of_aggregates(then, now))
    reordered = then.get(ORDER, now.get(ORDER)) != now.get(ORDER)
    if (aggregates or reordered) and not found:
        found = list(_obstacles(then, now))
        aggregates = aggregates or ["aggregates are in another order"] * bool(found)
    elif then.get(ELEMENTS, now.get(ELEMENTS)) == now.get(ELEMENTS):
        aggregates = []  # they may change, and are not why it is refused
    if found:
        raise refused(f"by a different query: {'; '.join([*aggregates, *found])}")
    return _change(then, now) if aggregates or reordered else None


def refused(made: str) -> DifferentQuery:
    """By whom or how the checkpoint was made, and what can be done."""
    return DifferentQuery(
        f"this checkpoint was made {made}. Resume it with the query that made it, or start the new query "
        "with another checkpoint: it then begins without the windows that are open here, and reads its "
        "source again from the beginning (a Kafka topic from startingOffsets)"
    )


def _found(then: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """What differs besides the aggregates, one sentence each. Of queries of two kinds, only that."""
    kinds = then.get("kind"), now.get("kind")
    if kinds[0] != kinds[1]:
        was, is_ = (_made_by(description) for description in (then, now))
        yield f"it was made by {was}, and this query is by {is_}"
        return
    found = list(_of_one_kind(then, now))
    # A column that only one of the two reads is a consequence of another difference, if there is one.
    yield from [each for each in found if not isinstance(each, _OneReads)] or found


class _OneReads(str):
    """A difference: a column that only one of two queries reads."""


def _made_by(description: dict[str, Any]) -> str:
    """
    >>> _made_by({"kind": "BoundRolling", "windows": {"1 hour": {}, "1 day": {}}})
    '.rolling (1 hour, 1 day)'
    """
    kind = description.get("kind")
    windows = ", ".join(map(label_as_written, window_labels(description)))
    return _MADE_BY.get(str(kind), f"the operator {kind}") + (f" ({windows})" if windows else "")


def _of_one_kind(then: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    for name in sorted(then.keys() | now.keys()):
        old, new = then.get(name), now.get(name)
        if name in (ORDER, "aggregates") or (name in _LATER and name not in then):
            continue
        if name == WINDOWS_IN_ORDER:
            # What is kept of a window stands at its place.
            before, after = old or [], new or []
            if before != after and sorted(before) == sorted(after):
                yield f"windows are in another order: {', '.join(after)}, which were {', '.join(before)}"
        elif name == "columns" and "windows" in now:
            yield from _of_columns(then, now)
        elif name == "key" and isinstance(old, list) and isinstance(new, list):
            if old != new:
                was, is_ = (", ".join(map(repr, keys)) or "none" for keys in (old, new))
                yield f"key was {was} and is {is_}"
        elif (
            name == "windows"
            and isinstance(old, dict)
            and isinstance(new, dict)
            and old.keys() != new.keys()
        ):
            was, is_ = (
                ", ".join(map(label_as_written, window_labels(description))) for description in (then, now)
            )
            yield f"windows were {was} and are {is_}"
        elif name == BUCKET_COUNT:
            # Without a key there is one: then the keys are the difference.
            if old != new and then.get("key") == now.get("key"):
                yield f"the number of buckets, which stays, was {old} and is {new}"
        elif name == BUCKETS and old != new:
            yield (
                f"buckets were {old} and are {new}, by {PARTITIONS}: spark.conf.set({PARTITIONS!r}, …) to "
                "what it was"
            )
        elif name == BUCKET_NUMBERS:
            if old != new and then.get(BUCKETS) == now.get(BUCKETS):
                yield f"buckets have other numbers, by {PARTITIONS}: set it to what it was"
        elif name == ELEMENTS and old != new:
            yield f"it holds {old} of the stream, and these aggregates would need {new}"
        else:
            yield from differences(old, new, at=name)


def _renamed(description: dict[str, Any]) -> dict[str, Any]:
    """As this version has it: older ones wrote a formula after the word."""
    return {BUCKETS if name.startswith("buckets (") else name: part for name, part in description.items()}


def _of_columns(then: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """A column that only one of the two reads is a difference of the aggregates, if they differ."""
    old, new = then.get("columns", {}), now["columns"]
    if list(_of_aggregates(then, now)):
        both = old.keys() & new.keys()
        old, new = ({name: columns[name] for name in both} for columns in (old, new))
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            yield _OneReads(f"the column {name!r} is {'new' if name in new else 'gone'}")
        elif old[name] != new[name]:
            yield f"the column {name!r} was {old[name]} and is {new[name]}"


def _of_aggregates(then: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    old, new = then.get("aggregates"), now.get("aggregates")
    if not isinstance(old, dict) or not isinstance(new, dict) or "windows" not in now:
        yield from differences(old, new, at="aggregates")
        return
    yield from (f"aggregate {name} is gone" for name in old if name not in new)
    yield from (f"aggregate {name} is new" for name in new if name not in old)
    for name in sorted(old.keys() & new.keys()):
        yield from differences(old[name], new[name], at=f"aggregates.{name}")


def _obstacles(then: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Why other aggregates cannot go on with what is held."""
    if now.get("kind") not in _KINDS or now.get("state") != _OPERATOR:
        yield "only windows with aggregates can take others on"
    elif PATTERN in now:
        yield f"aggregates are fixed under {now[PATTERN]}"
    elif ORDER not in then:
        yield "it was made by an older version, which did not record the order of the aggregates"
    elif then["kind"] == "BoundRolling" and "lifetime" in now["windows"] and _added(then, now):
        yield "a look-back without end would never know what it has missed"


def _added(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [name for name in now["aggregates"] if name not in _same(then, now)]


def _same(then: dict[str, Any], now: dict[str, Any]) -> frozenset[str]:
    old, new = then["aggregates"], now["aggregates"]
    return frozenset(n for n in old.keys() & new.keys() if not list(differences(old[n], new[n])))


def _change(then: dict[str, Any], now: dict[str, Any]) -> Change:
    old, new = then["aggregates"], now["aggregates"]
    twins, wider = dict[str, str | None](), dict[str, str]()
    for name in _added(then, now):
        columns, condition = counts = _counts(new[name])
        found = next((one for one in then[ORDER] if _counts(old[one]) == counts), None)
        if found is not None or counts == ([], None):
            twins[name] = found
            continue
        for one in then[ORDER]:
            read, its_condition = _counts(old[one])
            if columns and its_condition == condition and set(columns) <= set(read):
                wider.setdefault(name, one)
    return Change(tuple(then[ORDER]), _same(then, now), twins, wider)


def _counts(aggregate: Mapping[str, Any]) -> tuple[Any, Any]:
    """Which events count for an aggregate: those without a null in its columns, if its condition holds."""
    return aggregate["columns"], aggregate.get("where")
