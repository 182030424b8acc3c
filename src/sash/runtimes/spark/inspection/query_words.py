"""The query that made a checkpoint, in words: what `fingerprint.describe…` wrote there, read by people.

>>> description = {
...     "kind": "BoundQuery", "time": "ts", "key": ["symbol"], "order": "event-time",
...     "windows": {"time(1 hour, 1 second)": {}}, "delay": "10 seconds", "allowed_lateness": "0",
...     "emit": "close", "aggregates": {"hi": {"is": "max", "columns": ["price"]}},
... }
>>> for line in query_lines(description):
...     print(line)
windows    sliding(1 hour, every=1 second)
by key     symbol
over       ts in event-time order, delay 10 seconds
computes   hi = max(price)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from sash.operators.joins.asof.bound_asof import ASOF
from sash.runtimes.spark.state.fingerprint import CALLS, ORDER, window_labels
from sash.semantics.windows.time import label_as_written

Description: TypeAlias = Mapping[str, Any]


def query_lines(description: Description) -> list[str]:
    """One line for each thing that the query is made of."""
    if description.get("kind") == "join":
        lines = _join(description)
    elif "windows" in description:
        lines = _windows(description)
    else:
        lines = _operator(description)
    return [f"{name:<9}  {words}" for name, words in lines]


def _windows(description: Description) -> Iterator[tuple[str, str]]:
    kinds = {"BoundRolling": "rolling", "BoundLatest": "latest"}
    yield (
        kinds.get(description.get("kind", ""), "windows"),
        ", ".join(map(label_as_written, window_labels(description))),
    )
    yield "by key", ", ".join(description["key"]) or "none"
    lateness = description.get("allowed_lateness", "0")
    late = "" if lateness.startswith("0") else f", corrected for {lateness} more"
    early = "" if description.get("emit") == "close" else f", emitted on {description['emit']}"
    order = f"{description['time']} in {description['order']} order"
    yield "over", f"{order}, delay {description['delay']}{late}{early}"
    whole = description.get("computation")
    written, aggregates = description.get(CALLS, {}), description["aggregates"]
    calls = (
        f"{name} = {written.get(name) or _call(aggregate)}"
        for name in description.get(ORDER) or aggregates
        for aggregate in [aggregates[name]]
    )
    yield "computes", f"{whole['is'].lower()} of whole windows" if whole else ", ".join(calls)


def _join(description: Description) -> Iterator[tuple[str, str]]:
    time, key, delay = (description[part] for part in ("time", "key", "delay"))
    keys = zip(key["left"], key["right"], strict=True)
    same = "".join(f", left.{left} = right.{right}" for left, right in keys)
    if "direction" in description:
        limit = f" at most {description['tolerance']} away" if description["tolerance"] else ""
        yield "as of", f"{description['direction']}{limit}{same}"
    else:
        alone = (
            f"; {description['how']} outer join: events without a partner too"
            if "how" in description
            else ""
        )
        yield "pairs", f"at most {description['within']} apart{same}{alone}"
    where = description.get("where")
    if where:
        yield "where", where if isinstance(where, str) else where.get("function", "a function")
    yield "over", f"{time['left']} and {time['right']}, delay {delay['left']} and {delay['right']}"
    # A description of an as-of join has a strategy too, and it has none.
    yield "found", ASOF if "direction" in description else description["candidates"]


def _operator(description: Description) -> Iterator[tuple[str, str]]:
    kind, size, advance = (description.get(part) for part in ("kind", "size", "advance"))
    yield "operator", f"{kind}, size {size}, advance {advance}"
    yield "over", f"{', '.join(description.get('columns', ()))}; delay {description.get('delay')}"
    yield "computes", ", ".join(description.get("answer", ()))


def _call(aggregate: Description) -> str:
    """As much of it as a description without calls has; further arguments are somewhere in its functions.

    >>> _call({"is": "sum", "columns": ["size"], "where": "price > 100"})
    'sum(size, where=price > 100)'
    """
    where = [f"where={aggregate['where']}"] if "where" in aggregate else []
    return f"{aggregate['is']}({', '.join([*aggregate['columns'], *where])})"


def bucket_count(description: Description) -> int | None:
    """Into how many buckets its keys are hashed; None where it has no number of them."""
    count = description.get("elastic buckets", description.get("buckets"))
    return None if count is None else int(count)


def has_ticks(description: Description) -> bool | None:
    """Whether its times are integers of its own unit; None where it does not name their column."""
    time, columns = description.get("time"), description.get("columns", {})
    if isinstance(time, Mapping):
        time, columns = time["left"], columns["left"]
    if time not in columns:
        return None
    return not columns[time].startswith("timestamp")
