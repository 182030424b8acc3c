"""Chained windows: which minute of the last quarter of an hour had the most trades, every minute?

    trades ─▶ tumbling 1 minute ─▶ volume of a minute ─▶ sliding 15 minutes, every 1 ─▶ the busiest

    python examples/chained_windows.py [--events 20000] [--symbols 5] [--spark]

A window's reports are events themselves: their time is the window's end. So a window can be cut over
windows, and what the first one has made small stays small. With --spark the same two steps are Spark
DataFrames; over a streaming DataFrame they would be two stateful steps of one query, through which the
watermark passes. Trades are generated.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sash
from sash.api.head_rows import Head

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPENING = 1_767_609_000_000_000  # 2026-01-05 10:30 UTC, in microseconds


def trade_table(events: int, symbols: int, *, minutes: int = 60, seed: int = 11) -> pa.Table:
    """Trades of some symbols; the market is busier in some minutes than in others."""
    random = np.random.default_rng(seed)
    busy = random.gamma(1.0, 1.0, minutes)
    minute = random.choice(minutes, events, p=busy / busy.sum())
    seconds = np.sort(60 * (minute + random.random(events)))
    return pa.table(
        {
            "time": pa.array(OPENING + (1e6 * seconds).astype(np.int64), pa.timestamp("us", "UTC")),
            "symbol": np.array([f"SYM{each}" for each in range(symbols)])[
                random.integers(0, symbols, events)
            ],
            "size": random.integers(1, 500, events),
        }
    )


def volumes(trades: Any) -> sash.WindowQuery:
    """What was traded of each symbol in each minute."""
    return (
        sash.stream(trades, time="time", key="symbol")
        .window(sash.tumbling("1 minute"))
        .agg(volume=sash.sum("size"), trades=sash.count())
    )


def busiest(minutes: Any) -> sash.WindowQuery:
    """Over reports of the first step: columns symbol, minute (where its window began), volume."""
    return (
        sash.stream(minutes, time="minute", key="symbol")
        .window(sash.sliding("15 minutes", every="1 minute"))
        .agg(volume=sash.max("volume"), at=sash.argmax("minute", "volume"), minutes=sash.count())
    )


def in_process(trades: pa.Table) -> pa.Table:
    first = volumes(trades).collect()
    began = pc.struct_field(first["window"].combine_chunks(), "start")
    return busiest(first.drop_columns(["window"]).append_column("minute", began)).collect()


def on_spark(spark: SparkSession, trades: pa.Table) -> pa.Table:
    first = volumes(spark.createDataFrame(trades)).dataframe()
    return busiest(first.selectExpr("symbol", "window.start AS minute", "volume")).collect()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Windows over windows.")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--symbols", type=int, default=5)
    parser.add_argument("--spark", action="store_true", help="the same on Spark, as DataFrames")
    arguments = parser.parse_args(argv)
    trades = trade_table(arguments.events, arguments.symbols)
    begin = time.perf_counter()
    found = in_process(trades)
    print(f"{found.num_rows:,} windows over windows in {time.perf_counter() - begin:.2f} s")
    print(Head(found.take(list(range(0, found.num_rows, 1 + found.num_rows // 4))), found.num_rows))
    if arguments.spark:
        spark = sash.spark_session(app="chained", spark_sql_shuffle_partitions="2", spark_log_level="ERROR")
        print(f"on Spark the same: {on_spark(spark, trades).to_pylist() == found.to_pylist()}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
