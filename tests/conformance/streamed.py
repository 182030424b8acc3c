"""Transcripts for a runtime that is fed in micro-batches and never flushes.

A source that gives how far time has come is played by an event of a key of its own, whose windows nobody
looks at: one key's events move the watermark of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sash.operators.bound_query import BoundQuery
from sash.semantics.event import Order
from sash.semantics.reference import Arrival
from tests.conformance.stanza import Missed, Stanza, Step, WrittenReport, every_stanza

CLOCK = "the clock"


def streamed_stanzas() -> list[Stanza]:
    return list(every_stanza())


def first_of_each_file() -> list[Stanza]:
    """One stanza a transcript file: all window kinds, lateness, revisions, early reports, both orders."""
    chosen: dict[str, Stanza] = {}
    for stanza in streamed_stanzas():
        chosen.setdefault(stanza.title.partition(":")[0], stanza)
    return list(chosen.values())


def bound_query(stanza: Stanza) -> BoundQuery:
    query = replace(stanza.query, flush=False)
    return BoundQuery(query, batches_of(stanza)[0].schema, "t", ("k",))


def batches_of(stanza: Stanza) -> list[pa.Table]:
    """One table for each step but the flush."""
    payload = [arrival.values["x"] for arrival in stanza.arrivals]
    type_ = pa.float64() if all(value is None for value in payload) else pa.array(payload).type
    return [_table(_arrivals(stanza, step), type_) for step in _steps(stanza)]


def _steps(stanza: Stanza) -> list[Step]:
    return [step for step in stanza.steps if step.batch is not None]


def _arrivals(stanza: Stanza, step: Step) -> list[Arrival]:
    assert step.batch is not None
    watermark = step.batch.watermark
    if watermark is None or stanza.query.order is Order.ARRIVAL:
        return list(step.batch.arrivals)
    clock = Arrival(watermark + stanza.query.delay.length, CLOCK, {"e": 0, "x": None})
    return [*step.batch.arrivals, clock]


def _table(arrivals: list[Arrival], payload: pa.DataType) -> pa.Table:
    return pa.table(
        {
            "k": pa.array([arrival.key for arrival in arrivals], pa.string()),
            "t": pa.array([arrival.time for arrival in arrivals], pa.int64()),
            "e": pa.array([arrival.values["e"] for arrival in arrivals], pa.int64()),
            "x": pa.array([arrival.values["x"] for arrival in arrivals], payload),
        }
    )


def expected_reports(stanza: Stanza) -> Counter[WrittenReport]:
    return Counter(report for step in _steps(stanza) for report in step.reports)


def expected_missed(stanza: Stanza) -> Counter[Missed]:
    return Counter(missed for step in _steps(stanza) for missed in step.missed)


def reports_in(stanza: Stanza, rows: Iterable[dict[str, Any]]) -> Counter[WrittenReport]:
    alone = stanza.query.windows[0].label
    return Counter(
        WrittenReport(
            row["window"].get("name", alone), row["k"], row["window"]["id"], row["window"]["start"],
            row["window"]["end"], tuple(row["holds"] or ()), row.get("revision", 0),
        )
        for row in rows
        if row["k"] != CLOCK
    )  # fmt: skip


def missed_of(stanza: Stanza, rows: Iterable[dict[str, Any]]) -> Counter[Missed]:
    alone = len(stanza.query.windows) == 1
    return Counter(
        Missed(row["e"], row["late_reason"], None if alone else row["late_window"])
        for row in rows
        if row["k"] != CLOCK
    )
