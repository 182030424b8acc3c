"""Fraud features: how often, and how much, has this card paid in the last 5 minutes, hour and day?

    history  ─ features ─▶  what a model is trained on       a table, in process
    payments ─ features ─▶  what it has to decide         a stream, on Spark

    python examples/fraud_features.py [--events 5000] [--cards 200]

Training and serving differ where two teams write the same feature twice. Here it is written once: the
type of the input decides what runs it. The example serves the payments as a stream of micro-batches, in
which they arrive up to a minute late, and compares every row with the one for training.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPENING = 1_767_571_200_000_000  # 2026-01-05 00:00 UTC, in microseconds
MINUTE = 60_000_000
LATE = "1 minute"
"""How late a payment may arrive."""


def payment_table(events: int, cards: int, *, hours: int = 36, seed: int = 4) -> pa.Table:
    """Payments of some cards as they arrive, up to a minute after they were made. Amounts are cents."""
    random = np.random.default_rng(seed)
    made = OPENING + np.sort(random.integers(0, hours * 60 * MINUTE, events))
    arrival = np.argsort(made + random.integers(0, MINUTE, events), kind="stable")
    columns = {
        "payment": np.arange(events),
        "time": pa.array(made, pa.timestamp("us", "UTC")),
        "card": random.zipf(1.5, events) % cards,
        "cents": np.exp(random.normal(8.0, 1.0, events)).astype(np.int64),
    }
    return pa.table(columns).take(arrival)


def features(payments: Any) -> sash.WindowQuery:
    """One row for each payment: itself, and what its card has done before, over three look-backs."""
    return (
        sash.stream(payments, time="time", key="card", delay=LATE)
        .rolling("5 minutes", "1 hour", "24 hours")
        .agg(n=sash.count(), spent=sash.sum("cents"), mean=sash.mean("cents"), largest=sash.max("cents"))
    )


def served(spark: SparkSession, payments: pa.Table, *, batches: int = 4) -> pa.Table:
    """The features of the same payments as a stream: so many micro-batches, one after the other."""
    answers: list[pa.Table] = []
    with tempfile.TemporaryDirectory(prefix="sash-fraud-") as folder:
        arrivals = Path(folder) / "payments"
        arrivals.mkdir()
        for number, rows in enumerate(np.array_split(np.arange(payments.num_rows), batches)):
            file = arrivals / f"{number}.parquet"
            pq.write_table(payments.take(pa.array(rows)), file)
            os.utime(file, (number, number))  # Spark takes files by the time of their last change
        stream = sash.read_stream_parquet(arrivals, spark=spark, maxFilesPerTrigger=1)
        running = features(stream).start(
            lambda reports, batch: answers.append(reports.toArrow()),
            checkpoint=Path(folder) / "checkpoint",
            trigger="available now",
        )
        running.awaitTermination()
    return pa.concat_tables(answers)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The same features for training and for serving.")
    parser.add_argument("--events", type=int, default=5_000)
    parser.add_argument("--cards", type=int, default=200)
    arguments = parser.parse_args(argv)
    payments = payment_table(arguments.events, arguments.cards)
    begin = time.perf_counter()
    training = features(payments).collect()
    print(
        f"training: {training.num_rows:,} rows with 3 windows each in {time.perf_counter() - begin:.2f} s"
    )
    print(features(payments).head(3))
    spark = sash.spark_session(
        app="fraud features", spark_sql_shuffle_partitions="2", spark_log_level="ERROR"
    )
    begin = time.perf_counter()
    serving = served(spark, payments)
    print(
        f"\nserving: {serving.num_rows:,} rows from 4 micro-batches in {time.perf_counter() - begin:.2f} s"
    )
    print(f"the last {training.num_rows - serving.num_rows:,} wait until the watermark has passed them")
    print(f"rows that differ: {differing(training, serving):,}")
    return 0


def differing(training: pa.Table, serving: pa.Table) -> int:
    """How many served rows are not, value by value, those that a model was trained on."""
    trained = {row["payment"]: row for row in training.to_pylist()}
    return sum(trained[row["payment"]] != row for row in serving.to_pylist())


if __name__ == "__main__":
    raise SystemExit(main())
