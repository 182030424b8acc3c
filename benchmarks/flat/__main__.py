"""Run the measurements: see the package."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import sash
from benchmarks.flat import counts, on_spark, operator, queries
from benchmarks.harness import Table, finish

PARTS = ("operator", "idle", "spark", "counts")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Is a micro-batch flat in what is held?")
    parser.add_argument("--quick", action="store_true", help="small sizes, and no ratio is judged")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the tables there as well")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument(
        "--kinds", nargs="+", choices=queries.KINDS, default=list(queries.KINDS), metavar="KIND"
    )
    return parser.parse_args()


def main() -> int:
    chosen = options()
    few, many, keys = (1_000, 10_000, 5_000) if chosen.quick else (10_000, 10_000_000, 1_000_000)
    tables: list[Table] = []
    if "operator" in chosen.only:
        tables += operator.flat(chosen.kinds, few=few, many=many)
    if "idle" in chosen.only:
        tables += operator.idle(chosen.kinds, few=1_000, many=keys)
    if "counts" in chosen.only:
        tables += counts.durable(chosen.kinds, held=20_000 if chosen.quick else 1_000_000)
        if "policy" in chosen.kinds:
            tables += counts.policy(sizes=[100, 1_000] if chosen.quick else [100, 10_000, 1_000_000])
    if "spark" in chosen.only:
        spark = sash.spark_session(app="sash benchmarks")
        spark.sparkContext.setLogLevel("OFF")
        tables += on_spark.flat(spark, chosen.kinds, few=few, many=many if chosen.quick else 4_000_000)
        spark.stop()
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
