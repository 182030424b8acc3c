"""Run the measurements: see the package."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import sash
from benchmarks.harness import finish, options
from benchmarks.one_pass import demo, folding, outputs

PARTS = {"folding": folding.tables, "outputs": outputs.tables, "demo": demo.tables}


def main() -> int:
    chosen = options("One pass over a stream.", parts=tuple(PARTS))
    spark = sash.spark_session(app="sash benchmarks", spark_sql_shuffle_partitions="2")
    spark.sparkContext.setLogLevel("ERROR")
    tables = []
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as scratch:
        for part in chosen.only:
            (folder := Path(scratch) / part).mkdir()
            tables += PARTS[part](spark, folder, quick=chosen.quick, rounds=chosen.rounds)
    spark.stop()
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
