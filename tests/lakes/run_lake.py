"""A program for test_lake_kills.py: files to a merged table and late rows to another, killed on the way.

    python run_lake.py <home> <format> <what> <table> <batch>

`what` is windows or latest. After this table, merged or late, has committed this batch, and before the
checkpoint has, it makes the file <home>/committed and waits; no batch has the number -1. In
<home>/<table>.batches are the batches that had rows for a table, in <home>/commits how many commits each
has in the end.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import sash
from sash.runtimes.spark.sinks.tables import TableSink
from tests.lakes.lakehouse import CATALOG, commits_of, lake_settings, latest_over, query_over

QUERIES = {"windows": (query_over, ("k", "window.id")), "latest": (latest_over, ("k",))}
SCHEMA = "ts timestamp, k string, x bigint"
TABLES = ("merged", "late")


def main(home: str, format_: str, what: str, table: str, batch: str) -> None:
    place = Path(home)
    spark = sash.spark_session(
        master="local[2]", app=f"{what} to be killed", spark_sql_shuffle_partitions="2",
        **lake_settings(place / "warehouse"),
    )  # fmt: skip
    spark.sparkContext.setLogLevel("OFF")
    spark.sql("CREATE DATABASE IF NOT EXISTS lake.db")
    for name in TABLES:
        if format_ == "delta" and (place / "warehouse" / name).exists():
            # The catalog of this Spark ends with its process; a metastore would still know the table.
            spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{place / 'warehouse' / name}'")
    names = {name: f"{CATALOG[format_]}{name}" for name in TABLES}

    _pause_after(names[table], int(batch), place)
    arriving = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(place / "in"))
    query_of, keys = QUERIES[what]
    running = query_of(arriving).start(
        sash.sinks.table(names["merged"], writer="q", format=format_, keys=keys),
        late=sash.sinks.table(names["late"], writer="q", format=format_),
        checkpoint=place / "checkpoint", trigger="available now",
    )  # fmt: skip
    running.awaitTermination()
    for name, full in names.items():
        spark.table(full).coalesce(1).write.parquet(str(place / "rows" / name))
    commits = {name: commits_of(spark, full, format_) for name, full in names.items()}
    (place / "commits").write_text(json.dumps(commits))


def _pause_after(table: str, batch: int, place: Path) -> None:
    write = TableSink.write

    def paused(self: TableSink, rows: Any, number: int) -> None:
        with (place / f"{self.table.rpartition('.')[2]}.batches").open("a") as batches:
            batches.write(f"{number}\n")
        write(self, rows, number)
        if (self.table, number) == (table, batch):
            (place / "committed").touch()
            time.sleep(600)

    TableSink.write = paused  # type: ignore[method-assign]


if __name__ == "__main__":
    main(*sys.argv[1:])
