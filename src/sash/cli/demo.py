"""The demo: one hour of trades, the last minute of every symbol, every second."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import pyarrow as pa
from rich.console import Console
from rich.table import Table

import sash

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHOWN = 8


def run(*, rows: int, symbols: int) -> None:
    """Start Spark, generate trades, window them, and show a few results and the time of each step."""
    console, clock = Console(), Stopwatch()
    with clock.lap("start Spark", console):
        spark = sash.session(app="sash demo", spark_log_level="ERROR")
    with clock.lap(f"generate {rows:,} trades of {symbols} symbols", console):
        df = trades(spark, rows, symbols).cache()
        df.count()
    query = (
        sash.stream(df, time="ts", key="symbol")
        .window(sash.sliding("1 minute", every="1 second"))
        .agg(n=sash.count(), volume=sash.sum("size"), high=sash.max("price"), mean=sash.mean("price"))
    )
    console.print()
    query.explain()
    console.print()
    with clock.lap("windows and aggregates"):  # has a bar of its own
        result = query.collect()
    console.print()
    console.print(_results(result))
    console.print(clock.table())
    console.print(
        f"{result.num_rows:,} windows from {rows:,} events; each event lies in 60, and is kept once.\n"
        "To go on: README.md has this query as ten lines of Python; `sash --help` lists the commands."
    )
    spark.stop()


def trades(spark: SparkSession, rows: int, symbols: int) -> DataFrame:
    """An hour of trades whose prices drift as one wave a symbol; the same for the same arguments."""
    from pyspark.sql import functions as F

    step = 3_600_000_000 // max(rows, 1)
    opening = 1_767_609_000_000_000  # 2026-01-05 10:30 UTC, in microseconds
    number = F.pmod(F.hash("id"), F.lit(symbols))
    return spark.range(rows).select(
        F.timestamp_micros(F.lit(opening) + F.col("id") * step).alias("ts"),
        F.format_string("SYM%03d", number).alias("symbol"),
        (100 + number + 5 * F.sin(F.col("id") / F.lit(rows) * 20 + number)).alias("price"),
        (F.pmod(F.xxhash64("id"), F.lit(100)) + 1).alias("size"),
    )


class Stopwatch:
    """Where the time went, by named laps."""

    def __init__(self) -> None:
        self.laps: list[tuple[str, float]] = []

    @contextmanager
    def lap(self, name: str, console: Console | None = None) -> Iterator[None]:
        begun = time.perf_counter()
        with nullcontext() if console is None else console.status(name):
            yield
        self.laps.append((name, time.perf_counter() - begun))

    def table(self) -> Table:
        table = Table(title="where the time went", title_justify="left")
        table.add_column("step")
        table.add_column("seconds", justify="right")
        for name, seconds in self.laps:
            table.add_row(name, f"{seconds:.1f}")
        return table


def _results(result: pa.Table) -> Table:
    """A few windows from the middle of the input, where they are full."""
    table = Table(title="the last minute, every second (a few of the windows)", title_justify="left")
    for name in ("symbol", "window", "n", "volume", "high", "mean"):
        table.add_column(name, justify="left" if name in ("symbol", "window") else "right")
    step = max(1, result.num_rows // SHOWN)
    for row in result.take(list(range(step // 2, result.num_rows, step))[:SHOWN]).to_pylist():
        window = row["window"]
        table.add_row(
            row["symbol"],
            f"{window['start']:%H:%M:%S} – {window['end']:%H:%M:%S}",
            f"{row['n']}",
            f"{row['volume']}",
            f"{row['high']:.2f}",
            f"{row['mean']:.2f}",
        )
    return table
