"""Sessions with Delta and Iceberg, and a stream whose windows are corrected, for tables of both."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import sash

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JARS = sorted(map(str, (Path(__file__).parents[2] / "build" / "lakes").glob("*.jar")))
SPARK = "4.1"
"""The Spark that the jars are for."""
CATALOG = {"delta": "", "iceberg": "lake.db."}
"""Where tables of a format are: Spark's own catalog knows Delta."""
OPENING = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)
EVENTS = [
    # seconds, key; the third lot corrects windows that the second has closed
    [(1, "a"), (4, "b"), (8, "a"), (12, "a")],
    [(13, "b"), (27, "a"), (41, "b")],
    [(9, "a"), (14, "a"), (3, "b"), (44, "a")],
    [(70, "a"), (71, "b")],
]
WINDOW = 10
TOO_LATE = (-30, "b")
"""More than a minute behind the second lot."""


def lake_settings(warehouse: Path) -> dict[str, str]:
    return {
        "spark_jars": ",".join(JARS),
        "spark_sql_warehouse_dir": str(warehouse),
        "spark_sql_extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Delta reads its log in 50 tasks otherwise.
        "spark_databricks_delta_snapshotPartitions": "1",
        "spark_sql_catalog_lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark_sql_catalog_lake_type": "hadoop",
        # A session remembers tables for half a minute, also those that another one has changed since.
        "spark.sql.catalog.lake.cache-enabled": "false",
        "spark_sql_catalog_lake_warehouse": str(warehouse / "iceberg"),
    }


def append(spark: SparkSession, table: str, format_: str, lot: list[tuple[int, str]]) -> None:
    """A lot of events, as one commit of their table."""
    rows = [(OPENING + dt.timedelta(seconds=second), key, second) for second, key in lot]
    events = spark.createDataFrame(rows, "ts timestamp, k string, x long").coalesce(1)
    events.write.format(format_).mode("append").saveAsTable(table)


def table_of(lot: list[tuple[int, str]]) -> pa.Table:
    types = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("x", pa.int64())])
    rows = [{"ts": OPENING + dt.timedelta(seconds=at), "k": key, "x": at} for at, key in lot]
    return pa.Table.from_pylist(rows, types)


def commits_of(spark: SparkSession, table: str, format_: str) -> int:
    if format_ == "delta":
        return spark.sql(f"DESCRIBE HISTORY {table}").count()
    return spark.table(f"{table}.snapshots").count()


def query_over(events: DataFrame) -> Any:
    """Counts that may be corrected for a minute."""
    stream = sash.stream(events, time="ts", key="k", allowed_lateness="1 minute")
    return stream.window(sash.tumbling(f"{WINDOW} seconds")).agg(n=sash.count(), x=sash.sum("x"))


def expected() -> dict[tuple[str, int], tuple[int, int]]:
    """What is known of every window in the end; those of the last lot are open."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for second, key in (event for lot in EVENTS[:-1] for event in lot):
        n, x = found.get((key, second // WINDOW), (0, 0))
        found[key, second // WINDOW] = n + 1, x + second
    return found


def newest(rows: list[Any]) -> dict[tuple[str, int], tuple[int, int]]:
    """The last revision of each window in a table."""
    first = int(OPENING.timestamp()) // WINDOW
    ordered = sorted(rows, key=lambda row: row.revision)
    return {(row.k, row.window.id - first): (row.n, row.x) for row in ordered}


def latest_over(events: Any) -> Any:
    """The current counts of each key."""
    stream = sash.stream(events, time="ts", key="k", allowed_lateness="1 minute")
    return stream.latest("10 seconds", "1 minute").agg(n=sash.count())


def expected_latest(events: Any) -> list[tuple[str, int, int]]:
    """Of all events together, in process."""
    return latest_rows(latest_over(events).collect().to_pylist())


def latest_rows(rows: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return sorted((row["k"], row["n_10_seconds"], row["n_1_minute"]) for row in rows)
