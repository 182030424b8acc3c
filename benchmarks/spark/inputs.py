"""Made-up events as parquet files, written once for a run."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = "ts timestamp, k long, x long, v double"
START = 1_700_000_000 * 10**6


def events(rows: int, keys: int, seconds: float, *, seed: int = 7) -> pa.Table:
    """Events of `keys` keys, in order of time, over this many seconds."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, int(seconds * 1e6), rows)) + START
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": random.integers(0, keys, rows),
            "x": random.integers(0, 1000, rows),
            "v": random.normal(100.0, 15.0, rows),
        }
    )


def written(folder: Path, table: pa.Table, *, files: int) -> Path:
    """The table as files that a stream reads one after the other."""
    folder.mkdir(parents=True)
    cuts = np.linspace(0, table.num_rows, files + 1).astype(int)
    for number, (lo, hi) in enumerate(pairwise(cuts)):
        path = folder / f"{number:04}.parquet"
        pq.write_table(table.slice(lo, hi - lo), path)
        os.utime(path, (10**9 + number, 10**9 + number))
    return folder
