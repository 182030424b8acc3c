"""Rolling sum, max and standard deviation of the last hour, for every event: against polars and DuckDB.

    python -m benchmarks.rolling [--quick] [--json PATH] [--rounds 3]

2 million events in 100 keys over a day, from an Arrow table to an Arrow table, in the order of the input.
Ours are the built-in monoids: the sum is compensated and nothing is ever subtracted. polars runs its
`rolling_*_by(…).over(key)`, DuckDB a `RANGE BETWEEN` window; both may use all cores. All results are
compared. Wanted: no slower than polars (aim: half its time), a quarter of DuckDB's time.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.harness import Table, finish, options, race
from sash.aggregation import monoids
from sash.aggregation.kernels.compiler.compiled import compiled
from sash.aggregation.kernels.folds.range_fold import range_fold
from sash.aggregation.kernels.rows.csr import rows_by_key
from sash.aggregation.kernels.windows.cuts import cut
from sash.aggregation.monoid import Monoid

HOUR = 3_600_000_000
THREADS = min(2, os.cpu_count() or 1)
AGGREGATES: dict[str, Monoid] = {
    "sum": monoids.sum("v").bind(("float",)),
    "max": monoids.max("v").bind(("float",)),
    "std": monoids.stddev("v").bind(("float",)),
}
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
    key = pc.dictionary_encode(events["key"]).combine_chunks()
    offsets, order = rows_by_key(key.indices.to_numpy(), len(key.dictionary))
    times = events["ts"].combine_chunks().view(pa.int64()).to_numpy()
    values = events["v"].combine_chunks().to_numpy()[order]
    times, slots = times[order], np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    lo, hi = cut(times, offsets, slots, times - HOUR + 1), cut(times, offsets, slots, times, after=True)

    def rolling(monoid: Monoid) -> pa.Array:
        fast = compiled(monoid)
        folds = range_fold(fast, fast.lift((values,)), lo, hi, groups=offsets)
        results, valid = fast.lower(folds)
        placed, known = np.empty_like(results), np.empty_like(valid)
        placed[order], known[order] = results, valid
        return pa.array(placed, mask=~known)

    # Aggregates share the ranges and nothing else, and kernels release the GIL.
    with ThreadPoolExecutor(THREADS) as pool:
        columns = list(pool.map(rolling, AGGREGATES.values()))
    return pa.table([events["key"], events["ts"], *columns], ["key", "ts", *AGGREGATES])


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


def compare(ours: pa.Table, theirs: pa.Table, who: str, *, sort: bool) -> None:
    order = ["key", "ts", "max", "sum"]
    if sort:
        ours, theirs = (
            t.take(pc.sort_indices(t, [(c, "ascending") for c in order])) for t in (ours, theirs)
        )
    for name in AGGREGATES:
        a, b = (t[name].to_numpy(zero_copy_only=False) for t in (ours, theirs))
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6, err_msg=f"{name} differs from {who}")


def main() -> int:
    chosen = options("Rolling aggregates of the last hour against polars and DuckDB.")
    events = made_up_events(*((2_000_000, 100) if not chosen.quick else (20_000, 10)))
    compare(by_sash(events), by_polars(events), "polars", sort=False)
    compare(by_sash(events), by_duckdb(events), "DuckDB", sort=True)
    runs = {"sash": by_sash, "polars": by_polars, "duckdb": by_duckdb}
    seconds = race({name: lambda run=run: run(events) for name, run in runs.items()}, rounds=chosen.rounds)
    tables = []
    for rival, limit in (("polars", 1.0), ("duckdb", 0.25)):
        table = Table(f"last hour for each of {events.num_rows:,} events, against {rival}", rival)
        table.start()
        table.add("sash: sum, max, std", seconds["sash"], seconds["sash"] / seconds[rival], limit=limit)
        table.add(rival, seconds[rival], 1.0)
        tables.append(table)
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
