"""An elastic query on Spark: micro-batches with a new degree against their neighbours with the same one.

    python -m benchmarks.elastic_spark [--quick] [--json PATH] [--rounds 3] [--to DIRECTORY]

Trades of 1,000 symbols, one file per micro-batch; windows of a minute that slide by a second, by symbol.
The degree goes 1 1 1 2 2 2 4 4 4 and so on, in one run, and of each place in this circle the best round
counts. A batch that has switched is compared with the two after it, which have the same degree. With
--to, a second run is drawn in which the load rises and falls and a controller chooses the degree.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sash
from benchmarks.harness import Table, finish
from sash.runtimes.spark.epochs.epoch_metering import BatchMetrics

CIRCLE = (1, 1, 1, 2, 2, 2, 4, 4, 4)
LIMIT = 1.3
SYMBOLS = 1000
LOAD = (1, 1, 1, 2, 4, 8, 8, 8, 8, 8, 4, 2, 1, 1, 1, 1, 1, 1)
"""Of the run that is drawn, in shares of the rows of a file."""


def write_trades(folder: Path, sizes: Sequence[int]) -> None:
    """Files of trades, four seconds of event time each."""
    random = np.random.default_rng(1)
    names = pa.array([f"SYM{number:03}" for number in range(SYMBOLS)])
    for number, rows in enumerate(sizes):
        times = np.sort(random.integers(4_000_000 * number, 4_000_000 * (number + 1), rows))
        columns = {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "symbol": names.take(pa.array(random.integers(0, SYMBOLS, rows))),
            "price": random.normal(100.0, 15.0, rows),
        }
        path = folder / f"{number:04}.parquet"
        pq.write_table(pa.table(columns), path)
        # Spark takes files by the time of their last change.
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def by_symbol(folder: Path) -> Any:
    return sash.stream(
        sash.read_stream_parquet(folder / "files", maxFilesPerTrigger=1), time="ts", key="symbol"
    )


def started(query: Any, folder: Path, elastic: sash.Elastic, trigger: str) -> Any:
    """Reports go to parquet files."""
    checkpoint = Path(tempfile.mkdtemp(dir=folder))
    return query.start(checkpoint / "sink", checkpoint=checkpoint / "c", elastic=elastic, trigger=trigger)


def scripted(samples: Sequence[Any]) -> int:
    return CIRCLE[len(samples) % len(CIRCLE)]


def switches(rows: int, *, rounds: int) -> tuple[list[BatchMetrics], int]:
    """The batches of one run, and how many files it had; the first circle only warms up."""
    files = (rounds + 1) * len(CIRCLE)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "files").mkdir()
        write_trades(home / "files", [rows] * files)
        windows = by_symbol(home).window(sash.sliding("1 minute", every="1 second"))
        aggregates = windows.agg(n=sash.count(), high=sash.max("price"), mean=sash.mean("price"))
        query = started(aggregates, home, sash.Elastic(max=4, controller=scripted), "available now")
        query.awaitTermination()
        return query.metrics, files


def judge(batches: list[BatchMetrics], files: int) -> Table:
    table = Table(
        "elastic: a batch that switches, against the next with its degree", yardstick="neighbours"
    )
    table.start()
    table.add("micro-batches a file", 0.0, len(batches) / files, limit=1.0)
    circles = np.array([batch.seconds for batch in batches]).reshape(-1, len(CIRCLE))[1:]
    best = circles.min(axis=0)
    for place in range(0, len(CIRCLE), 3):
        what = f"degree {CIRCLE[place - 1]} → {CIRCLE[place]}"
        table.add(what, best[place], best[place] / best[place + 1 : place + 3].mean(), limit=LIMIT)
    return table


def spread(trades: pa.Table) -> dict[str, float]:
    """The median distance between any two prices: quadratic, so that load is felt."""
    prices = trades["price"].to_numpy()
    return {"spread": float(np.median(np.abs(prices[:, None] - prices[None, :])))}


def controlled(rows: int, *, interval: float) -> list[BatchMetrics]:
    """A run under a load that rises and falls, with the paper's thresholds."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "files").mkdir()
        write_trades(home / "files", [rows * load for load in LOAD])
        distances = by_symbol(home).window(sash.tumbling("4 seconds")).apply(spread, schema="spread double")
        elastic = sash.Elastic(max=4, controller=sash.operators.thresholds(patience=2), buckets=16)
        query = started(distances, home, elastic, f"{interval:g} seconds")
        while len(query.metrics) < len(LOAD) and query.isActive:
            time.sleep(0.2)
        query.stop()
        return query.metrics


def draw(batches: list[BatchMetrics], directory: Path) -> None:
    from benchmarks.stretch.figures import over_time

    begin = batches[0].began
    seconds = [batch.began - begin for batch in batches]
    gaps = np.diff(seconds)
    over_time(
        "An elastic query on Spark: the load rises and falls; thresholds of 90, 70 and 45 %",
        "elastic-spark",
        directory,
        seconds=seconds,
        rates=[batch.events / gap for batch, gap in zip(batches, [*gaps, gaps[-1]], strict=True)],
        degrees=[batch.degree for batch in batches],
        latencies=[(at, batch.seconds) for at, batch in zip(seconds, batches, strict=True)],
        measured="micro-batch",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Elastic queries on Spark.")
    parser.add_argument("--quick", action="store_true", help="small sizes, and no ratio is judged")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the table there as well")
    parser.add_argument("--rounds", type=int, default=3, help="the best of how many circles counts")
    parser.add_argument("--to", type=Path, metavar="DIRECTORY", help="draw the figure there")
    chosen = parser.parse_args()
    session = sash.spark_session(master="local[2]", app="elastic")
    session.sparkContext.setLogLevel("OFF")
    rows = 2_000 if chosen.quick else 200_000
    table = judge(*switches(rows, rounds=1 if chosen.quick else chosen.rounds))
    if chosen.to:
        draw(controlled(rows // 4, interval=0.5 if chosen.quick else 4.0), chosen.to)
    session.stop()
    return finish([table], chosen)


if __name__ == "__main__":
    sys.exit(main())
