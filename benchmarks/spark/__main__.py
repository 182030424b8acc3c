"""Run the comparisons: see the package."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sash
from benchmarks.harness import Table, finish
from benchmarks.spark import batch, streaming

COMPARISONS: dict[str, tuple[Callable[..., list[Table]], int]] = {
    "batch-sliding": (batch.sliding, 2_000_000),
    "batch-rolling": (batch.rolling, 500_000),
    "sliding": (streaming.sliding, 1_000_000),
    "tumbling": (streaming.tumbling, 5_000_000),
    "rolling": (streaming.rolling, 5_000_000),
    "many-keys": (streaming.many_keys, 1_000_000),
    "trickle": (streaming.trickle, 9_000),
}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Windows on Spark against Spark's own.")
    parser.add_argument("--quick", action="store_true", help="small sizes, and no ratio is judged")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the tables there as well")
    parser.add_argument("--rounds", type=int, default=2, help="the best of how many rounds counts")
    parser.add_argument("--only", nargs="+", choices=COMPARISONS, default=list(COMPARISONS), metavar="NAME")
    return parser.parse_args()


def main() -> int:
    chosen = options()
    spark: Any = sash.spark_session(app="sash benchmarks")
    spark.sparkContext.setLogLevel("ERROR")
    tables: list[Table] = []
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as scratch:
        for name in chosen.only:
            compare, rows = COMPARISONS[name]
            size, rounds = (max(rows // 100, 500), 1) if chosen.quick else (rows, chosen.rounds)
            tables += compare(spark, Path(scratch) / name, rows=size, rounds=rounds)
    spark.stop()
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
