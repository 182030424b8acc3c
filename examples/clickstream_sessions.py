"""Clickstream sessions: what does a visitor do before leaving for more than half an hour?

    clicks ─▶ session(30 minutes) ─▶ pages · seconds · where it began and ended · what was bought

    python examples/clickstream_sessions.py [--events 20000] [--visitors 300] [--spark]

A session has no length of its own: it ends where nothing happens for longer than the gap. Spark has
sessions too (`session_window`), for its own aggregates; with --spark the same query runs on Spark,
beside Spark's, and the two are compared. Here the first and the last page of a visit, which depend on
order, and the path as a list come from the same pass. Clicks are generated.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import sash

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OPENING = 1_767_571_200_000_000  # 2026-01-05 00:00 UTC, in microseconds
GAP = "30 minutes"
PAGES = np.array(["home", "search", "product", "cart", "checkout"])
ODDS = (0.25, 0.30, 0.30, 0.10, 0.05)


def click_table(events: int, visitors: int, *, hours: int = 24, seed: int = 10) -> pa.Table:
    """Clicks of visitors that come and go: most gaps are seconds, one in eight is an hour or more."""
    random = np.random.default_rng(seed)
    visitor = np.sort(random.integers(0, visitors, events))
    pause = np.where(random.random(events) < 0.125, random.uniform(3_600, 20_000, events), 0)
    seconds = np.cumsum(random.exponential(40, events) + pause) % (hours * 3_600)
    page = PAGES[random.choice(len(PAGES), events, p=ODDS)]
    clicks = pa.table(
        {
            "time": pa.array(OPENING + (1e6 * seconds).astype(np.int64), pa.timestamp("us", "UTC")),
            "visitor": visitor,
            "page": page,
            "cents": np.where(page == "checkout", random.integers(500, 20_000, events), 0),
        }
    )
    return clicks.sort_by("time")


def visits(clicks: Any) -> sash.WindowQuery:
    """The visits of each visitor, whatever the clicks are in: a table, a frame, a DataFrame of Spark."""
    return (
        sash.stream(clicks, time="time", key="visitor")
        .window(sash.session(GAP))
        .agg(
            clicks=sash.count(),
            entry=sash.first("page"),
            exit=sash.last("page"),
            spent=sash.sum("cents"),
            path=sash.collect("page"),
        )
    )


def sparks_visits(clicks: DataFrame) -> DataFrame:
    """What Spark's own session windows can say of them."""
    from pyspark.sql import functions as F

    session = F.session_window("time", GAP).alias("window")
    return clicks.groupBy("visitor", session).agg(
        F.count("*").alias("clicks"), F.sum("cents").alias("spent")
    )


def on_spark(spark: SparkSession, clicks: pa.Table) -> tuple[Counter[Any], Counter[Any]]:
    """The visits that Sash and that Spark find, by visitor, start, clicks and money."""
    df = spark.createDataFrame(clicks)
    ours, theirs = visits(df).dataframe(), sparks_visits(df)
    columns = ("visitor", "window.start", "clicks", "spent")
    return tuple(Counter(tuple(row) for row in each.select(*columns).collect()) for each in (ours, theirs))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Visits, as sessions of clicks.")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--visitors", type=int, default=300)
    parser.add_argument("--spark", action="store_true", help="run on Spark too, and compare with its own")
    arguments = parser.parse_args(argv)
    clicks = click_table(arguments.events, arguments.visitors)
    begin = time.perf_counter()
    found = visits(clicks).collect()
    seconds = time.perf_counter() - begin
    print(
        f"{found.num_rows:,} visits of {arguments.events:,} clicks, as session windows, in {seconds:.2f} s"
    )
    paths = Counter(zip(found["entry"].to_pylist(), found["exit"].to_pylist(), strict=True))
    for (entry, last), count in paths.most_common(4):
        print(f"  {count:>6,} from {entry} to {last}")
    if arguments.spark:
        spark = sash.spark_session(
            app="clickstream", spark_sql_shuffle_partitions="2", spark_log_level="ERROR"
        )
        ours, theirs = on_spark(spark, clicks)
        print(f"on Spark: {ours.total():,} visits; Spark's session_window: {theirs.total():,}; "
              f"differing: {(ours - theirs).total():,}")  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
