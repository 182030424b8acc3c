"""Trades in files, windows over them, and what is right."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa

import sash
from tests.runtimes.micro_batches import write_batches

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("x", pa.int64())])
OPENING = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)
FILES, ROWS = 8, 200


def trades(number: int) -> pa.Table:
    first = number * ROWS
    rows = [
        {"ts": OPENING + dt.timedelta(seconds=at - at % 5), "k": f"key {at % 23}", "x": at % 17}
        for at in range(first, first + ROWS)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def query_over(data: Any) -> Any:
    """A kind that holds events, and one that holds panes' folds; nothing is late."""
    stream = sash.stream(data, time="ts", key="k", delay="10 seconds")
    windows = sash.sliding("60 seconds", every="20 seconds").named("time"), sash.rows(7).named("rows")
    return stream.window(*windows, flush=False).agg(n=sash.count(), x=sash.sum("x"), last=sash.last("x"))


def put(folder: Path) -> None:
    (folder / "in").mkdir(parents=True)
    write_batches(folder / "in", [trades(number) for number in range(FILES)])


def reports(table: pa.Table) -> list[tuple[Any, ...]]:
    rows = table.to_pylist()
    values = [
        (row["k"], row["window"]["name"], row["window"]["id"], row["n"], row["x"], row["last"])
        for row in rows
    ]
    return sorted(values)


def expected() -> list[tuple[Any, ...]]:
    """In process, which the tests compare with the reference."""
    return reports(query_over(pa.concat_tables([trades(number) for number in range(FILES)])).collect())
