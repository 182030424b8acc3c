"""Transcripts for runtimes that see the whole input at once: the same content, without the steps."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

import sash
from sash.api.runtime_of_input import source_of
from sash.operators.bound_query import BoundQuery
from sash.semantics.query import When
from sash.semantics.watermark import Lateness
from sash.semantics.windows import SlideByTimeWindow
from tests.conformance.stanza import Stanza, every_stanza

Content = tuple[str, str | None, int, int | None, int | None, tuple[int, ...]]


def bounded_stanzas() -> list[Stanza]:
    """Those whose outcome does not depend on when things arrive."""
    return [stanza for stanza in every_stanza() if _is_bounded(stanza)]


def _is_bounded(stanza: Stanza) -> bool:
    query = stanza.query
    too_late = any(reason == Lateness.TOO_LATE.value for step in stanza.steps for _, reason in step.late)
    by_time = any(step.batch and step.batch.watermark is not None for step in stanza.steps)
    by_clock = query.empty or any(isinstance(window, SlideByTimeWindow) for window in query.windows)
    return query.flush and query.emit.when is When.CLOSE and not too_late and not (by_time and by_clock)


def expected_content(stanza: Stanza) -> set[Content]:
    """The last revision of every window; a window that was dissolved is none."""
    last = {}
    for step in stanza.steps:
        for report in sorted(step.reports, key=lambda report: report.revision):
            last[report.window, report.key, report.id] = report
    return {
        (report.window, report.key, report.id, report.start, report.end, report.holds)
        for report in last.values()
        if report.holds or (stanza.query.empty and not report.revision)
    }


def expected_late(stanza: Stanza) -> set[tuple[int, str]]:
    return {late for step in stanza.steps for late in step.late}


def table_of(stanza: Stanza) -> pa.Table:
    arrivals = stanza.arrivals
    return pa.table(
        {
            "k": pa.array([arrival.key for arrival in arrivals], pa.string()),
            "t": pa.array([arrival.time for arrival in arrivals], pa.int64()),
            "e": pa.array([arrival.values["e"] for arrival in arrivals], pa.int64()),
            "x": _payload([arrival.values["x"] for arrival in arrivals]),
        }
    )


def _payload(values: list[object]) -> pa.Array:
    return pa.array(values, pa.float64() if all(value is None for value in values) else None)


def query_of(stanza: Stanza, data: object) -> sash.WindowQuery:
    source = source_of(data)
    return sash.WindowQuery(source, BoundQuery(stanza.query, source.schema, "t", ("k",)))


def content_of(stanza: Stanza, rows: Iterable[dict]) -> set[Content]:
    alone = stanza.query.windows[0].label
    return {
        (row["window"].get("name", alone), row["k"], row["window"]["id"], row["window"]["start"],
         row["window"]["end"], tuple(row["holds"] or ()))
        for row in rows
    }  # fmt: skip
