"""The counts of queries in Spark's progress reports, under `observedMetrics`, and what was decided there.

    sash 1f3a09bc          of a query that runs alone; one of several steps has several
    sash bars 1f3a09bc     of the query `bars`, one of those that run together

Two queries may meet in one plan, where these names have to differ: hence the last part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

_PREFIX = "sash"
DECISIONS = "decisions"
"""Beside the counts of a query in a progress report: what was decided for the batch, a text each."""


def metric_of(query: str = "") -> str:
    """A name for the counts of a query; empty for one that runs alone."""
    return " ".join(filter(None, (_PREFIX, query, uuid4().hex[:8])))


def is_of_sash(metric: str) -> bool:
    """Whether the counts under this name are of a query of Sash.

    >>> is_of_sash("sash bars 1f3a09bc"), is_of_sash("their own")
    (True, False)
    """
    return metric.split(" ")[:-1][:1] == [_PREFIX]


def counts_by_query(
    observed: Mapping[str, Mapping[str, Any]], names: Iterable[str]
) -> dict[str, dict[str, int]]:
    """The counts of these names for each query of a progress report, over all of its steps.

    >>> observed = {"sash bars 1f3a09bc": {"events": 3}, "sash 09bc1f3a": {"events": 2}, "other": {}}
    >>> counts_by_query(observed, ["events", "late"])
    {'bars': {'events': 3, 'late': 0}, '': {'events': 2, 'late': 0}}
    """
    found: dict[str, dict[str, int]] = {}
    for metric, row in observed.items():
        prefix, *query = metric.split(" ")[:-1] or [""]
        if prefix == _PREFIX:
            counts = found.setdefault(" ".join(query), dict.fromkeys(names, 0))
            for name in counts:
                counts[name] += row.get(name) or 0
    return found


def decisions_in(report: Mapping[str, Any]) -> list[str]:
    """What was decided for the batch of a progress report: the same of all queries that run together.

    >>> counts = {"events": 3, "decisions": ["one task: few events"]}
    >>> decisions_in({"observedMetrics": {"theirs x": {"decisions": 3}, "sash 1f3a09bc": counts}})
    ['one task: few events']
    """
    every = (report.get("observedMetrics") or {}).items()
    return next((list(row[DECISIONS]) for name, row in every if is_of_sash(name) and DECISIONS in row), [])


def in_all(by_query: Mapping[str, Mapping[str, int]], count: str) -> int | None:
    """A count over all queries of a stream, each of which gets every event; None where there is none."""
    every = [counts[count] for counts in by_query.values()]
    if not every:
        return None
    return max(every) if count == "events" else sum(every)
