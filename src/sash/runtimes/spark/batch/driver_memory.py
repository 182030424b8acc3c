"""Rows of a DataFrame in this process, with a warning when they become many.

What arrives is counted while it comes: estimates of Spark's planner are not there for every DataFrame, and
know nothing of filters. That costs no job, and what is small is never warned of.
"""

from __future__ import annotations

import warnings

import pyarrow as pa
from pyspark.sql import DataFrame

from sash.errors import SashWarning
from sash.runtimes.spark.compat import counted_arrow
from sash.runtimes.spark.failures import errors_of_workers

MANY = 512 << 20
"""Bytes. Spark itself ends a job that brings more than `spark.driver.maxResultSize`, a gigabyte."""
COLLECT = "collect()", "dataframe() leaves the rows where they are"
EXPLAIN = "explain_window", "filter the DataFrame to the time around the window"
PUBLISH = "publish()", "filter the DataFrame to the events that its look-backs still reach"


def brought(df: DataFrame, what: tuple[str, str] = COLLECT) -> pa.Table:
    """`df.toArrow()`. `what`: the call that needs it, and what to do instead."""
    call, instead = what
    arrived = 0

    def arrives(size: int) -> None:
        nonlocal arrived
        before, arrived = arrived, arrived + size
        if before <= MANY < arrived:
            warnings.warn(
                f"{call} has brought {arrived >> 20:,} MB to this process and continues; {instead}",
                SashWarning,
                stacklevel=2,
            )

    with errors_of_workers():
        return counted_arrow(df, arrives)
