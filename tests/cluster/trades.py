"""Trades in files, queries over them, and what the reference makes of them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import sash
from sash.semantics.join import JoinBatch, evaluate as evaluate_join
from sash.semantics.reference import Arrival, Batch, evaluate
from tests.runtimes.micro_batches import write_batches

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("x", pa.int64())])
OPENING = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)
ROWS = 100


def trades(number: int) -> pa.Table:
    """One file. The events of a key have different times, so that their order is known."""
    first = number * ROWS
    rows = [
        {"ts": OPENING + dt.timedelta(seconds=at - at % 5), "k": f"key {at % 23}", "x": at % 17}
        for at in range(first, first + ROWS)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _stream(data: Any) -> Any:
    return sash.stream(data, time="ts", key="k", delay="10 seconds")


def windows_over(data: Any) -> Any:
    """A kind that holds events, and one that holds panes' folds; nothing is late."""
    windows = sash.sliding("60 seconds", every="20 seconds").named("time"), sash.rows(7).named("rows")
    aggregates = {"n": sash.count(), "x": sash.sum("x"), "last": sash.last("x")}
    return _stream(data).window(*windows, flush=False).agg(**aggregates)


def bars_over(data: Any) -> Any:
    return _stream(data).window(sash.tumbling("20 seconds").named("bar"), flush=False).agg(n=sash.count())


def pairs_over(data: Any) -> Any:
    return _stream(data).join(_stream(data), within="30 seconds", where=lambda p, q: p.x < q.x)


QUERIES: dict[str, Callable[[Any], Any]] = {
    "windows": windows_over, "bars": bars_over, "pairs": pairs_over,
}  # fmt: skip


def put(folder: Path, files: int) -> None:
    (folder / "in").mkdir(parents=True)
    write_batches(folder / "in", [trades(number) for number in range(files)])


def answers(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Each row once, as many times as it was written."""
    return Counter(_plain(row) for row in table.to_pylist())


def _plain(row: dict[str, Any]) -> tuple[Any, ...]:
    if "window" in row:
        window, values = row["window"], [row[name] for name in ("n", "x", "last") if name in row]
        return row["k"], window.get("name"), window["id"], *values
    return row["k"], _micros(row["ts_left"]), row["x_left"], _micros(row["ts_right"]), row["x_right"]


def expected(name: str, files: int) -> Counter[tuple[Any, ...]]:
    """What the reference answers."""
    rows = [row for number in range(files) for row in trades(number).to_pylist()]
    arrivals = [Arrival(_micros(row["ts"]), row["k"], row) for row in rows]
    bound = QUERIES[name](trades(0)).bound
    if name == "pairs":
        found = evaluate_join(bound.join, [JoinBatch(arrivals, arrivals)], flush=False)
        events = [(pair.left.values, pair.right.values) for pair in found.pairs]
        return Counter((p["k"], _micros(p["ts"]), p["x"], _micros(q["ts"]), q["x"]) for p, q in events)
    outcome = evaluate(bound.query, [Batch(arrivals)])
    return Counter(
        (report.key, report.window if len(bound.query.windows) > 1 else None, report.id,
         *report.values.values())
        for report in outcome.reports
    )  # fmt: skip


def _micros(when: dt.datetime) -> int:
    """Spark's files have times without a zone, which are of UTC."""
    when = when.replace(tzinfo=dt.UTC) if when.tzinfo is None else when
    return (when - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
