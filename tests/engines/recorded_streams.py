"""Recorded runs on Sash as an engine, on Spark: many runs in one table, and in one stream.

    time of the clock    C + 10, with a delay of 10 for all        C: the watermark of every run of a family

An event of no run moves the clock. Behind the last event it leaps, which closes every window, as the end of
an input does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

import sash
from sash.engines.probe_run import EventNumbers, ProbeRun, Seen
from sash.engines.random_runs import LONGEST
from sash.engines.sash_engine import window_of
from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.semantics.window import Window
from tests.conformance.one_pass import OnePass

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("run", pa.int64()), ("key", pa.string()), ("time", pa.int64()), ("index", pa.int64())])
CLOCK, LEAP = -1, 1_000
Shown = dict[int, list[EventNumbers]]


def name_of(run: ProbeRun) -> str:
    return f"{run.kind}_{run.size}_{run.slide}_{run.lateness}"


def shown_by_run(rows: Iterable[dict[str, Any]]) -> Shown:
    found: Shown = {}
    for row in rows:
        found.setdefault(row["run"], []).append(tuple(row["held"]))
    return found


def rows_of(runs: Sequence[ProbeRun]) -> pa.Table:
    """All events of all runs, as a bounded input."""
    rows = [
        {"run": number, "key": run.key(index), "time": time, "index": index}
        for number, run in enumerate(runs)
        for index, time in enumerate(run.times)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def bounded(data: Any, runs: Sequence[ProbeRun], engine: str) -> list[list[EventNumbers]]:
    """What is shown of a bounded input by one query with all kinds and sizes of windows, and by another one
    with those of rows, which engines number as they come."""
    by_order: dict[Literal["event-time", "arrival"], dict[str, Window]] = {}
    for run in runs:
        order: Literal["event-time", "arrival"] = "arrival" if run.kind == "count" else "event-time"
        by_order.setdefault(order, {})[name_of(run)] = window_of(run).named(name_of(run))
    rows = []
    for order, windows in by_order.items():
        stream = sash.stream(data, time="time", key=["run", "key"], order=order)
        query = stream.window(*windows.values()).agg(held=sash.collect("index"))
        rows += query.semantics(engine).collect().to_pylist()
    shown = shown_by_run(row for row in rows if row["window"]["name"] == name_of(runs[row["run"]]))
    return [shown.get(number, []) for number in range(len(runs))]


def streamed(
    spark: SparkSession, family: Sequence[ProbeRun], engines: Sequence[str]
) -> dict[str, list[Seen]]:
    """What a stream shows of runs with one watermark: a query for each engine and window."""
    alike: dict[str, list[int]] = {}
    for number, run in enumerate(family):
        alike.setdefault(name_of(run), []).append(number)
    batches = _batches(family)
    one_pass = OnePass.of(spark, batches, {
        f"{engine}_{name}": _query(family[numbers[0]], engine)
        for engine in engines for name, numbers in alike.items()
    })  # fmt: skip
    events, after = slice(0, len(batches)), slice(len(batches), None)
    found: dict[str, list[Seen]] = {}
    for engine in engines:
        by_name = {}
        for name in alike:
            parts = [
                shown_by_run(one_pass.rows(f"{engine}_{name}", REPORTS, each)) for each in (events, after)
            ]
            late: dict[int, list[int]] = {}
            for row in one_pass.rows(f"{engine}_{name}", LATE, slice(None)):
                late.setdefault(row["run"], []).append(row["index"])
            by_name[name] = (*parts, late)
        found[engine] = [_seen(number, *by_name[name_of(run)]) for number, run in enumerate(family)]
    return found


def _seen(number: int, shown: Shown, flushed: Shown, late: dict[int, list[int]]) -> Seen:
    return Seen(
        reports=tuple(shown.get(number, ())), flushed=tuple(flushed.get(number, ())),
        late=tuple(sorted(late.get(number, ()))),
    )  # fmt: skip


def _query(run: ProbeRun, engine: str) -> BoundQuery:
    data, key = SCHEMA.empty_table(), ["run", "key"]
    if run.kind == "count":
        stream = sash.stream(data, time="time", key=key, order="arrival")
    else:
        stream = sash.stream(data, time="time", key=key, delay=LONGEST, allowed_lateness=run.lateness)
    windowed = stream.window(window_of(run), flush=False).agg(held=sash.collect("index"))
    return windowed.semantics(engine).bound


def _batches(family: Sequence[ProbeRun]) -> list[pa.Table]:
    """One for each event of the runs, and the leap. What the last watermark closes comes with the leap."""
    marks = family[0].watermarks()
    found = []
    for index, mark in enumerate([*marks, marks[-1] + LEAP]):
        rows = [{"run": CLOCK, "key": "", "time": mark + LONGEST, "index": 0}]
        if index < len(marks):
            rows += [
                {"run": number, "key": run.key(index), "time": run.times[index], "index": index}
                for number, run in enumerate(family)
            ]
        found.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    return found
