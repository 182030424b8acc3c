"""Tables of events, tumbling windows over them, and the account that must balance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import sash

TIME = pa.timestamp("us", "UTC")


def event_table(
    seconds: Sequence[float | None], *, keys: Sequence[str | None] | None = None,
    x: Sequence[float | None] | None = None,
) -> pa.Table:  # fmt: skip
    """Columns t (seconds since 1970 as a timestamp), k ('a' when not given) and x (1.0 when not given)."""
    times = [None if second is None else round(second * 1_000_000) for second in seconds]
    return pa.table(
        {
            "t": pa.array(times, pa.int64()).cast(TIME),
            "k": pa.array(["a"] * len(times) if keys is None else keys, pa.string()),
            "x": pa.array([1.0] * len(times) if x is None else x, pa.float64()),
        }
    )


def tumbling_over(data: Any, *, delay: str = "0 seconds", **aggregates: sash.Monoid) -> sash.WindowQuery:
    """Windows of ten seconds, with their number of rows as `n`."""
    return (
        sash.stream(data, time="t", key="k", delay=delay)
        .window(sash.tumbling("10 seconds"))
        .agg(n=sash.count(), **aggregates)
    )


def everything_counted(query: sash.WindowQuery, *, rows: int) -> tuple[pa.Table, pa.Table]:
    """The reports and the late rows of a bounded query, which together have all `rows`."""
    reports, late = query.collect(), query.late().collect()
    assert in_windows(reports) + late.num_rows == rows
    return reports, late


def in_windows(reports: pa.Table) -> int:
    """How many rows the windows hold."""
    return int(pc.sum(reports["n"]).as_py() or 0)


def ids_of(reports: pa.Table) -> list[int]:
    """The windows' identifiers. Their ends need not be dates that Python knows."""
    identifiers: list[int] = reports["window"].combine_chunks().field("id").to_pylist()
    return identifiers
