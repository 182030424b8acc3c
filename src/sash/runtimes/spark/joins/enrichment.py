"""A DataFrame, static or streaming, with the columns of a static one: Spark's broadcast join.

It is narrow: rows stay in their partition and in their order, and a stream needs no state for it. Spark
reads the table again with each micro-batch, so that a stream sees its newest version.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, functions as F

from sash.operators.joins.lookup import Lookup
from sash.runtimes.spark.batch.static_source import SparkSource
from sash.runtimes.spark.compat import rows_in_spark
from sash.runtimes.spark.packing.columns import quoted
from sash.runtimes.spark.streaming.streaming_source import StreamingSource


def enriched(source: Any, table: DataFrame | pa.Table, lookup: Lookup) -> SparkSource | StreamingSource:
    """The source of the rows with what the table has for them."""
    rows: DataFrame = source.df
    static = rows_in_spark(rows.sparkSession, table) if isinstance(table, pa.Table) else table
    keys = {right: f"__sash_on_{number}" for number, right in enumerate(lookup.on.values())}
    picked = static.select(
        *(F.col(quoted(name)).alias(key) for name, key in keys.items()),
        *(F.col(quoted(name)).alias(shown) for name, shown in lookup.names.items()),
    )
    same = reduce(
        and_, (F.col(quoted(left)).eqNullSafe(F.col(keys[right])) for left, right in lookup.on.items())
    )
    joined = rows.join(F.broadcast(picked), same, lookup.how).drop(*keys.values())
    return SparkSource(joined) if source.bounded else StreamingSource(joined, idle=source.idle)
