"""The queries and rows that are measured: the same for the operator and on Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import sash

KEYS = 1_000
BATCH = 1_000
HOUR = 3_600_000_000
BASE = 1_700_000_000_000_000
SECOND = 1_000_000
SCHEMA = pa.schema(
    [
        ("t", pa.timestamp("us", "UTC")),
        ("k", pa.int64()),
        ("x", pa.float64()),
        ("v", pa.int64()),
    ]
)
LASTING_SESSION = "session, 1 day"
"""Of which none ends while batches are timed: the keys are idle, and have nothing to report."""
KINDS = (
    "rolling", "sliding", "tumbling", "cumulate", "rows", "session", "slide_by_tuple", "slide_by_time",
    "delta", "threshold", "punctuated", "policy", "policy, interpreted",
)  # fmt: skip


def rows(count: int, *, since: int, step: float, first: int, keys: int, seed: int) -> pa.Table:
    """Events of random keys, `step` microseconds apart; v counts them, slowly."""
    random = np.random.default_rng(seed)
    times = BASE + since + (np.arange(count) * step).astype(np.int64)
    columns = {
        "t": pa.array(times, pa.timestamp("us", "UTC")),
        "k": random.integers(0, keys, count),
        "x": random.random(count),
        "v": np.arange(first, first + count) // keys,
    }
    return pa.table(columns, schema=SCHEMA)


def held(count: int, *, keys: int = KEYS) -> pa.Table:
    """What is there before the batches that are timed: all within one hour."""
    return rows(count, since=0, step=HOUR / count, first=0, keys=keys, seed=1)


def batch(number: int, *, after: int) -> pa.Table:
    """One second of events, after so many."""
    since = HOUR + 1 + number * SECOND
    first = after + number * BATCH
    return rows(BATCH, since=since, step=SECOND / BATCH, first=first, keys=KEYS, seed=2 + number)


def query(kind: str, data: Any, count: int) -> Any:
    """The query of a kind whose windows hold about all of `count` events."""
    per_key = max(count // KEYS, 1)
    stream = sash.stream(data, time="t", key="k")
    if kind == "rolling":
        return stream.rolling("5 minutes", "1 hour", "24 hours").agg(
            n=sash.count(), s=sash.sum("x"), hi=sash.max("x"), lo=sash.min("x"), sd=sash.stddev("x")
        )
    windows = {
        "sliding": sash.sliding("1 hour", every="1 second"),
        "tumbling": sash.tumbling("1 day"),
        "cumulate": sash.cumulate("1 day", "1 minute"),
        "rows": sash.rows(per_key, every=1),
        "session": sash.session("1 hour"),
        LASTING_SESSION: sash.session("1 day"),
        "slide_by_tuple": sash.slide_by_tuple("24 hours", 10),
        "slide_by_time": sash.slide_by_time(per_key, "1 second"),
        "delta": sash.delta("v", per_key, 1),
        "threshold": sash.threshold(lambda row: row.x >= 0),
        "punctuated": sash.punctuated(lambda row: row.x < 0),
        "policy": sash.policy(
            lambda total, old: total.n - old.n >= per_key, track={"n": sash.count()}, every=10
        ),
        "policy, interpreted": sash.policy(
            lambda total, old: total.n - old.n >= per_key and True, track={"n": sash.count()}, every=10
        ),
    }
    return stream.window(windows[kind]).agg(n=sash.count(), hi=sash.max("x"))
