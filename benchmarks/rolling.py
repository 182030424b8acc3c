"""Rolling sum, max and standard deviation of the last hour, for every event: against polars and DuckDB.

    python -m benchmarks.rolling [--quick] [--json PATH] [--rounds 3]

2 million events in 100 keys over a day, from an Arrow table to an Arrow table, by `.rolling(…).agg(…)`. Our
sum is compensated and nothing is ever subtracted. polars runs its `rolling_*_by(…).over(key)`, DuckDB a
`RANGE BETWEEN` window; both may use all cores. All results are compared. Wanted: half of polars' time, 0.15
of DuckDB's.
"""

from __future__ import annotations

import sys

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import sash
from benchmarks.harness import Opponent, Table, finish, options, turns

HOUR = 3_600_000_000
OPPONENTS = {"polars": ("polars, rolling_*_by.over", 0.5), "duckdb": ("DuckDB, RANGE BETWEEN", 0.15)}
AGGREGATES = ("sum", "max", "std")
QUERY = """
    SELECT key, ts, sum(v) OVER w AS sum, max(v) OVER w AS max, stddev_samp(v) OVER w AS std
    FROM events
    WINDOW w AS (PARTITION BY key ORDER BY ts RANGE BETWEEN INTERVAL 3599999999 MICROSECONDS PRECEDING
                 AND CURRENT ROW)
"""


def made_up_events(n: int, keys: int) -> pa.Table:
    random = np.random.default_rng(1)
    times = np.sort(random.integers(0, 24 * HOUR, n))
    return pa.table(
        {
            "key": random.integers(0, keys, n),
            "ts": pa.array(times, pa.timestamp("us")),
            "v": random.normal(100.0, 15.0, n),
        }
    )


def by_sash(events: pa.Table) -> pa.Table:
    found = (
        sash.stream(events, time="ts", key="key")
        .rolling("1 hour")
        .agg(sum=sash.sum("v"), max=sash.max("v"), std=sash.stddev("v"))
        .collect()
    )
    return found.rename_columns([name.removesuffix("_1_hour") for name in found.column_names])


def by_polars(events: pa.Table) -> pa.Table:
    value = pl.col("v")
    frame = pl.from_arrow(events)
    assert isinstance(frame, pl.DataFrame)
    return frame.select(
        "key",
        "ts",
        value.rolling_sum_by("ts", "1h").over("key").alias("sum"),
        value.rolling_max_by("ts", "1h").over("key").alias("max"),
        value.rolling_std_by("ts", "1h").over("key").alias("std"),
    ).to_arrow()


def by_duckdb(events: pa.Table) -> pa.Table:
    with duckdb.connect() as connection:
        return connection.sql(QUERY).to_arrow_table()


def compare(ours: pa.Table, theirs: pa.Table, who: str) -> None:
    """The rows of both, in one order; equal times of a key have equal rows."""
    order = [(name, "ascending") for name in ("key", "ts", "max", "sum")]
    ours, theirs = (table.take(pc.sort_indices(table, order)) for table in (ours, theirs))
    for name in AGGREGATES:
        a, b = (table[name].to_numpy(zero_copy_only=False) for table in (ours, theirs))
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6, err_msg=f"{name} differs from {who}")


def main() -> int:
    chosen = options("Rolling aggregates of the last hour against polars and DuckDB.")
    events = made_up_events(*((2_000_000, 100) if not chosen.quick else (20_000, 10)))
    runs = {"sash": by_sash, "polars": by_polars, "duckdb": by_duckdb}
    for name in OPPONENTS:
        compare(by_sash(events), runs[name](events), name)
    times = turns({name: lambda run=run: run(events) for name, run in runs.items()}, rounds=chosen.rounds)
    table = Table(f"rolling 1 hour, {events.num_rows:,} events: sum, max, stddev", "opponent")
    table.start()
    for name, (title, limit) in OPPONENTS.items():
        table.against(Opponent(title, events.num_rows, times["sash"], times[name]), limit=limit)
    return finish([table], chosen)


if __name__ == "__main__":
    sys.exit(main())
