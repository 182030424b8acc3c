"""Streams of parquet files: read by Spark and handed to Python, against read in Python from their paths.

    python -m benchmarks.parquet_files [--quick] [--json PATH] [--rounds 3]

2 million trades of 1,000 symbols in 8 files, read to their end by a stream (availableNow) whose rows nobody
keeps. 'windows' are tumbling sums by symbol; 'rows' go through one Python stage and back.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sash
from benchmarks.harness import Table, finish, options, race

HOUR = 3_600_000_000
FILES = 8


def write_trades(folder: Path, rows: int) -> None:
    random = np.random.default_rng(1)
    names = pa.array([f"SYM{number:03}" for number in range(1000)])
    for number in range(FILES):
        times = np.sort(
            random.integers(number * HOUR // FILES, (number + 1) * HOUR // FILES, rows // FILES)
        )
        columns = {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "symbol": names.take(pa.array(random.integers(0, len(names), len(times)))),
            "price": random.normal(100.0, 15.0, len(times)),
        }
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")


def windows(data: Any) -> Any:
    sums = sash.stream(data, time="ts", key="symbol", delay="10 seconds").window(
        sash.tumbling("10 seconds")
    )
    return sums.agg(total=sash.sum("price")).dataframe()


def run(df: Any) -> None:
    with tempfile.TemporaryDirectory() as checkpoint:
        writing = df.writeStream.format("noop").option("checkpointLocation", checkpoint)
        writing.trigger(availableNow=True).start().awaitTermination()


def main() -> int:
    chosen = options(__doc__ or "")
    rows, rounds = (20_000, 1) if chosen.quick else (2_000_000, chosen.rounds)
    spark = sash.spark_session(app="streams of parquet files", spark_log_level="OFF")
    with tempfile.TemporaryDirectory() as folder:
        write_trades(Path(folder), rows)
        from_paths = sash.read_stream_parquet(folder)
        by_spark = spark.readStream.schema(from_paths.spark_schema).parquet(folder)
        same = by_spark.mapInArrow(lambda batches: batches, by_spark.schema)
        contenders = {
            "windows, Spark reads": partial(run, windows(by_spark)),
            "windows, Python reads": partial(run, windows(from_paths)),
            "rows, Spark reads": partial(run, same),
            "rows, Python reads": partial(run, from_paths.dataframe()),
        }
        best = race(contenders, rounds=rounds)
    spark.stop()
    table = Table(f"{rows:,} rows in {FILES} parquet files, as a stream", "windows by Spark")
    table.start()
    for what, seconds in best.items():
        limit = 1.0 if what == "windows, Python reads" else None
        table.add(what, seconds, seconds / best["windows, Spark reads"], limit=limit)
    return finish([table], chosen)


if __name__ == "__main__":
    sys.exit(main())
